"""Enters: a random source and what a program made so far. Leaves: choices that fit together.

Invariant: a choice depends on the random source and on shapes, dtypes and flags only, so that
the same seed makes the same program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

from fuzz.program import new_space

Accept = Callable[[Any], bool]
DIMENSIONS = (1, 2, 3)
LARGEST = 48  # elements of an operand; views and products grow from here


class NoCandidate(Exception):
    """Nothing made so far fits what a statement needs; another kind is tried."""


class Scene:
    """The state of a program that grows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.space = new_space(torch)
        self.made = 0
        # PyTorch frees memory that others look at once a tensor exported by itself gets another.
        self.exported: list[Any] = []
        self.moved: list[Any] = []  # that were set to other memory
        self.has_inference = False  # what such tensors become outside counts writes differently

    def fresh(self, letter: str = "t") -> str:
        """A name not used before."""
        self.made += 1
        return f"{letter}{self.made - 1}"

    def names(self, letter: str) -> list[str]:
        return [each for each in self.space if each[0] == letter and each[1:].isdigit()]

    def tensors(self, accept: Accept | None = None) -> list[str]:
        found = []
        for name in self.names("t"):
            tensor = self.space[name]
            if tensor.numel() <= LARGEST and (accept is None or accept(tensor)):
                found.append(name)
        return found

    def pick(self, accept: Accept | None = None) -> str:
        """The name of a tensor that fits, rather a late one."""
        return self.among(self.tensors(accept))

    def was_moved(self, tensor: Any) -> bool:
        return any(each is tensor for each in self.moved)

    def is_exported(self, tensor: Any) -> bool:
        return any(each is tensor for each in self.exported)

    def among(self, names: list[str]) -> str:
        if not names:
            raise NoCandidate
        if self.random.random() < 0.5:
            return self.random.choice(names[-4:])
        return self.random.choice(names)

    def of(self, name: str) -> Any:
        return self.space[name]

    def choose(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self) -> float:
        """A number that float32 and bfloat16 hold exactly."""
        return self.random.choice((0.25, 0.5, 0.75, 1.25, 1.5, -0.5, -0.75, 2.0))

    def edge(self) -> float:
        """A threshold that values do not hit by accident."""
        return self.random.choice((0.13, -0.27, 0.61, 1.07, -0.93))

    def axis(self, tensor: Any) -> int:
        """A dimension of a tensor, counted from either end."""
        if tensor.dim() == 0:
            raise NoCandidate
        axis = self.random.randrange(tensor.dim())
        return axis - tensor.dim() if self.chance(0.3) else axis

    def shape(self, least: int = 0, most: int = 3) -> tuple[int, ...]:
        count = self.random.randint(least, most)
        return tuple(self.random.choice(DIMENSIONS) for _ in range(count))

    def floats(self, shape: tuple[int, ...]) -> str:
        """Nested lists of exact numbers, as text."""
        return self._nested(shape, lambda: self.random.randint(-12, 12) / 8)

    def integers(self, shape: tuple[int, ...], low: int = -3, high: int = 5) -> str:
        return self._nested(shape, lambda: self.random.randint(low, high))

    def booleans(self, shape: tuple[int, ...]) -> str:
        return self._nested(shape, lambda: self.random.random() < 0.5)

    def _nested(self, shape: tuple[int, ...], make: Callable[[], Any]) -> str:
        if not shape:
            return repr(make())
        return "[" + ", ".join(self._nested(shape[1:], make) for _ in range(shape[0])) + "]"

    def mate(self, tensor: Any, accept: Accept | None = None) -> str:
        """A tensor that broadcasts with another."""
        return self.pick(lambda each: broadcasts(each, tensor) and (accept is None or accept(each)))

    def source(self, target: Any, accept: Accept | None = None) -> str:
        """A tensor that broadcasts to the shape of a target."""
        shape = tuple(target.shape)
        return self.pick(
            lambda each: (
                broadcast(tuple(each.shape), shape) == shape and (accept is None or accept(each))
            )
        )

    def index_list(self, length: int, count: int) -> str:
        return repr([self.random.randrange(-length, length) for _ in range(count)])

    def kept_for_backward(self) -> list[Any]:
        """The memory that nodes behind live tensors saved, as arrays."""
        seen: set[Any] = set()
        found: list[Any] = []
        stack = [each for each in (history(self.of(name)) for name in self.tensors()) if each]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            found += saved_arrays(node)
            stack += [each for each, _ in node.next_functions if each is not None]
        return found

    def is_kept(self, tensor: Any) -> bool:
        """Whether backward may read the memory of a tensor."""
        start = tensor.untyped_storage().data_ptr()
        end = start + tensor.untyped_storage().nbytes()
        places = [each.__array_interface__["data"][0] for each in self.kept_for_backward()]
        return any(start <= place < end for place in places)

    def writable(self) -> str:
        """A tensor to write to: rather one that allows it, never one that overlaps itself."""
        accept = (
            can_write
            if self.chance(0.9)
            else (lambda each: not overlaps(each) and not each.is_inference())
        )
        return self.pick(accept)


def history(tensor: Any) -> Any:
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def saved_arrays(node: Any) -> list[Any]:
    """What one node keeps, unless it was freed or written since."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_") or name == "saved_tensors":
            try:
                kept = getattr(node, name)
            except RuntimeError:
                continue
            for each in kept if isinstance(kept, (tuple, list)) else (kept,):
                if isinstance(each, torch.Tensor) and each.dtype is not torch.bfloat16:
                    found.append(each.detach().numpy())
    return found


def shares_memory(one: Any, two: Any) -> bool:
    return bool(one.untyped_storage().data_ptr() == two.untyped_storage().data_ptr())


def broadcast(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...] | None:
    """The common shape, or None."""
    count = max(len(one), len(two))
    padded = zip((1,) * (count - len(one)) + one, (1,) * (count - len(two)) + two)
    result = []
    for first, second in padded:
        if first != second and 1 not in (first, second):
            return None
        result.append(second if first == 1 else first)
    return tuple(result)


def broadcasts(one: Any, two: Any) -> bool:
    return broadcast(tuple(one.shape), tuple(two.shape)) is not None


def is_float(tensor: Any) -> bool:
    return tensor.dtype.is_floating_point


def is_wide_float(tensor: Any) -> bool:
    return tensor.dtype in (torch.float64, torch.float32)


def is_integer(tensor: Any) -> bool:
    return tensor.dtype in (torch.int64, torch.int32)


def is_bool(tensor: Any) -> bool:
    return tensor.dtype is torch.bool


def is_number(tensor: Any) -> bool:
    return not is_bool(tensor)


def wants_grad(tensor: Any) -> bool:
    return tensor.requires_grad


def is_leaf(tensor: Any) -> bool:
    """Whether it is one; PyTorch refuses to say so of some views after writes."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return False


def is_leaf_with_grad(tensor: Any) -> bool:
    return tensor.requires_grad and is_leaf(tensor)


def has_history(tensor: Any) -> bool:
    return history(tensor) is not None


def is_plain(tensor: Any) -> bool:
    return not tensor.requires_grad and not tensor.is_inference()


def overlaps(tensor: Any) -> bool:
    """Whether two elements may lie at one place, by the strides alone."""
    reach = 1
    pairs = sorted(zip(tensor.stride(), tensor.shape))
    for stride, size in pairs:
        if size > 1:
            if stride < reach:
                return True
            reach += stride * (size - 1)
    return False


def is_expanded(tensor: Any) -> bool:
    """Overlapping in the way that every library refuses to write to."""
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))


def can_write(tensor: Any) -> bool:
    if tensor._is_view() and tensor._backward_hooks:
        return False  # PyTorch forgets the hook of a view that is written to
    return not is_leaf_with_grad(tensor) and not overlaps(tensor) and not tensor.is_inference()
