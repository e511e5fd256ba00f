"""Enters: modules and amounts. Leaves: modules whose parameters are zero where they matter least.

Invariant: each function prunes on top of what was pruned before and returns the module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thunk.nn.utils.convert_parameters import parameters_to_vector
from thunk.nn.utils.pruning_method import (
    GLOBAL,
    STRUCTURED,
    UNSTRUCTURED,
    BasePruningMethod,
    PruningContainer,
    check_amount,
    count_for,
)
from thunk.ops.registry import t as ops

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter a pruned one."""

    PRUNING_TYPE = UNSTRUCTURED

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask there is."""
        return default_mask


class _Unstructured(BasePruningMethod):
    """Prunes single elements, those of the lowest scores."""

    PRUNING_TYPE = UNSTRUCTURED

    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount

    def _indices(self, t: Any, count: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass that chooses")

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with the chosen elements taken out."""
        count = count_for(self.amount, t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._indices(t.detach(), count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements by chance."""

    def _indices(self, t: Any, count: int) -> Any:
        return ops.topk(ops.rand_like(t).view(-1), count)[1]


class L1Unstructured(_Unstructured):
    """Prunes the elements of the lowest magnitude."""

    def _indices(self, t: Any, count: int) -> Any:
        return ops.topk(t.abs().reshape(-1), count, largest=False)[1]


class _Structured(BasePruningMethod):
    """Prunes whole slices along a dimension."""

    PRUNING_TYPE = STRUCTURED

    def __init__(self, amount: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, t: Any, count: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass that chooses")

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with the slices that were not kept taken out."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = count_for(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        mask = ops.zeros_like(t.detach())
        place = [slice(None)] * t.dim()
        place[self.dim] = self._kept(t.detach(), count)
        mask[tuple(place)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices by chance."""

    def _kept(self, t: Any, count: int) -> Any:
        drawn = ops.rand((t.shape[self.dim],))
        return drawn > ops.kthvalue(drawn, count)[0]


class LnStructured(_Structured):
    """Prunes the slices of the lowest norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, count: int) -> Any:
        dims = list(range(t.dim()))
        del dims[self.dim]
        norms = ops.norm(t, self.n, dims)
        return ops.topk(norms, t.shape[self.dim] - count)[1]


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask leaves out."""

    PRUNING_TYPE = GLOBAL

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Both masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Make a parameter a pruned one without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of the lowest magnitude, or of the lowest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices along `dim` by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the slices along `dim` of the lowest norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune where `mask` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune the elements of several parameters, pairs of module and name, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != UNSTRUCTURED:
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    relevant = [scores.get((module, name), tensor) for module, name, tensor in pairs]
    masks = [getattr(m, f"{name}_mask", ops.ones_like(each)) for m, name, each in pairs]
    method._tensor_name = "temp"
    whole = PruningContainer(method).compute_mask(
        parameters_to_vector(relevant).detach(), parameters_to_vector(masks).detach()
    )
    start = 0
    for module, name, tensor in pairs:
        end = start + tensor.numel()
        custom_from_mask(module, name, whole[start:end].view_as(tensor))
        start = end


def remove(module: Any, name: str) -> Any:
    """Make the pruned values the parameter's own; what was pruned is gone."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Any) -> bool:
    """Whether anything at or below `module` is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
