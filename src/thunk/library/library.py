"""Enters: definitions and kernels from user code. Leaves: operators like the declared ones.

Invariant: everything a library registered disappears with it, in the reverse order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from thunk.dispatch.call import tensors_in
from thunk.dispatch.kernel import FALLTHROUGH, definition_of
from thunk.dispatch.keys import DispatchKey, parse_key
from thunk.dispatch.registry import RegistrationHandle, location_of_caller, registry
from thunk.ir.opdef import MissingGradient, OpDef
from thunk.ir.schema import parse
from thunk.ops.declare import publish, unpublish
from thunk.ops.registry import find_op

fallthrough_kernel = FALLTHROUGH
_KINDS = ("DEF", "IMPL", "FRAGMENT")
_owners: dict[str, Library] = {}

_NO_FORMULA = (
    "no gradient formula is registered; call thunk.library.register_autograd, or register a "
    "kernel for CompositeImplicitAutograd"
)


class Library:
    """Operators (`DEF`, `FRAGMENT`) and kernels (all kinds) of one namespace."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported library kind: {kind}; expected one of {_KINDS}")
        if ns in ("prim", "prims") and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace; choose another one")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._handles: list[RegistrationHandle] = []
        self._ops: list[tuple[OpDef, list[RegistrationHandle]]] = []
        self._keys: set[tuple[str, DispatchKey]] = set()
        if kind == "DEF":
            owner = _owners.get(ns)
            if owner is not None:
                raise RuntimeError(
                    f"Only a single library can be used to register the namespace {ns}; please put "
                    "all of your definitions in one DEF library, or use kind 'FRAGMENT'"
                )
            _owners[ns] = self

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by its schema; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError(
                f"define: expected a DEF or FRAGMENT library, got an IMPL library of {self.ns}; "
                "kind IMPL registers kernels of operators that others define"
            )
        parsed = parse(schema if "::" in schema.partition("(")[0] else f"{self.ns}::{schema}")
        if parsed.namespace != self.ns:
            raise RuntimeError(
                f"define: expected an operator of namespace {self.ns}, got {parsed.namespace}"
            )
        op = OpDef(
            schema=parsed,
            doc=f"Defined by a library of namespace {self.ns}.",
            gradient=MissingGradient(_NO_FORMULA),
            where=location_of_caller(),
        )
        self._ops.append((op, publish(op)))
        name: str = parsed.name if not parsed.overload else f"{parsed.name}.{parsed.overload}"
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *,
        with_keyset: bool = False, allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel of an operator for a dispatch key."""
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        key = parse_key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        name = self._full_name(op_name)
        if (name, key) in self._keys and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python "
                f"overriding {name.rpartition('::')[2]}'s behavior for {key.name} dispatch key and "
                f"{self.ns} namespace."
            )
        entry = registry.find(name)
        shadows = entry is not None and key in entry.registered_keys()
        if shadows and find_op(name) is not None and not allow_override:
            warnings.warn(
                f"Warning only once for all operators, other operators may also be overridden. "
                f"Overriding a previously registered kernel for the same operator and the same "
                f"dispatch key: {name}, {key.name}",
                UserWarning,
                stacklevel=2,
            )
        kernel, boxed = self._wrapped(name, fn, with_keyset)
        where = location_of_caller() if fn is FALLTHROUGH else definition_of(fn)
        self._handles.append(registry.register(name, key, kernel, where=where, boxed=boxed))
        self._keys.add((name, key))

    def _wrapped(
        self, name: str, fn: Callable[..., Any], with_keyset: bool
    ) -> tuple[Callable[..., Any], bool]:
        op = find_op(name)
        if fn is FALLTHROUGH:
            return fn, False
        if with_keyset:
            return (lambda op, keys, args: fn(keys, *args)), True
        if op is None or not any(each.is_written for each in op.schema.arguments):
            return fn, False
        written = [i for i, each in enumerate(op.schema.arguments) if each.is_written]
        return _counting_writes(fn, written, len(op.schema.positional)), True

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Serve a dispatch key for every operator without a kernel for it."""
        if self.ns != "_":
            raise RuntimeError(
                f"Fallback can only be registered using library fragment on the global namespace "
                f'"_" but it is {self.ns}'
            )
        key = parse_key(dispatch_key or self.dispatch_key)
        if fn is FALLTHROUGH:
            kernel = fn
        else:
            kernel = _fallback_kernel(fn, with_keyset)
        self._handles.append(registry.register_fallback(key, kernel, where=definition_of(fn)))

    def _full_name(self, op_name: Any) -> str:
        name = op_name.name() if hasattr(op_name, "name") and callable(op_name.name) else op_name
        if not isinstance(name, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument"
            )
        namespace, separator, base = name.rpartition("::")
        if separator and namespace != self.ns:
            raise RuntimeError(
                f"Trying to implement {name} in a library of namespace {self.ns}; expected the "
                "namespaces to agree"
            )
        return f"{self.ns}::{base.removesuffix('.default')}"

    def _destroy(self) -> None:
        """Take back everything this library registered."""
        for handle in reversed(self._handles):
            handle.remove()
        self._handles.clear()
        self._keys.clear()
        for op, handles in reversed(self._ops):
            unpublish(op, handles)
        self._ops.clear()
        if _owners.get(self.ns) is self:
            del _owners[self.ns]

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"


def _counting_writes(
    fn: Callable[..., Any], written: list[int], split: int
) -> Callable[..., Any]:
    """A boxed kernel that counts the writes of an operator that writes to its arguments."""

    def kernel(op: OpDef, keys: Any, args: tuple[Any, ...]) -> Any:
        names = [each.name for each in op.schema.arguments[split:]]
        targets = list(tensors_in([args[place] for place in written]))
        before = [each._versions.value for each in targets]
        result = fn(*args[:split], **dict(zip(names, args[split:], strict=True)))
        for target, version in zip(targets, before, strict=True):
            # A kernel that writes through the framework has counted already.
            if target._versions.value == version:
                target._versions.value += 1
        return result

    return kernel


def _fallback_kernel(fn: Callable[..., Any], with_keyset: bool) -> Callable[..., Any]:
    def kernel(op: OpDef, keys: Any, args: tuple[Any, ...]) -> Any:
        split = len(op.schema.positional)
        names = [each.name for each in op.schema.arguments[split:]]
        named = dict(zip(names, args[split:], strict=True))
        first = (keys,) if with_keyset else ()
        return fn(*first, op, *args[:split], **named)

    return kernel


__all__ = ["Library", "fallthrough_kernel"]
