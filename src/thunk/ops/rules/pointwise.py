"""Enters: operand specs and numbers. Leaves: the spec of an elementwise result.

Invariant: shapes broadcast, dtypes promote and strides follow the operands as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.base.errors import expected
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.device import CPU, device
from thunk.types.dtype import bool_, dtype
from thunk.types.promotion import result_type, to_inexact
from thunk.types.spec import TensorSpec, contiguous_strides

DtypeRule = Callable[[Sequence[Any]], dtype]


def promoted(operands: Sequence[Any]) -> dtype:
    """PyTorch's promotion of all operands."""
    return result_type(operands)


def promoted_to_inexact(operands: Sequence[Any]) -> dtype:
    """As `promoted`, integers and bool become the default dtype."""
    return to_inexact(result_type(operands))


def always_bool(operands: Sequence[Any]) -> dtype:
    """Comparisons: check that the operands promote, answer bool."""
    result_type(operands)
    return bool_


def first_dtype(operands: Sequence[Any]) -> dtype:
    """The first operand's own dtype."""
    found: dtype = operands[0].dtype
    return found


def pointwise(rule: DtypeRule = promoted, operands: int = 1) -> Callable[..., TensorSpec]:
    """The shape rule of an operator whose first `operands` arguments are elementwise operands."""

    def spec(*args: Any) -> TensorSpec:
        return pointwise_spec(args[:operands], rule)

    return spec


def pointwise_spec(operands: Sequence[Any], rule: DtypeRule = promoted) -> TensorSpec:
    """The spec of an elementwise result over `operands` (specs or Python numbers)."""
    specs = [each for each in operands if isinstance(each, TensorSpec)]
    shape = broadcast_shapes([each.shape for each in specs])
    return TensorSpec(shape, rule(operands), elementwise_strides(shape, specs), 0, where(specs))


def where(specs: Sequence[TensorSpec]) -> device:
    """The device of a result."""
    for spec in specs:
        if spec.shape or spec.device.type != "cpu":
            return spec.device
    return specs[0].device if specs else CPU


def floating_only(name: str) -> DtypeRule:
    """A dtype rule that refuses integers: `name` is what the message calls the argument."""

    def rule(operands: Sequence[Any]) -> dtype:
        found = result_type(operands)
        if not found.is_inexact:
            raise expected(f"{name} of a floating point or complex dtype", repr(found))
        return found

    return rule


def elementwise_strides(shape: tuple[int, ...], specs: Sequence[TensorSpec]) -> tuple[int, ...]:
    """Strides of a new result whose memory order follows its operands'."""
    same = all(spec.shape == shape for spec in specs)
    if same and all(spec.is_contiguous() for spec in specs):
        return contiguous_strides(shape)
    alike = same and specs and all(spec.strides == specs[0].strides for spec in specs)
    if alike and specs[0].is_non_overlapping_and_dense():
        return specs[0].strides
    order = _memory_order(shape, [_broadcast_strides(spec, shape) for spec in specs])
    strides = [0] * len(shape)
    running = 1
    for position in order:
        strides[position] = running
        running *= max(shape[position], 1)
    return tuple(strides)


def _broadcast_strides(spec: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(shape) - len(spec.shape)
    own = [
        0 if size == 1 and shape[lead + d] != 1 else stride
        for d, (size, stride) in enumerate(zip(spec.shape, spec.strides, strict=True))
    ]
    return tuple([0] * lead + own)


def _memory_order(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[int]:
    """Dimensions from fastest to slowest: an insertion sort, as ties make it order-bound."""
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        moving = start
        for other in range(start - 1, -1, -1):
            decision = _compare(order[other], order[moving], shape, strides)
            if decision > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif decision < 0:
                break
    return order


def _compare(a: int, b: int, shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> int:
    for each in strides:
        first, second = each[a], each[b]
        if first == 0 or second == 0:
            continue
        if first != second:
            return -1 if first < second else 1
        if shape[a] > shape[b]:
            return 1
    return 0
