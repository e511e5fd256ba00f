"""Enters: globals named in a file. Leaves: the object, with what a file may do with it; or refusal.

Invariant: a global that neither Thunk nor the user allowed is never looked up, let alone called.
"""

from __future__ import annotations

import pickle
import sys
import threading
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from thunk.serialization.names import (
    builders,
    dtype_of_name,
    find_ours,
    is_ours,
    name_of,
    storage_kind,
)
from thunk.serialization.rebuild import parameter_class
from thunk.tensor.legacy import TYPES
from thunk.types.device import device
from thunk.types.size import Size

CALL, NEW, BUILD = 1, 2, 4  # what a file may do: call it, make an instance, give it a state


@dataclass(frozen=True)
class Allowed:
    """An object that a file may name, and what it may do with it."""

    value: Any
    rights: int

    def may(self, right: int) -> bool:
        return bool(self.rights & right)


_BLOCKED = frozenset({"sys", "os", "posix", "nt", "subprocess"})


def _contents(kind: type[Any]) -> Callable[..., Any]:
    """`bytes` and `bytearray` of contents; of a size, they would be memory for nothing."""

    def make(*args: Any) -> Any:
        if args and not isinstance(args[0], (bytes, bytearray, str, list, tuple)):
            raise TypeError(f"{kind.__name__} has contents in a checkpoint")
        return kind(*args)

    return make


def _encode(text: str, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Bytes as old protocols write them: text of latin-1."""
    if encoding.replace("-", "").replace("_", "").lower() not in ("latin1", "utf8", "ascii"):
        raise ValueError(f"no text encoding of checkpoints: {encoding!r}")
    return text.encode(encoding, errors)


_BUILTINS = (set, frozenset, complex, slice, list, dict, tuple, int, float, str, bool)
_PLAIN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": _encode,
    "collections.defaultdict": defaultdict,
    "collections.deque": deque,
    **{f"builtins.{each.__name__}": each for each in _BUILTINS},
    **{f"builtins.{each.__name__}": _contents(each) for each in (bytes, bytearray)},
}

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]


class _UserList(threading.local):
    """What the user allowed in this thread."""

    def __init__(self) -> None:
        self.entries: list[Any] = list(_everywhere)


_everywhere: list[Any] = []
_user = _UserList()


def _checked(entries: Iterable[Any]) -> list[Any]:
    found = list(entries)
    for entry in found:
        if isinstance(entry, tuple):
            if len(entry) != 2 or not callable(entry[0]) or not isinstance(entry[1], str):
                raise ValueError(
                    "add_safe_globals: expected pairs of a callable and its full name, "
                    f"got {entry!r}"
                )
        elif not callable(entry):
            raise TypeError(
                "add_safe_globals: expected functions and classes, "
                f"got {type(entry).__name__}; strings do not name a trusted object"
            )
    return found


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow these functions and classes, or pairs of one and its name, to be named in files."""
    _user.entries += [each for each in _checked(safe_globals) if each not in _user.entries]


def get_safe_globals() -> list[Any]:
    """What was allowed."""
    return list(_user.entries)


def clear_safe_globals() -> None:
    """Allow nothing beyond Thunk's own list."""
    _user.entries = []


class safe_globals:
    """Allow functions and classes inside a `with` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = _checked(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        _user.entries = self._before


def _user_allowed(full_name: str) -> Any:
    for entry in _user.entries:
        if isinstance(entry, tuple):
            if entry[1] == full_name:
                return entry[0]
            continue
        names = {f"{getattr(entry, '__module__', '')}.{getattr(entry, '__qualname__', '')}"}
        theirs = name_of(entry)
        if theirs is not None:
            names.add(".".join(theirs))
        if full_name in names:
            return entry
    return None


_families: list[type] = []  # base classes whose subclasses inside Thunk a file may make


def announce_family(base: type) -> None:
    """Let files make instances of Thunk's own subclasses of `base`, without calling anything."""
    _families.append(base)


def _known_class(module: str, name: str) -> Any:
    """Thunk's own class or function behind a name of PyTorch, if a file may mention it."""
    try:
        found = find_ours(module, name, imports=False)
    except AttributeError:
        return None
    origin = getattr(found, "__module__", None) or ""
    if not origin.startswith("thunk."):
        return None
    if isinstance(found, type) and issubclass(found, tuple(_families)):
        return Allowed(found, NEW | BUILD)
    if isinstance(found, type) and issubclass(found, parameter_class() or ()):
        return Allowed(found, CALL)
    is_function = origin.startswith(("thunk.nn.functional", "thunk.tensor")) and callable(found)
    named = getattr(sys.modules.get("thunk.nn.functional"), name, None) is found
    return Allowed(found, 0) if is_function and named else None


def find(module: str, name: str) -> Any:
    """What a file may use under `module.name`; UnpicklingError if nothing."""
    # Protocols below 3 spell the standard library as Python 2 did.
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    full_name = f"{module}.{name}"
    if module.partition(".")[0] in _BLOCKED:
        raise refusal(full_name, "no list can allow this module")
    kind = storage_kind(module, name)
    if kind is not None:
        return kind
    plain = _PLAIN.get(full_name) or builders().get(full_name)
    if plain is not None:
        return Allowed(plain, CALL)
    allowed = _user_allowed(full_name)
    if allowed is not None:
        return Allowed(allowed, CALL | NEW | BUILD)
    found = _ours(module, name) if is_ours(module) else None
    if found is None:
        raise refusal(full_name, f"allow it with torch.serialization.add_safe_globals([{name}])")
    return found


def _ours(module: str, name: str) -> Any:
    if module == "torch":
        element = dtype_of_name(name)
        if element is not None:
            return element
        if name in TYPES:
            return TYPES[name]
        direct = {"Size": Size, "device": device}.get(name)
        if direct is not None:
            return Allowed(direct, CALL)
    if name == "Tensor":
        return Allowed(find_ours(module, name, imports=False), 0)
    if name == "Parameter" and module.startswith("torch.nn"):
        return Allowed(parameter_class(), CALL | NEW)
    return _known_class(module, name)


def refusal(full_name: str, fix: str) -> pickle.UnpicklingError:
    """The refusal of a global."""
    return pickle.UnpicklingError(
        f"load: expected only tensors, plain containers and allowed globals, got GLOBAL {full_name}"
        f"; nothing of it was run. If you trust the file, {fix}, or pass weights_only=False"
    )
