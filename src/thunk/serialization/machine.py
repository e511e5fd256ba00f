"""Enters: a pickle. Leaves: the object it describes, built without running what it names.

Invariant: the only code that runs is this machine's, Thunk's builders and what the user allowed;
an instruction that this machine does not know ends it.
"""

from __future__ import annotations

import os
import pickle
import pickletools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from thunk.serialization.archive import Reader, is_archive
from thunk.serialization.safe import (
    BUILD,
    CALL,
    NEW,
    Allowed,
    find,
    refusal,
)
from thunk.types.tensor_base import TensorBase

_MARK = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_FRESH: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_LITERALS = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING",
    "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
})  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUTS, _GETS = (
    frozenset({"PUT", "BINPUT", "LONG_BINPUT"}),
    frozenset({"GET", "BINGET", "LONG_BINGET"}),
)
_DICTS: tuple[type, ...] = (dict, OrderedDict, Counter, defaultdict)
_NOTHING = frozenset({"PROTO", "FRAME"})


class Machine:
    """A stack machine for pickles; one instance reads one pickle."""

    def __init__(self, persistent_load: Callable[[Any], Any]) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.persistent_load = persistent_load
        self.made: dict[int, Any] = {}  # instances that a state may be given to, kept alive

    def load(self, file: IO[bytes]) -> Any:
        """The object that the pickle at the file's position describes."""
        try:
            for op, argument, _ in pickletools.genops(file):
                if op.name == "STOP":
                    return _bare(self.stack.pop())
                self._step(op.name, argument)
        except (IndexError, KeyError, ValueError, AttributeError, TypeError) as error:
            raise pickle.UnpicklingError(
                f"load: expected a well-formed pickle, got one that fails with "
                f"{type(error).__name__}: {error}; the file is damaged or not a checkpoint"
            ) from error
        raise pickle.UnpicklingError("load: expected a pickle that ends, got one cut short")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _LITERALS:
            stack.append(argument)
        elif name in _PUTS:
            self.memo[argument] = stack[-1]
        elif name in _GETS:
            stack.append(self.memo[argument])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _FRESH:
            stack.append(_FRESH[name]())
        elif name in _TUPLES:
            count = _TUPLES[name]
            stack[-count:] = [tuple(map(_bare, stack[-count:]))]
        elif name not in _NOTHING:
            handler = _HANDLERS.get(name)
            if handler is None:
                raise pickle.UnpicklingError(
                    f"load: expected instructions that build data, got {name}; "
                    "pass weights_only=False if you trust the file"
                )
            handler(self, argument)

    def _since_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise IndexError("no mark")
        items = [_bare(each) for each in self.stack[place + 1 :]]
        del self.stack[place:]
        return items

    def mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def pop(self, _: Any) -> None:
        self.stack.pop()

    def pop_mark(self, _: Any) -> None:
        self._since_mark()

    def duplicate(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def tuple_(self, _: Any) -> None:
        self.stack.append(tuple(self._since_mark()))

    def list_(self, _: Any) -> None:
        self.stack.append(self._since_mark())

    def frozenset_(self, _: Any) -> None:
        self.stack.append(frozenset(self._since_mark()))

    def dict_(self, _: Any) -> None:
        items = self._since_mark()
        self.stack.append(dict(zip(items[::2], items[1::2], strict=True)))

    def append(self, _: Any) -> None:
        item = _bare(self.stack.pop())
        self._target((list, deque)).append(item)

    def appends(self, _: Any) -> None:
        items = self._since_mark()
        self._target((list, deque)).extend(items)

    def add_items(self, _: Any) -> None:
        items = self._since_mark()
        self._target((set,)).update(items)

    def set_item(self, _: Any) -> None:
        value, key = _bare(self.stack.pop()), _bare(self.stack.pop())
        self._target(_DICTS)[key] = value

    def set_items(self, _: Any) -> None:
        items = self._since_mark()
        target = self._target(_DICTS)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def _target(self, kinds: tuple[type, ...]) -> Any:
        """The container on top; one of another class would run that class's code."""
        target = self.stack[-1]
        if type(target) not in kinds and id(target) not in self.made:
            raise pickle.UnpicklingError(
                f"load: expected to fill a {kinds[0].__name__}, got {type(target).__name__}"
            )
        return target

    def persistent(self, _: Any) -> None:
        self.stack.append(self.persistent_load(_bare(self.stack.pop())))

    def global_(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(find(module, name))

    def stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise TypeError("the name of a global is no text")
        self.stack.append(find(module, name))

    def reduce(self, _: Any) -> None:
        args = self.stack.pop()
        self.stack.append(self._made(_permitted(self.stack.pop(), CALL)(*_tuple(args))))

    def new_object(self, _: Any) -> None:
        args = self.stack.pop()
        cls = _permitted(self.stack.pop(), NEW)
        self.stack.append(self._made(cls.__new__(cls, *_tuple(args))))

    def new_object_with_names(self, _: Any) -> None:
        named, args = self.stack.pop(), self.stack.pop()
        cls = _permitted(self.stack.pop(), NEW)
        self.stack.append(self._made(cls.__new__(cls, *_tuple(args), **named)))

    def _made(self, made: Any) -> Any:
        if not isinstance(made, (int, float, str, bytes, tuple)):
            self.made[id(made)] = made
        return made

    def build(self, _: Any) -> None:
        state = _bare(self.stack.pop())
        target = self.stack[-1]
        if id(target) not in self.made or isinstance(target, TensorBase):
            raise pickle.UnpicklingError(
                "load: expected a state for an object of this file, got one for "
                f"{type(target).__name__}"
            )
        setter = getattr(target, "__setstate__", None)
        if setter is not None:
            setter(state)
            return
        fields, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        vars(target).update(fields or {})
        for name, value in (slots or {}).items():
            setattr(target, name, value)


def _bare(value: Any) -> Any:
    """A global as data: the object itself, without rights."""
    return value.value if isinstance(value, Allowed) else value


def _tuple(args: Any) -> tuple[Any, ...]:
    if type(args) is not tuple:
        raise TypeError("arguments are no tuple")
    return args


def _permitted(found: Any, right: int) -> Any:
    if isinstance(found, Allowed) and found.may(right):
        return found.value
    value = _bare(found)
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", value)
    deed = {CALL: "called", NEW: "instantiated", BUILD: "changed"}[right]
    raise refusal(f"{module}.{name} to be {deed}", f"allow it with add_safe_globals([{name}])")


_HANDLERS: dict[str, Callable[[Machine, Any], None]] = {
    "MARK": Machine.mark, "POP": Machine.pop, "POP_MARK": Machine.pop_mark,
    "DUP": Machine.duplicate, "MEMOIZE": Machine.memoize, "TUPLE": Machine.tuple_,
    "LIST": Machine.list_, "FROZENSET": Machine.frozenset_, "DICT": Machine.dict_,
    "APPEND": Machine.append, "APPENDS": Machine.appends, "ADDITEMS": Machine.add_items,
    "SETITEM": Machine.set_item, "SETITEMS": Machine.set_items, "BINPERSID": Machine.persistent,
    "GLOBAL": Machine.global_, "STACK_GLOBAL": Machine.stack_global, "REDUCE": Machine.reduce,
    "NEWOBJ": Machine.new_object, "NEWOBJ_EX": Machine.new_object_with_names,
    "BUILD": Machine.build,
}  # fmt: skip


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The globals in a zip checkpoint that `load` would refuse, by full name."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if not is_archive(f):
        raise ValueError(
            "get_unsafe_globals_in_checkpoint: expected a zip checkpoint, got an older format"
        )
    data = Reader(f).read("data.pkl")
    refused = []
    for module, name in sorted(set(_globals_of(data))):
        try:
            find(module, name)
        except pickle.UnpicklingError:
            refused.append(f"{module}.{name}")
    return refused


def _globals_of(data: bytes) -> Iterator[tuple[str, str]]:
    texts: list[str] = []
    for op, argument, _ in pickletools.genops(data):
        if op.name == "GLOBAL" and isinstance(argument, str):
            module, _, name = argument.partition(" ")
            yield module, name
        elif op.name == "STACK_GLOBAL":
            yield texts[-2], texts[-1]
        elif isinstance(argument, str):
            texts.append(argument)
