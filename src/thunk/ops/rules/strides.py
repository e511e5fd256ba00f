"""Enters: a result's shape and the specs it is computed from. Leaves: the strides of the result.

Invariant: a new elementwise result is dense and lies in memory in the order in which PyTorch walks
the operands: the first operand decides, later ones break its ties.
"""

from __future__ import annotations

from collections.abc import Sequence

from thunk.types.memory_order import memory_order
from thunk.types.spec import TensorSpec, contiguous_strides

_CHANNELS_LAST = (1, 3, 2, 0)  # dimensions of a picture from the fastest to the slowest


def elementwise_strides(
    shape: tuple[int, ...], specs: Sequence[TensorSpec], *, numbers: bool = False
) -> tuple[int, ...]:
    """Strides of a new result over `specs`; `numbers` tells of Python numbers beside them."""
    alike = all(spec.shape == shape for spec in specs) and not (numbers and shape)
    if alike:
        if all(spec.is_contiguous() for spec in specs):
            return contiguous_strides(shape)
        if all(_is_channels_last(spec) for spec in specs):
            return _strides_in_order(shape, _CHANNELS_LAST)
        same = all(spec.strides == specs[0].strides for spec in specs)
        if same and specs[0].is_non_overlapping_and_dense():
            return specs[0].strides
    order = memory_order(shape, [_broadcast_strides(spec, shape) for spec in specs])
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    strides = [0] * len(shape)
    running = 1
    for position in order:
        strides[position] = running
        running *= shape[position]
    return tuple(strides)


def _is_channels_last(spec: TensorSpec) -> bool:
    if spec.ndim != 4:
        return False
    wanted = 1
    for position in _CHANNELS_LAST:
        if spec.shape[position] != 1:
            if spec.strides[position] != wanted:
                return False
            wanted *= spec.shape[position]
    return True


def _strides_in_order(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
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
