"""Enters: an operator's name and what to add to it. Leaves: kernels, shape rules and gradients.

Invariant: each function registers through a `Library`, the given one or the module's own of that
namespace, so that everything can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.autograd.function import Function
from thunk.dispatch.call import redispatch
from thunk.dispatch.infer import specs_in
from thunk.dispatch.keys import AUTOGRAD_KEYS, KeySet
from thunk.ir.opdef import OpDef
from thunk.library.library import Library
from thunk.ops.registry import find_op
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import new_tensor
from thunk.types.device import META
from thunk.types.spec import TensorSpec

_KEY_OF_DEVICE = {"cpu": "CPU", "lazy": "Lazy", "meta": "Meta", "xla": "XLA",
                  "privateuseone": "PrivateUse1", "cuda": "PrivateUse1"}  # fmt: skip
_fragments: dict[str, Library] = {}


def _library_for(name: str, lib: Library | None) -> Library:
    if lib is not None:
        return lib
    namespace = name.partition("::")[0]
    if "::" not in name:
        raise ValueError(f"expected a name of the form 'namespace::name', got {name!r}")
    if namespace not in _fragments:
        _fragments[namespace] = Library(namespace, "FRAGMENT")
    return _fragments[namespace]


def _name_of(op: Any) -> str:
    name: str = op if isinstance(op, str) else op.name() if callable(op.name) else op._qualname
    return name.removesuffix(".default")


def find_defined(name: str) -> OpDef:
    """The operator called `name`; it must exist."""
    op = find_op(name)
    if op is None:
        raise RuntimeError(f"operator {name} does not exist; define it first")
    return op


def define(
    qualname: Any, schema: str, alias_analysis: str = "", *, lib: Library | None = None,
    tags: Any = (),
) -> Any:  # fmt: skip
    """Define `namespace::name` with a schema that starts at its parenthesis.

    With a library first, a decorator that defines `schema` there, with the function as its kernel.
    """
    if isinstance(qualname, Library):
        library = qualname

        def defined(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(library.define(schema, alias_analysis, tags=tags), function)
            return function

        return defined
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be a str, got {qualname}")
    library = _library_for(qualname, lib)
    library.define(qualname.partition("::")[2] + schema, tags=tags)
    return None


def impl(
    qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None
) -> Any:
    """Register a kernel for device types, or "default" for all of them; also a decorator.

    With a library first, a decorator that registers for a name and a dispatch key there.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func or ""

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(types, function, key)
            return function

        return registered
    return register_kernel(qualname, None if types == "default" else types, func, lib=lib)


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, *,
    lib: Library | None = None,
) -> Any:  # fmt: skip
    """Register a kernel for device types (None: every device); also a decorator."""
    name = _name_of(op)
    types = [device_types] if isinstance(device_types, str) else device_types

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library = _library_for(name, lib)
        keys = ["CompositeExplicitAutograd"] if types is None else [_key(each) for each in types]
        for key in dict.fromkeys(keys):
            library.impl(name, function, key)
        return function

    return register if func is None else register(func)


def _key(device_type: str) -> str:
    if device_type not in _KEY_OF_DEVICE:
        raise RuntimeError(
            f"register_kernel: expected a device type of {', '.join(_KEY_OF_DEVICE)}, got "
            f"{device_type!r}"
        )
    return _KEY_OF_DEVICE[device_type]


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None
) -> Any:
    """Register what the operator does to tensors without values: its shape rule; a decorator."""
    name = _name_of(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        declared = find_defined(name)
        split = len(declared.schema.positional)
        names = [each.name for each in declared.schema.arguments[split:]]

        def spec(*args: Any) -> Any:
            values = [_without_values(each) for each in args]
            named = dict(zip(names, values[split:], strict=True))
            return specs_in(function(*values[:split], **named))

        declared.spec = spec
        # A kernel for every device would be given tensors without values otherwise.
        _library_for(name, lib).impl(name, function, "Meta", allow_override=True)
        return function

    return register if func is None else register(func)


def _without_values(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        located = TensorSpec(value.shape, value.dtype, value.strides, value.offset, META)
        return new_tensor(Storage(None), located)
    if isinstance(value, tuple) and any(isinstance(each, TensorSpec) for each in value):
        return [_without_values(each) for each in value]
    return value


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Register the gradient: `backward(ctx, *grads)`, with `setup_context(ctx, inputs, output)`."""
    name = _name_of(op)
    declared = find_defined(name)
    if any(each.is_written for each in declared.schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {name} with schema "
            f"{declared.schema}. Please create a functional operator and register an autograd "
            "formula for that."
        )
    kernel = _autograd_kernel(declared, backward, setup_context)
    _library_for(name, lib).impl(name, kernel, "Autograd", with_keyset=True, allow_override=True)


def _autograd_kernel(
    op: OpDef, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> Callable[..., Any]:
    split = len(op.schema.positional)
    names = [each.name for each in op.schema.arguments[split:]]

    def forward(ctx: Any, keys: KeySet, *args: Any) -> Any:
        result = redispatch(op, keys, args)
        if setup_context is not None:
            if names:
                keyword_inputs = dict(zip(names, args[split:], strict=True))
                setup_context(ctx=ctx, inputs=args[:split], keyword_only_inputs=keyword_inputs,
                              output=result)  # fmt: skip
            else:
                setup_context(ctx=ctx, inputs=args, output=result)
        return result

    def run_backward(ctx: Any, *grads: Any) -> Any:
        found = backward(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        return (None, *found, *[None] * (len(op.schema.arguments) - len(found)))

    body = {"forward": staticmethod(forward), "backward": staticmethod(run_backward)}
    function: Any = type(f"Generated{op.name.capitalize()}", (Function,), body)

    def kernel(keys: KeySet, *args: Any) -> Any:
        return function.apply(keys - AUTOGRAD_KEYS, *args)

    return kernel


__all__ = ["define", "find_defined", "impl", "register_autograd", "register_fake",
           "register_kernel"]  # fmt: skip
