"""Enters: a transform of single pictures. Leaves: the same for whole arrays of them, or None.

Invariant: the results are bit for bit those of the single pictures, and so are the random numbers:
each step that has a form here takes a fixed number of words of the stream a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from thunk.nn.modules.module_hooks import everywhere
from thunk.runtime import random
from thunk.types.dtype import float32
from thunk.types.promotion import get_default_dtype
from thunk.vision.transforms.combine import Compose
from thunk.vision.transforms.convert import Normalize, ToTensor
from thunk.vision.transforms.functional.convert import (
    fresh,
    normalized,
    per_channel_numbers,
    scaled,
)
from thunk.vision.transforms.functional.sizes import borders
from thunk.vision.transforms.geometry import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomVerticalFlip,
)

Batch = numpy.ndarray
Size = tuple[int, int]


class _Move(NamedTuple):
    """A step on bytes: what it does, the words it takes a picture, the size it leaves."""

    apply: Callable[[Batch, Batch], Batch]
    words: int
    size: Size


def on_batch(transform: Any, shape: tuple[int, int, int]) -> Callable[[Batch], Any] | None:
    """A function of pictures x height x width x channels bytes that gives the batch of tensors.

    `shape` is that of one picture.
    """
    steps: list[Any] = list(transform.transforms) if type(transform) is Compose else [transform]
    place = next((n for n, step in enumerate(steps) if type(step) is ToTensor), None)
    if place is None:
        return None
    moves = _moves(steps[:place], (shape[0], shape[1]))
    rest = steps[place + 1 :]
    if moves is None or not all(_is_normal(step, shape[2]) for step in rest):
        return None

    def transformed(pixels: Batch) -> Any:
        planes = scaled(_moved(pixels, moves).transpose(0, 3, 1, 2))
        for step in rest:
            planes = normalized(planes, step.mean, step.std)
        return fresh(planes)

    return transformed


def _moves(steps: list[Any], size: Size) -> list[_Move] | None:
    found = []
    for step in steps:
        form = _FORMS.get(type(step))
        # In another default dtype, numbers take more than a word.
        if form is None or _has_hooks(step) or get_default_dtype() is not float32:
            return None
        move = form(step, size)
        if move is None:
            return None
        size = move.size
        found.append(move)
    return found


def _moved(pixels: Batch, moves: list[_Move]) -> Batch:
    each = sum(move.words for move in moves)
    drawn = random.default_generator.draw32(len(pixels) * each).reshape(len(pixels), each)
    taken = 0
    for move in moves:
        pixels = move.apply(pixels, drawn[:, taken : taken + move.words])
        taken += move.words
    return pixels


def _flips(step: Any, size: Size, axis: int) -> _Move:
    bound = numpy.float32(step.p)

    def apply(pixels: Batch, words: Batch) -> Batch:
        chosen = (words[:, 0] & 0xFFFFFF).astype(numpy.float32) * numpy.float32(2.0**-24) < bound
        made = pixels.copy()
        made[chosen] = numpy.flip(pixels[chosen], axis)
        return made

    return _Move(apply, 1, size)


def _flips_across(step: Any, size: Size) -> _Move:
    return _flips(step, size, 2)


def _flips_over(step: Any, size: Size) -> _Move:
    return _flips(step, size, 1)


def _crops(step: Any, size: Size) -> _Move | None:
    margins = (0, 0, 0, 0) if step.padding is None else borders(step.padding)
    framed = size[0] + margins[1] + margins[3], size[1] + margins[0] + margins[2]
    height, width = step.size
    spare = framed[0] - height, framed[1] - width
    plain = isinstance(step.fill, int) and step.padding_mode == "constant" and min(margins) >= 0
    if not plain or step.pad_if_needed or min(spare) < 0:
        return None

    def apply(pixels: Batch, words: Batch) -> Batch:
        count, channels = pixels.shape[0], pixels.shape[3]
        whole = numpy.full((count, *framed, channels), step.fill, numpy.uint8)
        left, top = margins[:2]
        whole[:, top : top + size[0], left : left + size[1]] = pixels
        if spare == (0, 0):
            return whole
        made = numpy.empty((count, height, width, channels), numpy.uint8)
        corners = (words % numpy.array([spare[0] + 1, spare[1] + 1], numpy.uint32)).tolist()
        for place, (row, column) in enumerate(corners):
            made[place] = whole[place, row : row + height, column : column + width]
        return made

    return _Move(apply, 0 if spare == (0, 0) else 2, (height, width))


_FORMS: dict[type, Callable[[Any, Size], _Move | None]] = {
    RandomCrop: _crops,
    RandomHorizontalFlip: _flips_across,
    RandomVerticalFlip: _flips_over,
}


def _has_hooks(step: Any) -> bool:
    own = step._forward_hooks or step._forward_pre_hooks
    return bool(own or everywhere.forward or everywhere.forward_pre)


def _is_normal(step: Any, channels: int) -> bool:
    """Whether `step` is a `Normalize` whose parameters the single form would accept."""
    if type(step) is not Normalize or step.inplace or _has_hooks(step):
        return False
    if not per_channel_numbers(step.mean, step.std, channels):
        return False
    return bool((numpy.asarray(step.std, get_default_dtype().numpy) != 0).all())
