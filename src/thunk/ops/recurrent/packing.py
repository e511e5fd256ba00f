"""Sequences of different lengths: padded to one length, or packed step by step.

Enters: padded sequences and their lengths, longest first, or packed rows and the batch size of each
step. Leaves: the other form. Invariant: packed rows are ordered by step, then by sample.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.runtime.tensors import tensor_from_array
from thunk.types.dtype import int64


def _batch_sizes(lengths: list[int]) -> numpy.ndarray:
    """How many sequences are longer than each step."""
    steps = numpy.arange(lengths[0])
    longer = numpy.array(lengths)[None, :] > steps[:, None]
    return numpy.asarray(longer.sum(1), numpy.int64)


def _rows(sizes: numpy.ndarray, step_stride: int, sample_stride: int) -> Any:
    """The row of each packed element among those of a padded tensor, flattened."""
    steps = numpy.repeat(numpy.arange(len(sizes)), sizes)
    samples = numpy.concatenate([numpy.arange(size) for size in sizes])
    return tensor_from_array(steps * step_stride + samples * sample_stride)


def _checked_lengths(input: Any, lengths: Any, batch_first: bool) -> list[int]:
    spec = lengths._spec
    if spec.ndim != 1 or spec.dtype is not int64:
        raise Mismatch(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{spec.ndim}D {spec.device} {spec.dtype!r} tensor"
        )
    if not input._spec.numel:
        raise Mismatch("Cannot pack empty tensors.")
    samples = input._spec.shape[0 if batch_first else 1]
    if spec.shape[0] != samples:
        raise Mismatch(
            f"Expected `len(lengths)` to be equal to batch_size, but got {spec.shape[0]} "
            f"(batch_size={samples})"
        )
    values = [int(each) for each in lengths.tolist()]
    if min(values) <= 0:
        raise Mismatch(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if values != sorted(values, reverse=True):
        raise Mismatch(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence."
        )
    return values


@composite(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    variants="function",
)
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> Any:
    """The elements of padded sequences step by step, and how many sequences reach each step."""
    values = _checked_lengths(input, lengths, batch_first)
    first, second = input._spec.shape[:2]
    times = second if batch_first else first
    if values[0] > times:
        raise expected(f"lengths of at most {times}, the size of the time dimension", values[0])
    sizes = _batch_sizes(values)
    flat = t.reshape(input, (first * second, *input._spec.shape[2:]))
    strides = (1, second) if batch_first else (second, 1)
    packed = t.index_select(flat, 0, _rows(sizes, *strides))
    return packed, tensor_from_array(sizes)


@composite(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, "
    "int total_length) -> (Tensor, Tensor)",
    variants="function",
)
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int
) -> Any:
    """Padded sequences made of packed ones, and the lengths of the sequences."""
    if batch_sizes._spec.ndim != 1 or batch_sizes._spec.dtype is not int64:
        raise expected("batch_sizes of dtype int64 and 1 dimension", batch_sizes._spec)
    sizes = numpy.array(batch_sizes.tolist(), numpy.int64)
    times, samples = max(total_length, len(sizes)), int(sizes[0])
    rest = data._spec.shape[1:]
    blank = t.full((times * samples, *rest), padding_value, dtype=data._spec.dtype)
    padded = t.index_copy(blank, 0, _rows(sizes, samples, 1), data)
    padded = t.reshape(padded, (times, samples, *rest))
    lengths = (sizes[:, None] > numpy.arange(samples)[None, :]).sum(0).astype(numpy.int64)
    return t.transpose(padded, 0, 1) if batch_first else padded, tensor_from_array(lengths)


@composite(
    "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, "
    'str padding_side="right") -> Tensor',
    variants="",
)
def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:  # fmt: skip
    """Sequences as one tensor of (time, sample) or (sample, time), the short ones padded."""
    if not sequences:
        raise Mismatch("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise Mismatch(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(each._spec.shape[0] for each in sequences)
    padded = []
    for each in sequences:
        missing = longest - each._spec.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        # The pairs of `constant_pad_nd` start at the last dimension.
        pairs = (*[0] * (2 * (each._spec.ndim - 1)), *ends)
        padded.append(t.constant_pad_nd(each, pairs, padding_value) if missing else each)
    return t.stack(padded, 0 if batch_first else 1)
