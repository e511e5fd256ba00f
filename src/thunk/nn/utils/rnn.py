"""Sequences of different lengths, padded or packed, for recurrent networks.

Enters: sequences as a list, or padded to one length. Leaves: padded tensors and `PackedSequence`s.
Invariant: packed rows are ordered by step, then by falling length; `sorted_indices` says which
sample of the user's batch a sample is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from thunk.ops import families
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor, tensor
from thunk.tensor.tensor import Tensor
from thunk.types import dtype as dtypes

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

DECLARED = families.FAMILIES


class PackedSequence_(NamedTuple):
    """The fields of a packed batch."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """A batch of sequences without padding: the elements of step 0, then of step 1, and so on."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> PackedSequence:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "PackedSequence: expected batch_sizes on the CPU, got "
                f"{batch_sizes.device}; make one with pack_sequence or pack_padded_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Any) -> PackedSequence:
        """This batch with other data, and its indices where the data are."""
        if data is self.data:
            return self
        indices = [
            None if each is None else each.to(data.device)
            for each in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch with its data cast or moved, as by `Tensor.to`."""
        return self._with(self.data.to(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The batch on a CUDA device."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """The batch in page-locked memory."""
        return self._with(self.data.pin_memory())

    def double(self) -> PackedSequence:
        """The batch in float64."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        """The batch in float32."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        """The batch in float16."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        """The batch in int64."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        """The batch in int32."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        """The batch in int16."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        """The batch in int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        """The batch in uint8."""
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a CUDA device."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Whether the data are in page-locked memory."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Any) -> Any:
    """Where each element of a permutation went; None stays None."""
    if permutation is None:
        return None
    count = permutation.numel()
    places = t.arange(0, count, dtype=permutation.dtype, device=permutation.device)
    return t.scatter(t.zeros_like(permutation), 0, permutation, places)


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The packed form of sequences padded to one length, sorted by length if they are not."""
    counts = as_tensor(lengths, dtype=dtypes.int64)
    order = back = None
    if not enforce_sorted and counts.dim() == 1:
        # Lengths are needed as numbers in any case; sorting them here leaves no operator behind.
        values = counts.tolist()
        places = sorted(range(len(values)), key=lambda place: -values[place])
        counts = tensor([values[place] for place in places], dtype=dtypes.int64)
        order = tensor(places, dtype=dtypes.int64, device=input.device)
        ranks = sorted(range(len(places)), key=places.__getitem__)
        back = tensor(ranks, dtype=dtypes.int64, device=input.device)
        input = t.index_select(input, 0 if batch_first else 1, order)
    data, batch_sizes = t._pack_padded_sequence(input, counts, batch_first)
    return PackedSequence(data, batch_sizes, order, back)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The padded form of packed sequences in the user's order, and their lengths."""
    length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{length}"
            )
        length = total_length
    padded, lengths = t._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return t.index_select(padded, 0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:  # fmt: skip
    """Sequences as one tensor of (time, sample) or (sample, time), the short ones padded."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    listed = list(sequences)
    for each in listed:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"pad_sequence: expected a sequence of tensors, got an element of type "
                f"{type(each).__name__}; make each a tensor first"
            )
    return t.pad_sequence(listed, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded batch, each as long as it is."""
    sequences = padded_sequences if batch_first else t.transpose(padded_sequences, 0, 1)
    counts = as_tensor(lengths).tolist()
    if len(counts) != len(sequences):
        raise ValueError(
            f"unpad_sequence: expected one length for each of {len(sequences)} sequences, got "
            f"{len(counts)}"
        )
    return [sequence[:count].clone() for sequence, count in zip(sequences, counts)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """The packed form of a list of sequences."""
    lengths = as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
