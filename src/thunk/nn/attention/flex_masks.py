"""Masks of attention as functions of places, and the blocks of the scores that they leave.

Enters: functions of (sample, head, query, key). Leaves: masks of bools, and `BlockMask`s.
Invariant: a function sees all places at once, as index tensors that broadcast against each other.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t
from thunk.types.dtype import bool_, int32, int64

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

DECLARED = families.FAMILIES

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Any, Any, Any, Any], Any]


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Everything may attend to everything."""
    return t.ones((), dtype=bool_, device=batch.device)


def _no_mask_of_a_slice(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: places count from the slice's beginning. "
        "Set mask_mod of the slice, made from that of the mask it was taken from"
    )


def _combined(mask_mods: tuple[MaskMod, ...], first: bool) -> MaskMod:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = t.full((), first, dtype=bool_, device=b.device)
        for each in mask_mods:
            own = each(b, h, q_idx, kv_idx)
            result = result & own if first else result | own
        return result

    return mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that lets through what all let through."""
    return _combined(mask_mods, True)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that lets through what any lets through."""
    return _combined(mask_mods, False)


def places(shape: tuple[int, ...], device: Any) -> list[Any]:
    """The index of every place along each dimension, broadcasting against the others."""
    found = []
    for place, size in enumerate(shape):
        lone = [1] * len(shape)
        lone[place] = size
        found.append(t.arange(0, size, dtype=int64, device=device).reshape(lone))
    return found


def _takes_scores(function: Any) -> bool:
    """Whether a function changes scores (five arguments) or is a mask (four)."""
    empty = inspect.Parameter.empty
    parameters = inspect.signature(function).parameters.values()
    count = sum(each.default is empty for each in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Any:
    """What a function lets through, as bools of (sample, head, query, key)."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    indices = places(shape, device)
    if not _takes_scores(mod_fn):
        return t.expand(mod_fn(*indices), shape)
    scores = mod_fn(t.zeros(shape, device=device), *indices)
    return t.expand(t.ne(scores, float("-inf")), shape)


def _listed(dense: Any) -> tuple[Any, Any]:
    """How many blocks of each row are set, and which, those first."""
    numbers = dense.to(int32)
    order = t.argsort(numbers, stable=True, dim=-1, descending=True)
    return t.sum(numbers, -1).to(int32), order.to(int32)


def _laid_out(counts: Any, indices: Any) -> Any:
    """The inverse of `_listed`: one where a block is set."""
    columns = indices.shape[-1]
    valid = t.lt(t.arange(0, columns, device=indices.device), t.unsqueeze(counts, -1))
    where = t.where(valid, indices.to(int64), columns)
    blank = t.zeros((*indices.shape[:-1], columns + 1), dtype=int32, device=indices.device)
    return t.scatter(blank, -1, where, 1)[..., :columns]


def _turned(counts: Any, indices: Any) -> tuple[Any, Any]:
    """The same blocks listed by column."""
    if counts is None:
        return None, None
    return _listed(t.transpose(_laid_out(counts, indices), -2, -1))


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


class BlockMask:
    """Which blocks of the scores are computed: whole ones, and ones where `mask_mod` decides."""

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Any,
        full_kv_num_blocks: Any, full_kv_indices: Any, q_num_blocks: Any, q_indices: Any,
        full_q_num_blocks: Any, full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, left, right in (
            ("kv", full_kv_num_blocks, full_kv_indices), ("q", full_q_num_blocks, full_q_indices)
        ):  # fmt: skip
            if (left is None) != (right is None):
                raise AssertionError(
                    f"full_{name}_num_blocks and full_{name}_indices must be both provided or "
                    "omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        # What `mask_mod` was found to let through when the mask was made from it.
        self._known: tuple[MaskMod, Any] | None = None

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask of blocks listed for each row of blocks."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = _pair(BLOCK_SIZE)
        columns = whole_columns = (None, None)
        if compute_q_blocks:
            columns = _turned(kv_num_blocks, kv_indices)
            whole_columns = _turned(full_kv_num_blocks, full_kv_indices)
        if seq_lengths is None:
            rows, width = kv_indices.shape[-2:]
            seq_lengths = (rows * size[0], width * size[1])
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
            columns[0], columns[1], whole_columns[0], whole_columns[1], size,
            noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are, masked or not."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The share of scores that are left out, in percent."""
        blocks = int(t.sum(self.kv_num_blocks))
        if self.full_kv_num_blocks is not None:
            blocks += int(t.sum(self.full_kv_num_blocks))
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Any:
        """One for each block that is computed."""
        found = _laid_out(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return found
        return found | _laid_out(self.full_kv_num_blocks, self.full_kv_indices)

    def passing(self, device: Any) -> Any:
        """What `mask_mod` lets through, as bools of (sample, head, query, key)."""
        if self._known is not None and self._known[0] is self.mask_mod:
            return self._known[1].to(device)
        samples, heads = (1, 1, *self.kv_indices.shape[:-2])[-2:]
        return create_mask(self.mask_mod, samples, heads, *self.seq_lengths, device)

    def __getitem__(self, index: Any) -> BlockMask:
        given = index if isinstance(index, tuple) else (index,)
        kept = tuple(
            slice(each, each + 1 or None) if isinstance(each, int) else each for each in given
        )
        counts, indices = self.full_kv_num_blocks, self.full_kv_indices
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[kept], self.kv_indices[kept],
            None if counts is None else counts[kept], None if indices is None else indices[kept],
            self.BLOCK_SIZE, _no_mask_of_a_slice, self.seq_lengths, self.q_indices is not None,
        )  # fmt: skip

    def to(self, device: Any) -> BlockMask:
        """The mask with its lists on a device."""
        names = (
            "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
            "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
        )  # fmt: skip
        found = copy.copy(self)
        for name in names:
            given = getattr(self, name)
            setattr(found, name, None if given is None else given.to(device))
        return found

    def __repr__(self) -> str:
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, "
            f"BLOCK_SIZE={self.BLOCK_SIZE}, mask_mod={name})"
        )


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """The blocks that a mask leaves, those that it leaves whole listed apart."""
    if _takes_scores(mask_mod):
        raise AssertionError(f"create_block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padded = t.constant_pad_nd(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows), False)
    samples, heads, height, width = padded.shape
    blocks = padded.reshape((samples, heads, height // rows, rows, width // columns, columns))
    filled = t.sum(blocks, (3, 5))
    some = t.gt(filled, 0)
    whole = t.eq(filled, rows * columns)
    full: tuple[Any, Any] = (None, None)
    if separate_full_blocks:
        some, full = some & ~whole, _listed(whole)
    counts, indices = _listed(some)
    found = BlockMask.from_kv_blocks(
        counts, indices, full[0], full[1], (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )
    found._known = (mask_mod, mask)
    return found
