"""Experiments with dispatch: register to some keys, read the table that follows.

Enters: names of dispatch keys. Leaves: the registrations and the computed table, as text.
Invariant: an experiment has a registry of its own; nothing it does reaches real operators.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from thunk.dispatch.kernel import FALLTHROUGH, Kernel
from thunk.dispatch.keys import AUTOGRAD_KEYS, BACKENDS, DispatchKey, KeySet, is_alias, parse_key
from thunk.dispatch.registry import OperatorRegistry, location_of_caller
from thunk.dispatch.table import OperatorEntry, Row

_RULER = "-" * 27
_SHARED_KEYS = KeySet((DispatchKey.FPGA, DispatchKey.AutogradOther))
_PER_BACKEND_KEYS = (BACKENDS | AUTOGRAD_KEYS) - _SHARED_KEYS


class PythonDispatcher:
    """One operator, `__test__::foo`, with generated kernels (`fn_CPU` for CPU, and so on).

    The keys are one example of each use:

    - CPU with AutogradCPU: a backend with kernels and gradients of its own, both in the tree.
    - FPGA with AutogradOther: a backend with kernels only; such backends share one autograd key.
    - XLA and Lazy with their autograd keys: backends whose owners register both.
    - CompositeExplicitAutograd: kernels that serve every backend, without gradients.
    - Autograd: gradients that serve every backend.
    - CompositeImplicitAutograd: kernels made of differentiable operators, so they serve both.

    >>> dispatcher = PythonDispatcher()
    >>> dispatcher.register(["CPU", "XLA", "CompositeImplicitAutograd"])
    >>> print(dispatcher.dispatchTable())
    """

    namespace = "__test__"
    name = "foo"
    # fmt: off
    runtime_keys = [  # noqa: RUF012  (a plain list, as PyTorch's error messages show it)
        "CPU", "AutogradCPU",
        "FPGA", "AutogradOther",
        "XLA", "AutogradXLA",
        "Lazy", "AutogradLazy",
    ]
    # fmt: on
    alias_keys = [  # noqa: RUF012
        "CompositeExplicitAutograd",
        "Autograd",
        "CompositeImplicitAutograd",
    ]
    supported_keys = runtime_keys + alias_keys

    def __init__(self) -> None:
        self._registry = OperatorRegistry()
        _register_fallbacks(self._registry)
        full_name = f"{self.namespace}::{self.name}"
        schema_text = f"{full_name}(Tensor x) -> Tensor"
        self._registry.define(full_name, schema_text, where=location_of_caller())
        self._entry = self._registry.entry(full_name)

    def keys(self) -> list[str]:
        """Return the names of the keys that kernels can be registered to."""
        return self.supported_keys

    def register(self, dispatchKeys: Collection[str]) -> None:
        """Register a generated kernel to each key; keys before an unknown one stay registered.

        The errors hold the words that scripts written for PyTorch look for in them.
        """
        if len(set(dispatchKeys)) != len(dispatchKeys):
            raise RuntimeError(
                "register: Overridden is not allowed; expected each key once,"
                f" got {dispatchKeys}; remove the duplicates"
            )
        composites = {"CompositeImplicitAutograd", "CompositeExplicitAutograd"}
        if composites.issubset(dispatchKeys):
            raise RuntimeError(
                "register: Registration to both CompositeImplicitAutograd and"
                " CompositeExplicitAutograd is not allowed; expected one of them, got both;"
                " keep the implicit one if the kernel calls differentiable operators"
            )
        where = location_of_caller()
        for name in dispatchKeys:
            if name not in self.supported_keys:
                raise RuntimeError(
                    f"register: {name} is not supported; expected keys among"
                    f" {self.supported_keys}, got {name!r}; choose one of those"
                )
            self._registry.register(
                self._entry.name, parse_key(name), _generated_kernel(name), where=where
            )

    def rawRegistrations(self) -> str:
        """Return every registration with the line that made it."""
        return registrations_dump(self._entry)

    def rawDispatchTable(self) -> str:
        """Return the table over all of Thunk's runtime keys, with the line of each kernel."""
        return table_dump(self._entry)

    def registrations(self) -> str:
        """Return the registered keys, runtime and alias, with their kernels."""
        lines = _heading("Registered Kernels")
        for label, kernel in _registered(self._entry):
            lines.append(_line(label, kernel.name))
        return "\n".join(lines) + "\n"

    def dispatchTable(self) -> str:
        """Return the computed table: the aliases are resolved to the runtime keys they serve."""
        lines = _heading("Computed Dispatch Table")
        for row in _filled_rows(self._entry):
            if row.key.name in self.runtime_keys:
                lines.append(_line(row.key.name, _simple_answer(row)))
        return "\n".join(lines) + "\n"


def registrations_dump(entry: OperatorEntry) -> str:
    """Return an operator's schema and all its kernels, shadowed ones marked inactive."""
    arguments = (entry.schema_text or "").removeprefix(entry.name)
    lines = [
        f"name: {entry.name}",
        f"schema: {entry.schema_text or '(none)'}",
        f"debug: registered at {entry.where or 'unknown'}",
        "alias analysis kind: FROM_SCHEMA",
    ]
    for label, kernel in _registered(entry):
        convention = "boxed" if kernel.boxed else "unboxed"
        lines.append(
            f"{label}: {kernel.name} registered at {kernel.where} :: {arguments} [ {convention} ]"
        )
    return "\n".join(lines) + "\n"


def table_dump(entry: OperatorEntry) -> str:
    """Return an operator's table, one line a runtime key; keys without a kernel are left out."""
    return "".join(f"{row.key.name}: {_full_answer(row)}\n" for row in _filled_rows(entry))


def _registered(entry: OperatorEntry) -> list[tuple[str, Kernel]]:
    labelled = []
    for key in sorted(entry.registered_keys(), key=_listing_position):
        label = f"{key.name}[alias]" if is_alias(key) else key.name
        for position, kernel in enumerate(entry.kernels(key)):
            labelled.append((f"{label} (inactive)" if position else label, kernel))
    return labelled


def _listing_position(key: DispatchKey) -> tuple[int, DispatchKey]:
    """Order registrations as PyTorch lists them: shared keys, per-backend keys, aliases."""
    if is_alias(key):
        return 2, key
    return int(key in _PER_BACKEND_KEYS), key


def _filled_rows(entry: OperatorEntry) -> list[Row]:
    return [row for row in entry.rows() if not row.is_missing]


def _simple_answer(row: Row) -> str:
    if row.is_ambiguous:
        return f"ambiguous_autogradother [{row.rule.value}]"
    if not row.is_fallback or row.is_fallthrough:
        return f"{row.kernel.name} [{row.rule.value}]"
    return f"[{row.rule.value}]"


def _full_answer(row: Row) -> str:
    if row.is_ambiguous:
        return _simple_answer(row)
    origin = f"registered at {row.kernel.where} [{row.rule.value}]"
    if not row.is_fallback or row.is_fallthrough:
        return f"{row.kernel.name} {origin}"
    return origin


def _heading(title: str) -> list[str]:
    return ["", title, _line("key", "kernel"), _RULER]


def _line(key: str, kernel: str) -> str:
    return f"{key:<15} {kernel}"


def _generated_kernel(key_name: str) -> Callable[..., Any]:
    def kernel(x: Any) -> Any:
        return x

    kernel.__name__ = f"fn_{key_name}"
    return kernel


def _example_fallback(*args: Any, **kwargs: Any) -> Any:
    """Stand for the fallbacks that real layers register; experiments compute tables only."""
    raise NotImplementedError(
        "PythonDispatcher: expected its tables to be read, got a call; its kernels are examples"
    )


def _register_fallbacks(registry: OperatorRegistry) -> None:
    """Give an experiment the fallbacks that every operator has."""
    for key in (DispatchKey.BackendSelect, DispatchKey.AutocastCPU):
        registry.register_fallback(key, FALLTHROUGH)
    registry.register_fallback(DispatchKey.Meta, _example_fallback)
    registry.register_fallback(DispatchKey.Python, _example_fallback)
    for key in AUTOGRAD_KEYS:
        registry.register_fallback(key, _example_fallback)
