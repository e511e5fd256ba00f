"""Enters: a call of an operator. Leaves: its result, at once where this call was made before.

`state.recorder` remembers, at every place of its walk, which calls were made there and what came
of them. Invariant: a hit does what the slow way would have done; whatever is not understood here
goes the slow way, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.dispatch.state import state
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.layout import layout, memory_format

Slow = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# The classes whose tensors go the fast way, and the one that results have.
fast_kinds: set[type] = set()
result_kind: list[Any] = [object]
_bare = object.__new__

# Classes whose values may stand in keys as they are.
hashable_kinds: set[type] = {str, type(Ellipsis), dtype, device, layout, memory_format}


class Entry:
    """One function that users call; part of the key of its calls.

    `numbers` are the places (positions and keywords) whose numbers are inputs of a compiled step,
    so that their values are no part of the key; it is found on the first call that has numbers.
    `windows` says that the call looks into its first argument ("read") or writes there ("write"),
    at a place that its other arguments name.
    """

    __slots__ = (
        "_find_numbers", "call", "name", "numbers", "resolve", "slow", "takes_number", "windows",
    )  # fmt: skip

    def __init__(
        self, name: str, slow: Slow,
        find_numbers: Callable[[], frozenset[int | str]] = frozenset,
        resolve: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.slow = slow
        # Binds a call to an overload, where there are overloads.
        self.resolve: Any = resolve
        self._find_numbers = find_numbers
        self.windows = ""
        self.forget()
        self.call = entry_function(self)

    def forget(self) -> None:
        """An overload came or went."""
        self.numbers: frozenset[int | str] | None = None
        self.takes_number = False

    def places(self) -> frozenset[int | str]:
        """`numbers`, found if it was not yet."""
        found = self.numbers
        if found is None:
            found = self.numbers = self._find_numbers()
            self.takes_number = 1 in found
        return found

    def __repr__(self) -> str:
        return f"<calls of {self.name}>"


def entry_function(entry: Entry) -> Callable[..., Any]:
    """The function through which `entry` is called."""
    slow = entry.slow

    def call(*args: Any, **kwargs: Any) -> Any:
        trace = state.recorder
        if trace is None:
            return slow(args, kwargs)
        count = len(args)
        if kwargs or count > 2 or not count or type(args[0]) not in fast_kinds:
            return remembered(entry, trace, args, kwargs)
        first = args[0]
        node = first._node
        if node is None:
            node = trace.register(first)
            if node is None:
                return slow(args, kwargs)
        number = None
        if count == 1:
            key: Any = (entry, node)
        else:
            second = args[1]
            kind = type(second)
            if kind in fast_kinds:
                other = second._node
                if other is None:
                    other = trace.register(second)
                    if other is None:
                        return slow(args, kwargs)
                key = (entry, node, other)
            elif (kind is float or kind is int) and entry.takes_number:
                key = (entry, node, kind)
                number = second
            else:
                return remembered(entry, trace, args, kwargs)
        made = _bare(result_kind[0])
        position = trace.node
        found = position.children.get(key)
        if found is None:
            return trace.miss(entry, args, kwargs, key, () if number is None else (number,))
        if found.replay is not None:
            return found.replay.run(trace, position, found, args, kwargs, (number,))
        made._node = found
        try:
            if trace.node is not position:  # a finalizer or a signal handler recorded
                return call(*args)  # so look again
            if number is not None:
                trace.scalars.append(number)
            trace.results.append(made)
            trace.node = found
        except BaseException:
            trace.repair()
            raise
        return made

    return call


def remembered(entry: Entry, trace: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of any form."""
    key: list[Any] = [entry]
    numbers: list[Any] = []
    runtime = entry.numbers
    if runtime is None:
        runtime = entry.places()
    for place, value in enumerate(args):
        if type(value) in fast_kinds:
            node = value._node
            if node is None:
                node = trace.register(value)
                if node is None:
                    return entry.slow(args, kwargs)
            key.append(node)
        elif value is None:
            key.append(None)
        elif not _describe(entry, trace, value, key, numbers if place in runtime else None):
            return entry.slow(args, kwargs)
    for name, value in kwargs.items():
        key.append(name)
        if not _describe(entry, trace, value, key, numbers if name in runtime else None):
            return entry.slow(args, kwargs)
    call = tuple(key)
    made = _bare(result_kind[0])
    position = trace.node
    found = position.children.get(call)
    if found is None:
        return trace.miss(entry, args, kwargs, call, numbers)
    if found.replay is not None:
        return found.replay.run(trace, position, found, args, kwargs, numbers)
    made._node = found
    try:
        if trace.node is not position:
            return remembered(entry, trace, args, kwargs)
        trace.scalars += numbers
        trace.results.append(made)
        trace.node = found
    except BaseException:
        trace.repair()
        raise
    return made


def _describe(
    entry: Entry, trace: Any, value: Any, key: list[Any], numbers: list[Any] | None
) -> bool:
    """Append to the key what `value` is; False for what no key can hold."""
    kind = type(value)
    if kind in fast_kinds:
        node = value._node
        if node is None:
            node = trace.register(value)
            if node is None:
                return False
        key.append(node)
    elif value is None or kind in hashable_kinds:
        key.append(value)
    elif kind is int or kind is float:
        key.append(kind)
        if numbers is not None:
            numbers.append(value)
        else:
            key.append(value.hex() if kind is float else value)
    elif kind is bool:
        key.append((bool, value))
    elif isinstance(value, (tuple, list)):
        key.append((kind, len(value)))
        for each in value:
            if not _describe(entry, trace, each, key, None):
                return False
    elif kind is slice:
        key.append(slice)
        for each in (value.start, value.stop, value.step):
            if not _describe(entry, trace, each, key, None):
                return False
    else:
        return False
    return True
