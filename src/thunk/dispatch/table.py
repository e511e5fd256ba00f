"""One operator's dispatch table: which kernel serves each runtime key, and why.

Enters: kernels registered to runtime or alias keys, and the shared backend fallbacks.
Leaves: a `Row` per runtime key. Invariant: a row is always what the present registrations give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from thunk.dispatch.kernel import Kernel, KernelKind
from thunk.dispatch.keys import (
    AUTOGRAD_KEYS,
    RUNTIME_KEY_COUNT,
    DispatchKey,
    KeySet,
    autograd_key_of,
    backends_of,
    backends_of_autograd_key,
    is_alias,
    runtime_keys,
)


class Rule(Enum):
    """The precedence rule that filled a slot; the value is PyTorch's short name for it."""

    DIRECT = "kernel"
    EXPLICIT_COMPOSITE = "default backend kernel"
    IMPLICIT_COMPOSITE = "math kernel"
    AUTOGRAD_ALIAS = "autograd kernel"
    FALLBACK = "backend fallback"
    AMBIGUOUS = "ambiguous autogradother"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Row:
    """The answer for one runtime key: the kernel, the key it was registered to, and the reason."""

    key: DispatchKey
    kernel: Kernel
    source_key: DispatchKey | None
    rule: Rule
    reason: str

    @property
    def function(self) -> Callable[..., Any]:
        """Return what to call; for a missing or ambiguous slot, it raises the stated error."""
        return self.kernel.function

    @property
    def is_fallthrough(self) -> bool:
        return self.kernel.kind is KernelKind.FALLTHROUGH

    @property
    def is_fallback(self) -> bool:
        return self.rule is Rule.FALLBACK

    @property
    def is_missing(self) -> bool:
        return self.rule is Rule.MISSING

    @property
    def is_ambiguous(self) -> bool:
        return self.rule is Rule.AMBIGUOUS


# Looking a member up on its Enum class is slow enough to count in thousands of registrations.
_UNDEFINED = DispatchKey.Undefined
_IMPLICIT = DispatchKey.CompositeImplicitAutograd

Fallbacks = Mapping[DispatchKey, Kernel]
_NO_FALLBACKS: Fallbacks = {}

# Shared by the entries that no call has reached yet, which makes registering to them cheap.
_NO_ROWS: list[Row | None] = [None] * RUNTIME_KEY_COUNT


class OperatorEntry:
    """The registrations of one operator and the table that follows from them.

    Rows are computed when first asked for. A change replaces the row list *after* the registrations
    changed, so a reader on another thread can store a stale row only in the list being discarded.
    """

    __slots__ = ("_fallbacks", "_kernels", "_resolved", "_rows", "name", "schema_text", "where")

    def __init__(
        self,
        name: str,
        schema_text: str | None = None,
        fallbacks: Fallbacks = _NO_FALLBACKS,
        where: str | None = None,
    ) -> None:
        self.name = name
        self.schema_text = schema_text
        self.where = where
        self._fallbacks = fallbacks
        self._kernels: dict[DispatchKey, list[Kernel]] = {}
        self._rows = _NO_ROWS
        self._resolved: dict[KeySet, Row] = {}

    def add(self, key: DispatchKey, kernel: Kernel) -> None:
        """Register a kernel; it shadows an earlier one of the same key until it is removed."""
        key = registration_key(key)
        registered = self._kernels.get(key)
        if registered is None:
            self._kernels[key] = [kernel]
        else:
            registered.insert(0, kernel)
        if self._rows is not _NO_ROWS:
            self._forget(affected_keys(key))

    def remove(self, key: DispatchKey, kernel: Kernel) -> None:
        """Take a registration back; the one that it shadowed, if any, serves again."""
        key = registration_key(key)
        registered = self._kernels.get(key, [])
        if kernel not in registered:
            raise RuntimeError(
                f"{self.name}: expected {kernel!r} among the kernels of {key.name},"
                f" got {registered!r}; a registration can be removed once"
            )
        registered.remove(kernel)
        if not registered:
            del self._kernels[key]
        self._forget(affected_keys(key))

    def forget_row(self, key: DispatchKey) -> None:
        """Forget the row of one runtime key, whose backend fallback changed."""
        self._forget((key,))

    def _forget(self, keys: tuple[DispatchKey, ...]) -> None:
        if self._rows is _NO_ROWS:
            return
        rows = self._rows.copy()
        for key in keys:
            rows[key] = None
        self._rows = rows
        self._resolved = {}

    def kernels(self, key: DispatchKey) -> tuple[Kernel, ...]:
        """Return the kernels registered to exactly this key, newest (the active one) first."""
        return tuple(self._kernels.get(key, ()))

    def kernel_for(self, key: DispatchKey) -> Kernel | None:
        """Return the active kernel registered to exactly this key."""
        registered = self._kernels.get(key)
        # A removal on another thread may empty the list between the two reads.
        return next(iter(registered), None) if registered else None

    def registered_keys(self) -> tuple[DispatchKey, ...]:
        """Return the keys that have a registration, in the order of the keys."""
        return tuple(sorted(self._kernels))

    def fallback_for(self, key: DispatchKey) -> Kernel | None:
        """Return the backend fallback of this key, shared by all operators."""
        return self._fallbacks.get(key)

    def has_kernel_for_any(self, keys: KeySet) -> bool:
        return any(key in self._kernels for key in keys)

    def row(self, key: DispatchKey) -> Row:
        """Return the row of a runtime key."""
        rows = self._rows
        row = rows[key]
        if row is None:
            if rows is _NO_ROWS:
                # Published before the row is computed, so that a change in between discards it.
                rows = self._rows = _NO_ROWS.copy()
            row = compute_row(self, key)
            rows[key] = row
        return row

    def rows(self) -> tuple[Row, ...]:
        """Return the whole table, lowest priority first."""
        return tuple(self.row(key) for key in runtime_keys())

    def walk(self, key_set: KeySet) -> tuple[Row, ...]:
        """Return the rows that a call meets: fallthrough rows, then the one that serves it."""
        visited = []
        for key in key_set:
            row = self.row(key)
            visited.append(row)
            if not row.is_fallthrough:
                return tuple(visited)
        visited.append(self.row(DispatchKey.Undefined))
        return tuple(visited)

    def resolve(self, key_set: KeySet) -> Row:
        """Return the row that serves a call with these keys (one dictionary hit when warm)."""
        resolved = self._resolved
        row = resolved.get(key_set)
        if row is None:
            row = self.walk(key_set)[-1]
            resolved[key_set] = row
        return row

    def __repr__(self) -> str:
        keys = ", ".join(key.name for key in self.registered_keys())
        return f"OperatorEntry({self.name}: {keys or 'no kernels'})"


def registration_key(key: DispatchKey) -> DispatchKey:
    """Return the key that a registration lands on: `Undefined` means every key, as in PyTorch."""
    return _IMPLICIT if key is _UNDEFINED else key


def _compute_affected(key: DispatchKey) -> tuple[DispatchKey, ...]:
    if key is DispatchKey.CompositeExplicitAutograd:
        # Autograd rows too: it counts as a backend kernel, which switches the implicit composite.
        covered = backends_of(DispatchKey.CompositeImplicitAutograd)
    elif is_alias(key):
        covered = backends_of(key)
    else:
        covered = KeySet((key, autograd_key_of(key)))
    return (DispatchKey.Undefined, *covered)


_AFFECTED_KEYS = {key: _compute_affected(key) for key in DispatchKey}


def affected_keys(key: DispatchKey) -> tuple[DispatchKey, ...]:
    """Return the runtime keys whose rows a registration at `key` can change."""
    return _AFFECTED_KEYS[key]


def compute_row(entry: OperatorEntry, key: DispatchKey) -> Row:
    """Apply the precedence rules: direct kernel, aliases, backend fallback, missing."""
    direct = entry.kernel_for(key)
    if direct is not None:
        reason = f"kernel registered to {key.name}"
        return Row(key, direct, key, Rule.DIRECT, _with_fallthrough(direct, reason))
    row = (
        _explicit_composite_row(entry, key)
        or _implicit_composite_row(entry, key)
        or _autograd_alias_row(entry, key)
    )
    if row is not None:
        return row
    fallback = entry.fallback_for(key)
    if fallback is not None:
        reason = f"backend fallback of {key.name}, because the operator has no kernel for it"
        return Row(key, fallback, key, Rule.FALLBACK, _with_fallthrough(fallback, reason))
    return _missing_row(entry, key)


def _covers(alias: DispatchKey, key: DispatchKey) -> bool:
    return key in backends_of(alias)


def _with_fallthrough(kernel: Kernel, reason: str) -> str:
    if kernel.kind is KernelKind.FALLTHROUGH:
        return f"{reason}: falls through to the next key"
    return reason


def _nothing_closer(key: DispatchKey) -> str:
    if key is DispatchKey.Undefined:
        return "no tensor argument names a backend"
    return f"{key.name} has no kernel of its own"


def _alias_row(key: DispatchKey, kernel: Kernel, alias: DispatchKey, rule: Rule, why: str) -> Row:
    return Row(key, kernel, alias, rule, _with_fallthrough(kernel, f"{alias.name} {why}"))


def _explicit_composite_row(entry: OperatorEntry, key: DispatchKey) -> Row | None:
    for alias in (
        DispatchKey.CompositeExplicitAutogradNonFunctional,
        DispatchKey.CompositeExplicitAutograd,
    ):
        if key is DispatchKey.Undefined or _covers(alias, key):
            kernel = entry.kernel_for(alias)
            if kernel is not None:
                why = f"kernel for backends, because {_nothing_closer(key)}"
                return _alias_row(key, kernel, alias, Rule.EXPLICIT_COMPOSITE, why)
    return None


def _implicit_composite_row(entry: OperatorEntry, key: DispatchKey) -> Row | None:
    alias = DispatchKey.CompositeImplicitAutograd
    if key is not DispatchKey.Undefined and not _covers(alias, key):
        return None
    kernel = entry.kernel_for(alias)
    if kernel is None:
        return None
    backends = backends_of_autograd_key(key)
    with_kernel = [backend.name for backend in backends if entry.kernel_for(backend) is not None]
    if key is DispatchKey.AutogradOther and with_kernel:
        return _ambiguous_row(entry, with_kernel)
    # A composite differentiates through the ops it calls; once a backend has a kernel of its own
    # that is no longer what runs, so its autograd key must not take the composite.
    if with_kernel or entry.kernel_for(DispatchKey.CompositeExplicitAutograd) is not None:
        return None
    if backends:
        names = " or ".join(backend.name for backend in backends)
        why = f"(math) kernel, because neither {key.name} nor {names} has a kernel of its own"
    else:
        why = f"(math) kernel, because {_nothing_closer(key)}"
    return _alias_row(key, kernel, alias, Rule.IMPLICIT_COMPOSITE, why)


def _autograd_alias_row(entry: OperatorEntry, key: DispatchKey) -> Row | None:
    if key not in AUTOGRAD_KEYS:
        return None
    kernel = entry.kernel_for(DispatchKey.Autograd)
    if kernel is None:
        return None
    why = f"kernel, because {_nothing_closer(key)}"
    return _alias_row(key, kernel, DispatchKey.Autograd, Rule.AUTOGRAD_ALIAS, why)


def _ambiguous_row(entry: OperatorEntry, backends: list[str]) -> Row:
    reason = (
        "ambiguous: kernels for both CompositeImplicitAutograd and"
        f" {', '.join(backends)}, which share AutogradOther"
    )
    message = (
        f"{entry.name}: expected one kernel for AutogradOther, got {reason};"
        " register a kernel to AutogradOther itself"
    )

    def raise_ambiguous(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(message)

    kernel = Kernel(raise_ambiguous, where="", kind=KernelKind.AMBIGUOUS)
    return Row(DispatchKey.AutogradOther, kernel, None, Rule.AMBIGUOUS, reason)


def _missing_row(entry: OperatorEntry, key: DispatchKey) -> Row:
    def raise_missing(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(missing_message(entry, key))

    kernel = Kernel(raise_missing, where="", kind=KernelKind.MISSING)
    reason = f"missing: no kernel, alias or fallback serves {key.name}"
    return Row(key, kernel, None, Rule.MISSING, reason)


def missing_message(entry: OperatorEntry, key: DispatchKey) -> str:
    """Say what a call to an operator without a kernel for its key should be told."""
    keys = ", ".join(known.name for known in entry.registered_keys()) or "none"
    if key is DispatchKey.Undefined:
        return (
            f"{entry.name}: expected a tensor argument to choose the backend by, got none"
            f" (kernels: {keys}); pass at least one tensor"
        )
    return (
        f"{entry.name}: expected a kernel for the {key.name} dispatch key, got none"
        f" (kernels: {keys}); move the tensors to a device that has one, or register one"
        f' with Library.impl(..., "{key.name}")'
    )
