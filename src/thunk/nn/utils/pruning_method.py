"""Enters: a module and the name of a parameter. Leaves: the parameter times a mask, before forward.

Invariant: a pruned parameter is called `name_orig`, its mask is the buffer `name_mask`, and `name`
is a plain attribute that a pre-hook computes; one such hook for each parameter.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from thunk.ops.registry import t

STRUCTURED, UNSTRUCTURED, GLOBAL = "structured", "unstructured", "global"


class BasePruningMethod(ABC):
    """A way to choose what to prune; also the hook that applies the mask."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for the tensor `t`, within `default_mask`."""

    def apply_mask(self, module: Any) -> Any:
        """The original parameter times the mask."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune the parameter `name` of `module`, on top of what was pruned before."""
        method = _on_top_of_earlier(module, name, cls(*args, **kwargs))
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {original.shape}"
            )
        first = not isinstance(method, PruningContainer)
        if first:
            mask = t.ones_like(original)
        else:
            mask = getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(scores, default_mask=mask)
        if first:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask.detach())
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """The tensor `t`, pruned; no module is involved."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{scores.shape} vs {t.shape}"
            )
        mask = t.new_ones(t.shape) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor the parameter for good."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _on_top_of_earlier(module: Any, name: str, method: BasePruningMethod) -> BasePruningMethod:
    """The method itself, or a container of the earlier ones and it; their hook is removed."""
    method._tensor_name = name
    earlier = [
        (number, hook)
        for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(earlier) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    for number, hook in earlier:
        del module._forward_pre_hooks[number]
        container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
        container.add_pruning_method(method)
        return container
    return method


class PruningContainer(BasePruningMethod):
    """Methods one after the other, each within what those before it left."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """What the last method makes of the part that `default_mask` leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        part = _part_left(method, t, default_mask)
        found = method.compute_mask(t[part], default_mask=default_mask[part])
        mask[part] = found.to(dtype=mask.dtype)
        return mask


def _part_left(method: Any, tensor: Any, mask: Any) -> Any:
    """The index of what a further method may still prune."""
    kind, dims = method.PRUNING_TYPE, tensor.dim()
    if kind == UNSTRUCTURED:
        return mask == 1
    everything = [slice(None)] * dims
    if kind == GLOBAL:
        return tuple(everything)
    if kind != STRUCTURED:
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    if method.dim < -dims:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {dims}")
    dim = method.dim % dims
    everything[dim] = mask.sum(dim=[each for each in range(dims) if each != dim]) != 0
    return tuple(everything)


def check_amount(amount: Any) -> None:
    """An amount is a share of what there is, or a count."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    highest = float("inf") if isinstance(amount, numbers.Integral) else 1.0
    if not 0 <= float(amount) <= highest:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def count_for(amount: Any, total: int) -> int:
    """How many of `total` an amount is."""
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * total)
    if count > total:
        raise ValueError(
            f"amount={count} should be smaller than the number of parameters to prune={total}"
        )
    return count
