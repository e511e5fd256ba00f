"""Enters: transforms. Leaves: transforms that apply several of them, all, one or by chance.

Invariant: the order of the random draws is torchvision's, so one seed gives one augmentation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from thunk.nn.modules.module import Module
from thunk.vision.transforms import chance

Step = Callable[[Any], Any]


def _listing(name: str, steps: Sequence[Step], *before: str) -> str:
    return "\n".join([f"{name}(", *before, *(f"    {step}" for step in steps), ")"])


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Step]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for step in self.transforms:
            img = step(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class Lambda:
    """A function of the user's as a transform."""

    def __init__(self, lambd: Step) -> None:
        if not callable(lambd):
            raise TypeError(
                f"Lambda: Argument lambd should be callable, got {type(lambd).__name__}"
            )
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomApply(Module):
    """All of several transforms, or none of them."""

    def __init__(self, transforms: Sequence[Step], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        # Drawn as "applied if below p or equal", the way torchvision states it.
        if not chance.at_most(self.p):
            return img
        for step in self.transforms:
            img = step(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, list(self.transforms), f"    p={self.p}")


class RandomOrder:
    """Several transforms in random order, drawn from Python's `random`."""

    def __init__(self, transforms: Sequence[Step]) -> None:
        _check_sequence(transforms)
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for place in order:
            img = self.transforms[place](img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class RandomChoice:
    """One of several transforms, drawn from Python's `random`."""

    def __init__(self, transforms: Sequence[Step], p: Sequence[float] | None = None) -> None:
        _check_sequence(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError(f"RandomChoice: Argument p should be a sequence, got {type(p)}")
        self.transforms = transforms
        self.p = p

    def __call__(self, img: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})({list(self.transforms)})"


def _check_sequence(transforms: Any) -> None:
    if not isinstance(transforms, Sequence):
        raise TypeError(
            f"Argument transforms should be a sequence, got {type(transforms).__name__}"
        )
