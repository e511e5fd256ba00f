"""Enters: a kind of device that is not here. Leaves: the functions of its module, as PyTorch's are.

Invariant: a question is answered (none, zero, empty); a command that needs the device is refused
with the exception that PyTorch raises without one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn


class Absent:
    """The makers of one absent device's functions."""

    def __init__(self, module: str, message: str, kind: type[Exception]) -> None:
        self.module = module
        self.message = message
        self.kind = kind

    def refusal(self, name: str) -> Callable[..., NoReturn]:
        """A function that cannot work without the device."""

        def refused(*args: Any, **kwargs: Any) -> NoReturn:
            raise self.kind(
                f"{self.module}.{name}: expected a device, got none: {self.message}; "
                "ask is_available() first"
            )

        self._name(refused, name, "Refused: there is no such device.")
        return refused

    def answer(self, name: str, value: Callable[[], Any]) -> Callable[..., Any]:
        """A function whose answer is known without the device."""

        def answered(*args: Any, **kwargs: Any) -> Any:
            return value()

        self._name(answered, name, f"Always {value()!r}: there is no such device.")
        return answered

    def kept(self, name: str) -> type:
        """A class that cannot be made without the device, but can be asked for."""
        refuse = self.refusal(name)

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            refuse()

        return type(name, (), {"__init__": __init__, "__module__": self.module,
                               "__doc__": "Refused: there is no such device."})  # fmt: skip

    def _name(self, function: Any, name: str, doc: str) -> None:
        function.__name__ = function.__qualname__ = name
        function.__module__ = self.module
        function.__doc__ = doc


def members(
    absent: Absent,
    *,
    false: str = "",
    zero: str = "",
    nothing: str = "",
    empty_list: str = "",
    empty_dict: str = "",
    refused: str = "",
    classes: str = "",
) -> dict[str, Any]:
    """The members of an absent device's module, by the kind of answer that each gives."""
    answers: tuple[tuple[str, Callable[[], Any]], ...] = (
        (false, bool), (zero, int), (nothing, lambda: None), (empty_list, list),
        (empty_dict, OrderedDict),
    )  # fmt: skip
    made: dict[str, Any] = {}
    for names, value in answers:
        made |= {name: absent.answer(name, value) for name in names.split()}
    made |= {name: absent.refusal(name) for name in refused.split()}
    made |= {name: absent.kept(name) for name in classes.split()}
    return made


class chosen_device:
    """`with cuda.device(...)`: chooses among devices; without any, nothing changes."""

    def __init__(self, device: Any) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


_any = Absent("torch", "Cannot access accelerator device when none is available.", RuntimeError)
Stream = _any.kept("Stream")
Event = _any.kept("Event")


class OutOfMemoryError(RuntimeError):
    """A device ran out of memory."""
