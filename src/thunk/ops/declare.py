"""Enters: the facts of one operator. Leaves: its `OpDef` and those of its in-place variant.

Invariant: nothing about an operator is stated twice; whoever derives something from declarations
(kernels, methods, docs, tests) subscribes and hears of every operator, past and future.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from thunk.dispatch.call import call
from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.registry import RegistrationHandle, registry
from thunk.ir.opdef import Formula, GradientRule, MissingGradient, NoGradient, OpDef, gradients
from thunk.ir.schema import Schema, parse
from thunk.ops.registry import add_op, all_ops, find_packet, remove_op

Subscriber = Callable[[OpDef], None]
_subscribers: list[Subscriber] = []

_NOT_READS = frozenset({"grad", "grads", "result", "results", "needed"})


def subscribe(subscriber: Subscriber) -> None:
    """Call `subscriber` for every operator declared so far and from now on."""
    _subscribers.append(subscriber)
    for op in all_ops():
        subscriber(op)


def declare(
    schema: str,
    *,
    doc: str,
    spec: Callable[..., Any] | None = None,
    vjp: Mapping[Any, Formula] | NoGradient | MissingGradient | None = None,
    decompose: Callable[..., Any] | None = None,
    variants: str = "function method",
    module: str = "",
    numbers: str = "",
    static: str = "",
    view: bool = False,
    random: bool = False,
    raises_on_data: str = "",
    dynamic_shape: bool = False,
    autocast: str = "",
    constants: str = "",
) -> OpDef:
    """Declare one operator overload.

    `variants` lists what users call: "function", "method", "inplace", "out", "property", and
    "variadic" where a function takes its list of tensors in a row too. Beside "out", "exact"
    refuses an `out` tensor of another dtype than the result's, "apart" one that shares memory with
    an input, "typed" (with TypeError) one that the result cannot be cast to; beside "inplace",
    "idempotent" allows a target that repeats elements. `module` is the public home of the function
    ("nn", "linalg", "fft", "special"; "" for the top level).
    `numbers` names tensor arguments that also take Python numbers; `static` names scalars whose
    value changes the graph; `raises_on_data` names arguments whose values decide whether a call
    fails; `constants` lists positions of results that pass no gradient on
    ("1 2"). An operator with `decompose` and no `vjp` is composite: autograd
    differentiates its parts.
    """
    parsed = parse(schema)
    op = OpDef(
        schema=parsed,
        doc=doc,
        spec=spec,
        gradient=_gradient_rule(parsed, vjp, decompose),
        decompose=decompose,
        view=view,
        random=random,
        raises_on_data=frozenset(raises_on_data.split()),
        dynamic_shape=dynamic_shape,
        numbers=frozenset(numbers.split()),
        static=frozenset(static.split()),
        variants=frozenset(variants.split()),
        module=module,
        autocast=autocast,
        constants=frozenset(int(each) for each in constants.split()),
        where=_caller(),
    )
    op.saved = _saved_arguments(op)
    _publish(op)
    if "inplace" in op.variants:
        _publish(derive_inplace(op))
    if "out" in op.variants:
        _publish(derive_out(op))
    return op


def composite(schema: str, **facts: Any) -> Callable[[Callable[..., Any]], OpDef]:
    """Decorator form of `declare` for operators made of others; the docstring is the doc."""

    def decorate(function: Callable[..., Any]) -> OpDef:
        doc = facts.pop("doc", None) or (function.__doc__ or "").strip()
        return declare(schema, doc=doc, decompose=function, **facts)

    return decorate


def alias(
    name: str,
    of: str,
    *,
    module: str | None = None,
    variants: str | None = None,
    overload: str | None = None,
) -> None:
    """Declare `name` as another name of `of`: of every overload, or of one.

    `module` and `variants` are those of the original unless given.
    """
    packet = find_packet(of)
    if packet is None:
        raise ValueError(f"alias {name}: expected a declared operator, got {of!r}")
    for op in list(packet.overloads):
        if op.functional is not None or overload not in (None, op.schema.overload):
            continue
        forms = op.variants if variants is None else frozenset(variants.split())
        other = replace(
            op,
            schema=replace(op.schema, name=name),
            doc=f"Another name of `{of}`.",
            gradient=None,
            decompose=_forward_to(op),
            view=False,
            variants=forms,
            module=op.module if module is None else module,
            where=_caller(),
        )
        _publish(other)
        if "inplace" in forms:
            _publish(replace(derive_inplace(other), functional=op))
        if "out" in forms:
            _publish(replace(derive_out(other), functional=op))


def _forward_to(op: OpDef) -> Callable[..., Any]:
    def forward(*args: Any, **named: Any) -> Any:
        return call(op, (*args, *named.values()))

    return forward


def publish(op: OpDef) -> list[RegistrationHandle]:
    """Enter an operator that user code defined; the handles take its kernels back."""
    with registry.recording() as handles:
        _publish(op)
    return handles


def unpublish(op: OpDef, handles: list[RegistrationHandle]) -> None:
    """Undo `publish`."""
    for handle in reversed(handles):
        handle.remove()
    remove_op(op)


def derive_inplace(op: OpDef) -> OpDef:
    """The variant that writes its result into the first argument."""
    return OpDef(
        schema=op.schema.with_inplace(),
        doc=f"In-place form of `{op.name}`.",
        spec=op.spec,
        numbers=op.numbers,
        static=op.static,
        random=op.random,
        variants=frozenset({"method", "function"} if "function" in op.variants else {"method"}),
        module=op.module,
        functional=op,
        where=op.where,
    )


def derive_out(op: OpDef) -> OpDef:
    """The variant that writes its results into tensors the caller gives."""
    return OpDef(
        schema=op.schema.with_out(),
        doc=op.doc,
        spec=op.spec,
        numbers=op.numbers,
        static=op.static,
        random=op.random,
        variants=frozenset({"function"}),
        module=op.module,
        functional=op,
        where=op.where,
    )


def _publish(op: OpDef) -> None:
    add_op(op)
    registry.define(op.full_name, str(op.schema), where=op.where)
    if op.decompose is not None:
        key = (
            DispatchKey.CompositeImplicitAutograd
            if op.is_composite
            else DispatchKey.CompositeExplicitAutograd
        )
        registry.register(op.full_name, key, op.decompose, where=op.where)
    for subscriber in _subscribers:
        subscriber(op)


def _gradient_rule(
    schema: Schema, vjp: Any, decompose: Callable[..., Any] | None
) -> GradientRule | None:
    if isinstance(vjp, (NoGradient, MissingGradient)):
        return vjp
    if vjp is None:
        if decompose is None:
            raise ValueError(
                f"{schema.full_name}: expected vjp= with formulas or a stated reason, got none; "
                "use NoGradient(reason) or MissingGradient(reason)"
            )
        return None
    return gradients(vjp)


def _saved_arguments(op: OpDef) -> frozenset[str]:
    """Argument names that a formula reads; rejects a name that means nothing."""
    if not isinstance(op.gradient, tuple):
        return frozenset()
    names = {argument.name for argument in op.schema.arguments}
    saved: set[str] = set()
    for rule in op.gradient:
        for name in (*rule.inputs, *rule.reads):
            known = name in names or name in _NOT_READS or name.removesuffix("_spec") in names
            if not known and name.rstrip("0123456789") not in ("result", "grad", "result_spec"):
                raise ValueError(
                    f"{op.full_name}: expected formula parameters among {sorted(names)}, "
                    f"result(s), grad(s), needed or <argument>_spec, got {name!r}"
                )
        saved.update(name for name in rule.reads if name in names)
    return frozenset(saved)


def _caller() -> str:
    """File and line of the declaration, past the helpers of this package that wrap `declare`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
