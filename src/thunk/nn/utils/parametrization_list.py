"""Enters: a tensor and modules to apply to it. Leaves: the modules in a row, with their input.

Invariant: `original` (or `original0`, `original1`...) is what the inverses made of the tensor, and
the modules, applied to it in order, give the tensor back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.container import ModuleList
from thunk.nn.parameter import Parameter
from thunk.types.tensor_base import TensorBase


def register_tensor(module: Any, name: str, tensor: Any) -> None:
    """Register a tensor as what it is, a parameter or a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def replace_data(target: Any, source: Any) -> None:
    """Give `target` the memory of `source`; it stays the same object."""
    target.data = source.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor."""

    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        inverted = self._inverted(original)
        self.is_tensor = isinstance(inverted, TensorBase)
        self.ntensors = 1 if self.is_tensor else len(inverted)
        if self.is_tensor:
            self._keep_one(original, inverted)
        else:
            self._keep_several(original, inverted)
        if not unsafe:
            self._check_result(shape, dtype)

    def _inverted(self, original: Any) -> Any:
        value = original
        with no_grad_recording():
            for module in reversed(self._steps()):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:  # an inverse may exist for some settings only
                        continue
        if not isinstance(value, (TensorBase, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        return value

    def _keep_one(self, original: Any, inverted: Any) -> None:
        for fact in ("dtype", "device"):
            old, new = getattr(original, fact), getattr(inverted, fact)
            if old != new:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {fact}.\n"
                    f"original.{fact}: {old}\nright_inverse(original).{fact}: {new}"
                )
        replace_data(original, inverted)
        register_tensor(self, "original", original)

    def _keep_several(self, original: Any, inverted: Sequence[Any]) -> None:
        for place, each in enumerate(inverted):
            if not isinstance(each, TensorBase):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {place} of the sequence with type "
                    f"{type(each).__name__}."
                )
            part: Any = each
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            part.requires_grad_(original.requires_grad)
            register_tensor(self, f"original{place}", part)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, TensorBase):
            raise ValueError(
                f"A parametrization must return a tensor. Got {type(result).__name__}."
            )
        for fact, old in (("dtype", dtype), ("shape", shape)):
            new = getattr(result, fact)
            if new != old:
                raise ValueError(
                    f"Registering a parametrization may not change the {fact} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {fact}: {old}\n"
                    f"parametrized {fact}: {new}"
                )

    def _steps(self) -> list[Any]:
        """The modules in a row; others appear once the originals are parametrised themselves."""
        return [module for name, module in self._modules.items() if name.isdigit()]

    def original_names(self) -> list[str]:
        """The names of what the tensor is computed from."""
        if self.is_tensor:
            return ["original"]
        return [f"original{place}" for place in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the tensor becomes `value`."""
        with no_grad_recording():
            for module in reversed(self._steps()):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._assign_one(value)
            else:
                self._assign_several(value)

    def _assign_one(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        found: Any = value
        if found.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {found.dtype} while `original` "
                f"has dtype {self.original.dtype}"
            )
        replace_data(self.original, found)

    def _assign_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}."
            )
        if len(values) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(values)}."
            )
        for place, (name, value) in enumerate(zip(self.original_names(), values, strict=True)):
            original = getattr(self, name)
            if not isinstance(value, TensorBase):
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors. Got element {place} of "
                    f"type {type(value).__name__}."
                )
            found: Any = value
            if original.dtype != found.dtype:
                raise ValueError(
                    f"Tensor {place} returned by `right_inverse` has dtype {found.dtype} while "
                    f"`original{place}` has dtype {original.dtype}"
                )
            replace_data(original, found)

    def forward(self) -> Any:
        """The tensor."""
        first, *others = self._steps()
        value = first(*[getattr(self, name) for name in self.original_names()])
        for module in others:
            value = module(value)
        return value
