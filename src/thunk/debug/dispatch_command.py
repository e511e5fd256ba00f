"""Enters: an operator's name and argument descriptions. Leaves: its table, or the way of one call.

Invariant: descriptions are parsed, never evaluated; the call is bound and keyed as a real one is.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from thunk.autograd.api import set_requires_grad
from thunk.dispatch.call import keys_of_call
from thunk.dispatch.explain import explain, matching_operators, table_text
from thunk.dispatch.state import state
from thunk.ir.binding import resolve
from thunk.ops.registry import find_op, find_packet
from thunk.runtime.tensors import empty_tensor
from thunk.types.device import device
from thunk.types.dtype import dtype_named
from thunk.types.spec import make_spec

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\d,\s]*)\](?P<grad>\+grad)?(@(?P<device>\w+))?"
)

SYNTAX = (
    "a tensor as dtype[sizes], such as float32[2,3], float32[2,3]+grad or float32[2,3]@meta; "
    "numbers, lists, strings and None as in Python; name=value for keywords"
)


def dispatch_text(name: str, descriptions: list[str]) -> str:
    """The table of operator `name`; with arguments, which kernel that call takes and why."""
    if not descriptions:
        return table_text(name)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in descriptions:
        keyword, equals, value = text.partition("=")
        if equals and keyword.isidentifier():
            kwargs[keyword] = parse_argument(value)
        else:
            args.append(parse_argument(text))
    op, bound = _bind(name, tuple(args), kwargs)
    return explain(op.full_name, keys_of_call(bound), state.include, state.exclude)


def parse_argument(text: str) -> Any:
    """The value that a description stands for; tensors are made without values."""
    match = _TENSOR.fullmatch(text.strip())
    if match is None:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(f"dispatch: expected {SYNTAX}; got {text!r}") from None
    sizes = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    where = device(match["device"] or "cpu")
    tensor = empty_tensor(make_spec(sizes, dtype_named(match["dtype"]), where))
    if match["grad"]:
        set_requires_grad(tensor, True)
    return tensor


def _bind(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    exact = find_op(name)
    if exact is not None:
        return resolve(exact.name, [exact], args, kwargs)
    namespace, _, base = name.rpartition("::")
    packet = find_packet(base, namespace or "aten")
    if packet is None:
        overloads = matching_operators(name)
        found = [find_op(entry.name) for entry in overloads]
        return resolve(name, [op for op in found if op is not None], args, kwargs)
    return resolve(packet.name, packet.overloads, args, kwargs)
