"""Enters: a device's name or index. Leaves: an immutable, comparable `device`.

Invariant: equal devices hash alike; `str(device)` parses back to an equal device.
"""

from __future__ import annotations

import threading

from thunk.base.notice import meaning_changed

DEVICE_TYPES = ("cpu", "lazy", "meta", "xla", "cuda", "mps", "xpu", "privateuseone")


class device:
    """Where a tensor lives: a type and an optional index."""

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            name, place = type.type, type.index if index is None else index
        elif isinstance(type, int) and not isinstance(type, bool):
            name, place = "cuda", type
        elif isinstance(type, str):
            name, place = _parse(type, index)
        else:
            raise TypeError(
                "device(): argument 'type' expected a str, an int or a device, "
                f"got {type.__class__.__name__}"
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", place)

    def of_tensors(self) -> device:
        """The device that tensors made here report: lazy ones always have a number."""
        return _FIRST_LAZY if self.type == "lazy" and self.index is None else self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"device: expected no assignment, got {name!r}; devices are immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (
            ")" if self.index is None else f", index={self.index})"
        )

    def __reduce__(self) -> tuple[object, tuple[str, int | None]]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _defaults.entered.append(_defaults.current)
        _defaults.current = self
        return self

    def __exit__(self, *error: object) -> None:
        _defaults.current = _defaults.entered.pop()


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    name, colon, tail = text.partition(":")
    if name not in DEVICE_TYPES:
        raise RuntimeError(
            f"device: expected one of {', '.join(DEVICE_TYPES)} device type at start of device "
            f"string, got {text!r}"
        )
    if not colon:
        if index is not None and index < 0:
            raise RuntimeError(f"device: expected an index that is not negative, got {index}")
        return name, index
    if index is not None:
        raise RuntimeError(
            f"device: expected the index once, got {text!r} and {index}; drop one of them"
        )
    if not tail.isdigit() or (len(tail) > 1 and tail[0] == "0"):
        raise RuntimeError(f"device: expected a number after the colon, got {text!r}")
    return name, int(tail)


CPU = device("cpu")
_FIRST_LAZY = device("lazy", 0)
META = device("meta")


class _Defaults(threading.local):
    """Where the new tensors of this thread live unless a call says otherwise."""

    def __init__(self) -> None:
        self.current = CPU
        self.entered: list[device] = []


_defaults = _Defaults()


def get_default_device() -> device:
    """The device of new tensors."""
    return _defaults.current


def set_default_device(where: device | str | int | None) -> None:
    """Change the device of new tensors; None is the CPU again."""
    _defaults.current = CPU if where is None else device(where)
    meaning_changed()
