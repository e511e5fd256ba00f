"""Enters: a module and a dtype, a device or a function. Leaves: the module with converted tensors.

Invariant: parameters stay the same objects; only their data is replaced, unless the place is of
another kind (values on one side, none on the other), which makes new parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t
from thunk.types.device import device as device_type
from thunk.types.dtype import dtype as dtype_type
from thunk.types.tensor_base import TensorBase

Convert = Callable[[Any], Any]


_FORMS = {
    "tensor": ("tensor", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "device": ("device", "dtype", "non_blocking", "copy"),
}


def parse_to(*args: Any, memory_format: Any = None, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, `non_blocking` and memory format that arguments of `to` mean."""
    first = args[0] if args else None
    form = "device"
    if isinstance(first, TensorBase) or "tensor" in kwargs:
        form = "tensor"
    elif isinstance(first, dtype_type):
        form = "dtype"
    names = _FORMS[form]
    given = dict(zip(names, args))
    found = {"device": None, "dtype": None, "non_blocking": False, "copy": False, **given, **kwargs}
    fits = (
        len(args) <= len(names)
        and not given.keys() & kwargs.keys()
        and kwargs.keys() <= set(names)
        and (found["dtype"] is None or isinstance(found["dtype"], dtype_type))
        and isinstance(found["non_blocking"], bool)
        and (found["device"] is None or isinstance(found["device"], (device_type, str, int)))
    )
    if not fits:
        raise TypeError(
            "to: expected (device, dtype, non_blocking), (dtype, non_blocking) or (tensor, "
            f"non_blocking), got {args} and {kwargs}"
        )
    if found["copy"]:
        raise RuntimeError(".to() does not accept copy argument")
    if form == "tensor":
        like: Any = found["tensor"]
        found.update(device=like.device, dtype=like.dtype)
    place = None if found["device"] is None else device_type(found["device"])
    return place, found["dtype"], found["non_blocking"], memory_format


def _keeps_object(tensor: Any, applied: Any) -> bool:
    return bool(tensor.is_meta == applied.is_meta)


class Conversion(ModuleBase):
    """Conversions in place of all tensors of a module."""

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():  # type: ignore[attr-defined]  # Tree's, beside this part
                module._apply(fn)
        for name, parameter in list(self._parameters.items()):
            if parameter is not None:
                self._apply_to_parameter(name, parameter, fn)
        for name, buffer in list(self._buffers.items()):
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _apply_to_parameter(self, name: str, parameter: Any, fn: Convert) -> None:
        gradient: Any = parameter.grad
        applied_gradient: Any = None
        with no_grad_recording():
            applied = fn(parameter)
            if gradient is not None:
                applied_gradient = fn(gradient)
        if _keeps_object(parameter, applied):
            if gradient is not None:
                parameter.grad = None
            parameter.data = applied
            result = parameter
        else:
            result = self._parameters[name] = Parameter(applied, parameter.requires_grad)
        if gradient is None:
            return
        if _keeps_object(gradient, applied_gradient):
            gradient.data = applied_gradient
            result.grad = gradient
        else:
            result.grad = applied_gradient.requires_grad_(gradient.requires_grad)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, convert floating point and complex tensors to a dtype, or both."""
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None:
            if not dtype.is_inexact:
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Module.to: complex parameters are new; some modules may not expect them",
                    stacklevel=2,
                )

        def convert(tensor: Any) -> Any:
            inexact = tensor.is_floating_point() or tensor.is_complex()
            options = {}
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            if tensor.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device."
                )
            return tensor.to(device, dtype if inexact else None, non_blocking, **options)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying: values are uninitialised afterwards."""
        return self._apply(lambda tensor: t.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all tensors, integers too, to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating point tensors to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert floating point tensors to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert floating point tensors to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert floating point tensors to bfloat16."""
        return self._apply(
            lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor
        )

    def cpu(self) -> Self:
        """Move all tensors to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Refused by the first tensor: this build has no CUDA."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: Any = None) -> Self:
        """Refused by the first tensor: this build has no XPU."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def share_memory(self) -> Self:
        """Move all tensors to memory that forked processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())
