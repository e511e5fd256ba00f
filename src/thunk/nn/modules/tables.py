"""Enters: a module's members and hooks. Leaves: tables that tell the module when they change.

Invariants: (1) a name in `_parameters`, `_buffers` or `_modules` is also in the instance's
`__dict__` with the same value, unless the class or a plain attribute hides it, so reading it is a
plain attribute read; (2) `_hooked` is False only while the four tables of call hooks are empty.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

MISSING: Any = object()
MEMBER_TABLES = ("_parameters", "_buffers", "_modules")
CALL_HOOK_TABLES = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
)  # fmt: skip


class World:
    """Counts what happened to modules: members, attributes and hooks set or deleted."""

    __slots__ = ("version",)

    def __init__(self) -> None:
        self.version = 0


world = World()


class Watched:
    """A dictionary whose every change passes `_open` before and `_close` after."""

    __slots__ = ()

    def _open(self, key: Any) -> Any:
        return None

    def _close(self, key: Any, before: Any) -> None:
        world.version += 1

    def __setitem__(self, key: Any, value: Any) -> None:
        before = self._open(key)
        super().__setitem__(key, value)  # type: ignore[misc]  # the dictionary beside this class
        self._close(key, before)

    def __delitem__(self, key: Any) -> None:
        before = self._open(key)
        super().__delitem__(key)  # type: ignore[misc]  # the dictionary beside this class
        self._close(key, before)

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        """Remove `key` and return its value."""
        table: Any = self
        if key not in table:
            if default is MISSING:
                raise KeyError(key)
            return default
        value = table[key]
        del self[key]
        return value

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """Remove and return the last item, or the first."""
        table: Any = self
        keys: Iterator[Any] = reversed(table) if last else iter(table)
        key = next(keys, MISSING)
        if key is MISSING:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove everything."""
        table: Any = self
        for key in list(table):
            del self[key]

    def update(self, *others: Any, **named: Any) -> None:
        """Set the items of another mapping."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of `key`, set to `default` if there is none."""
        table: Any = self
        if key not in table:
            self[key] = default
        return table[key]

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


class _Owned(Watched):
    """A watched table that knows the modules it belongs to, weakly; copies share a table."""

    __slots__ = ()

    _owners: list[weakref.ref[Any]]

    def owners(self) -> list[Any]:
        """The modules that are still alive."""
        return [owner for ref in self._owners if (owner := ref()) is not None]

    def add_owner(self, module: Any) -> None:
        """From now on `module` hears of changes."""
        self._owners.append(weakref.ref(module))

    def drop_owner(self, module: Any) -> None:
        """`module` uses another table."""
        self._owners[:] = [ref for ref in self._owners if ref() not in (None, module)]


class Members(_Owned, dict[str, Any]):
    """Parameters, buffers or submodules by name, mirrored in their module's `__dict__`."""

    __slots__ = ("_owners",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._owners = []
        dict.__init__(self, items)

    def _open(self, key: Any) -> Any:
        return [(module, _shown(module, key)) for module in self.owners()]

    def _close(self, key: Any, before: Any) -> None:
        world.version += 1
        for module, shown in before:
            mirror(module, key, shown)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (), None, None, iter(self.items())


class HookTable(_Owned, OrderedDict[int, Any]):
    """Hooks that are called around forward, by number."""

    __slots__ = ("_owners",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._owners = []
        super().__init__(items)

    def _close(self, key: Any, before: Any) -> None:
        world.version += 1
        for module in self.owners():
            refresh_hooked(module)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return OrderedDict, (), None, None, iter(self.items())


def _shown(module: Any, name: str) -> Any:
    """What the tables say `module.name` is."""
    attributes = module.__dict__
    for table in MEMBER_TABLES:
        members = attributes.get(table)
        if members is not None and name in members:
            return members[name]
    return MISSING


def mirror(module: Any, name: str, before: Any) -> None:
    """Bring the attribute `name` up to date, if it showed `before` until now."""
    attributes = module.__dict__
    if attributes.get(name, MISSING) is not before:
        return
    shown = _shown(module, name)
    if shown is MISSING:
        attributes.pop(name, None)
    elif name in attributes or not hasattr(type(module), name):
        attributes[name] = shown


def refresh_hooked(module: Any) -> None:
    """Recompute whether a call of `module` must look for hooks."""
    attributes = module.__dict__
    attributes["_hooked"] = bool(
        attributes.get("_compiled_call_impl") is not None
        or any(attributes.get(name, True) for name in CALL_HOOK_TABLES)
    )


class Table:
    """A module's table as an attribute: whatever dictionary is assigned becomes a watched one."""

    def __init__(self, kind: type[Members] | type[HookTable]) -> None:
        self._kind = kind

    def __set_name__(self, cls: type, name: str) -> None:
        self._name = name

    def __get__(self, module: Any, cls: Any = None) -> Any:
        if module is None:
            return self
        table = module.__dict__.get(self._name, MISSING)
        if table is MISSING:
            name = type(module).__name__
            raise AttributeError(f"'{name}' object has no attribute '{self._name}'")
        if isinstance(table, self._kind) and any(ref() is module for ref in table._owners):
            return table
        return self._adopt(module, table)

    def __set__(self, module: Any, table: Any) -> None:
        old = module.__dict__.get(self._name, {})
        before = {name: _shown(module, name) for name in (*old, *table)}
        self._let_go(module, old)
        self._adopt(module, table)
        if self._kind is Members:
            for name, shown in before.items():
                mirror(module, name, shown)
        world.version += 1

    def __delete__(self, module: Any) -> None:
        self.__set__(module, {})
        del module.__dict__[self._name]

    def _let_go(self, module: Any, old: Any) -> None:
        if isinstance(old, _Owned):
            old.drop_owner(module)

    def _adopt(self, module: Any, table: Any) -> Any:
        """Make `table` the module's own; what was no member so far becomes an attribute."""
        owned: Any = table
        if not isinstance(table, self._kind):
            owned = self._kind(table)
            if isinstance(table, OrderedDict):
                table.continued_by = owned  # type: ignore[attr-defined]  # for handles of its hooks
        owned.add_owner(module)
        module.__dict__[self._name] = owned
        if self._kind is Members:
            for name in owned:
                mirror(module, name, MISSING)
        else:
            refresh_hooked(module)
        return owned
