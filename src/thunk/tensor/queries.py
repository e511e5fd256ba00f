"""Enters: dtypes, shapes, tensors. Leaves: what PyTorch's functions say about them, without values.

Invariant: nothing here makes a tensor or waits for one.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.coerce import REJECTED, to_dtype, to_number
from thunk.ops.rules import dims
from thunk.types import promotion
from thunk.types.dtype import dtype
from thunk.types.size import Size
from thunk.types.tensor_base import TensorBase


def _tensor(op: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"{op}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}"
        )
    return value


def _dtype(op: str, value: Any) -> dtype:
    found: Any = to_dtype(value)
    if found is REJECTED:
        raise TypeError(f"{op}(): expected a torch.dtype, got {type(value).__name__}")
    return found  # type: ignore[no-any-return]  # converters return Any


def promote_types(type1: Any, type2: Any) -> dtype:
    """The smallest dtype that both dtypes convert to."""
    return promotion.promote_types(_dtype("promote_types", type1), _dtype("promote_types", type2))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether values of one dtype may be stored in another."""
    return promotion.can_cast(_dtype("can_cast", from_), _dtype("can_cast", to))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an operation on two tensors or numbers."""
    operands = []
    for value in (tensor1, tensor2):
        operand = value._spec if isinstance(value, TensorBase) else to_number(value)
        if operand is REJECTED:
            raise TypeError(
                f"result_type(): expected tensors or numbers, got {type(value).__name__}"
            )
        operands.append(operand)
    return promotion.result_type(operands)


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape of tensors of these shapes."""
    whole = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    if any(size < 0 for shape in whole for size in shape):
        raise ValueError(
            f"broadcast_shapes: expected sizes that are not negative, got {whole}"
        )
    try:
        return Size(dims.broadcast_shapes(whole))
    except Mismatch as mismatch:
        raise mismatch.named("broadcast_shapes") from None


def numel(input: Any) -> int:
    """The number of elements."""
    return _tensor("numel", input).numel()  # type: ignore[no-any-return]  # tensors are Any here


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    return bool(_tensor("is_same_size", input).is_same_size(_tensor("is_same_size", other)))


def is_inference(input: Any) -> bool:
    """Whether a tensor was born in inference mode."""
    return bool(_tensor("is_inference", input).is_inference())


def is_distributed(input: Any) -> bool:
    """Never: a tensor lives in one process."""
    return bool(_tensor("is_distributed", input).is_distributed())


def get_device(input: Any) -> int:
    """The index of a tensor's accelerator, -1 on the CPU."""
    return int(_tensor("get_device", input).get_device())


def typename(obj: Any) -> str:
    """The full name of an object's class, of a tensor its legacy type."""
    if isinstance(obj, TensorBase):
        tensor: Any = obj
        return str(tensor.type())
    cls = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(cls, "__module__", None)
    name: str = getattr(cls, "__qualname__", type(obj).__name__)
    return name if module in (None, "", "builtins") else f"{module}.{name}"
