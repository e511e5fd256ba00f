"""Every operator of the process with its kernels, and the backend fallbacks that they share.

Enters: definitions, kernels and fallbacks, in any order. Leaves: table rows, and a version number.
Invariant: `version` changes whenever any row may have changed, so caches can be keyed on it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from thunk.base.notice import meaning_changed
from thunk.dispatch.kernel import Kernel
from thunk.dispatch.keys import DispatchKey, is_alias
from thunk.dispatch.table import OperatorEntry, Row


class RegistrationHandle:
    """What a registration returns: `remove()` takes it back, once; a `with` block does so too."""

    __slots__ = ("_arguments", "_undo")

    def __init__(self, undo: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._undo: Callable[..., None] | None = undo
        self._arguments = arguments

    @property
    def active(self) -> bool:
        """Tell whether the registration still stands."""
        return self._undo is not None

    def remove(self) -> None:
        """Take the registration back; later calls do nothing, since finalizers may repeat them."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo(*self._arguments)

    def __enter__(self) -> RegistrationHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


class OperatorRegistry:
    """Operators by full name ("namespace::name.overload"), with one table each.

    Nothing is computed at registration: a row is worked out when a call first needs it.
    """

    def __init__(self) -> None:
        self.version = 0
        self._entries: dict[str, OperatorEntry] = {}
        self._fallbacks: dict[DispatchKey, Kernel] = {}
        self._record: list[RegistrationHandle] | None = None
        # Re-entrant: a finalizer may remove a registration while this thread is registering.
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def recording(self) -> Iterator[list[RegistrationHandle]]:
        """Collect the handles of all that is registered in the block, whoever registers it."""
        handles: list[RegistrationHandle] = []
        outer, self._record = self._record, handles
        try:
            yield handles
        finally:
            self._record = outer

    def _changed(self) -> None:
        self.version += 1
        meaning_changed()

    def _recorded(self, handle: RegistrationHandle) -> RegistrationHandle:
        if self._record is not None:
            self._record.append(handle)
        return handle

    def entry(self, full_name: str) -> OperatorEntry:
        """Return the operator's entry, made on first mention: kernels may precede definitions."""
        entry = self._entries.get(full_name)
        if entry is None:
            made = OperatorEntry(full_name, fallbacks=self._fallbacks)
            entry = self._entries.setdefault(full_name, made)
        return entry

    def find(self, full_name: str) -> OperatorEntry | None:
        """Return the operator's entry, or None if nothing has mentioned it."""
        return self._entries.get(full_name)

    def names(self) -> tuple[str, ...]:
        """Return the full names of the defined operators, in order of first mention."""
        entries = list(self._entries.values())
        return tuple(entry.name for entry in entries if entry.schema_text is not None)

    def define(
        self, full_name: str, schema_text: str, *, where: str | None = None
    ) -> RegistrationHandle:
        """Give an operator its schema."""
        with self._lock:
            entry = self.entry(full_name)
            if entry.schema_text is not None:
                raise RuntimeError(
                    f"{full_name}: expected one definition, got a second at"
                    f" {where or 'unknown'}; the first, {entry.schema_text!r}, is at"
                    f" {entry.where or 'unknown'}; rename one or choose another overload name"
                )
            entry.schema_text = schema_text
            entry.where = where
            self._changed()
        return self._recorded(RegistrationHandle(self._undefine, (entry,)))

    def register(
        self,
        full_name: str,
        key: DispatchKey,
        function: Callable[..., Any],
        *,
        where: str | None = None,
        boxed: bool = False,
    ) -> RegistrationHandle:
        """Register a kernel, or `FALLTHROUGH`; it shadows an earlier one of the same key."""
        kernel = Kernel(function, where, boxed=boxed)
        with self._lock:
            entry = self.entry(full_name)
            entry.add(key, kernel)
            self._changed()
        return self._recorded(RegistrationHandle(self._unregister, (entry, key, kernel)))

    def register_fallback(
        self,
        key: DispatchKey,
        function: Callable[..., Any],
        *,
        where: str | None = None,
        boxed: bool = True,
    ) -> RegistrationHandle:
        """Register what serves `key` for every operator without a kernel for it.

        `where` is the calling line if not given: unlike kernels, fallbacks are few.
        """
        if is_alias(key) or key is DispatchKey.Undefined:
            raise RuntimeError(
                f"register_fallback: expected a runtime key, got {key.name};"
                " register one fallback for each runtime key that needs it"
            )
        kernel = Kernel(function, where or location_of_caller(), boxed=boxed)
        with self._lock:
            present = self._fallbacks.get(key)
            if present is not None:
                raise RuntimeError(
                    f"register_fallback: expected no fallback for {key.name} yet, got a second at"
                    f" {kernel.where}; the first is at {present.where}; remove it beforehand"
                )
            self._fallbacks[key] = kernel
            self._fallback_changed(key)
        return RegistrationHandle(self._unregister_fallback, (key,))

    def fallback(self, key: DispatchKey) -> Kernel | None:
        """Return the backend fallback of a key."""
        return self._fallbacks.get(key)

    def lookup(self, full_name: str, key: DispatchKey) -> Row:
        """Return the row of a known operator for a runtime key."""
        entry = self._entries.get(full_name)
        if entry is None:
            raise RuntimeError(
                f"{full_name}: expected a registered operator, got an unknown name;"
                " check the spelling, or define it with Library.define"
            )
        return entry.row(key)

    def bump(self) -> None:
        """Advance the version for a change that tables do not show, such as a forced fallback."""
        with self._lock:
            self._changed()

    def _undefine(self, entry: OperatorEntry) -> None:
        with self._lock:
            entry.schema_text = None
            entry.where = None
            self._changed()

    def _unregister(self, entry: OperatorEntry, key: DispatchKey, kernel: Kernel) -> None:
        with self._lock:
            entry.remove(key, kernel)
            self._changed()

    def _unregister_fallback(self, key: DispatchKey) -> None:
        with self._lock:
            del self._fallbacks[key]
            self._fallback_changed(key)

    def _fallback_changed(self, key: DispatchKey) -> None:
        for entry in self._entries.values():
            entry.forget_row(key)
        self._changed()


def location_of_caller(depth: int = 1) -> str:
    """Return "file:line" of a caller: 1 is the line that called the function that asks."""
    frame = sys._getframe(depth + 1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


registry = OperatorRegistry()
