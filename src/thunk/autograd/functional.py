"""Enters: a function and its inputs. Leaves: Jacobians, Hessians and their products with vectors.

Invariant: everything is built of `grad`; forward-mode products differentiate the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.autograd.api import grad
from thunk.autograd.meta import requires_grad
from thunk.autograd.modes import enable_grad
from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and the product of `v` with its Jacobian."""
    with enable_grad():
        own, single_input = _tracked(inputs, create_graph)
        outputs, single_output = _outputs_of(func, own, "vjp", strict)
        cotangents = _vectors(v, outputs, "vjp")
        found = _gradients(outputs, own, cotangents, create_graph, strict, "vjp")
    return _packed(outputs, single_output, create_graph), _packed(found, single_input, create_graph)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and the product of its Jacobian with `v`, by differentiating twice."""
    with enable_grad():
        own, _ = _tracked(inputs, create_graph)
        tangents = _vectors(v, own, "jvp")
        outputs, single_output = _outputs_of(func, own, "jvp", strict)
        dummies = tuple([_zeros_with_grad(each) for each in outputs])
        first = _gradients(outputs, own, dummies, True, strict, "jvp")
        found = _gradients(first, dummies, tangents, create_graph, strict, "jvp")
    return _packed(outputs, single_output, create_graph), _packed(
        found, single_output, create_graph
    )


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and the product of `v` with its Hessian."""
    with enable_grad():
        own, single_input = _tracked(inputs, create_graph)
        vectors = _vectors(v, own, "vhp")
        outputs = _scalar_output(func, own, "vhp", strict)
        first = _gradients(outputs, own, None, True, strict, "vhp")
        found = _gradients(first, own, vectors, create_graph, strict, "vhp")
    return _packed(outputs, True, create_graph), _packed(found, single_input, create_graph)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and the product of its Hessian with `v`."""
    with enable_grad():
        own, single_input = _tracked(inputs, create_graph)
        vectors = _vectors(v, own, "hvp")
        outputs = _scalar_output(func, own, "hvp", strict)
        first = _gradients(outputs, own, None, True, strict, "hvp")
        dummies = tuple([_zeros_with_grad(each) for each in own])
        second = _gradients(first, own, dummies, True, strict, "hvp")
        found = _gradients(second, dummies, vectors, create_graph, strict, "hvp")
    return _packed(outputs, True, create_graph), _packed(found, single_input, create_graph)


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian, nested as (outputs) x (inputs)."""
    if strategy != "reverse-mode":
        raise NotImplementedError("jacobian: expected strategy='reverse-mode', the only one here")
    with enable_grad():
        own, single_input = _tracked(inputs, create_graph)
        outputs, single_output = _outputs_of(func, own, "jacobian", strict)
        rows = tuple([_jacobian_of(each, own, create_graph, strict) for each in outputs])
    nested = tuple([row[0] if single_input else row for row in rows])
    result = nested[0] if single_output else nested
    return result if create_graph else _detached(result)


def _jacobian_of(output: Any, own: Any, create_graph: bool, strict: bool) -> tuple[Any, ...]:
    parts: list[list[Any]] = [[] for _ in own]
    for element in output.reshape(-1):
        found = _gradients((element,), own, None, create_graph, strict, "jacobian", keep=True)
        for column, gradient in zip(parts, found, strict=True):
            column.append(gradient)
    shape = output._spec.shape
    return tuple(
        [
            t.stack(column).reshape((*shape, *each._spec.shape)) if column
            else t.zeros((*shape, *each._spec.shape), dtype=each._spec.dtype)
            for column, each in zip(parts, own, strict=True)
        ]
    )  # fmt: skip


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a scalar function, nested as (inputs) x (inputs)."""
    single_input = isinstance(inputs, TensorBase)

    def first_gradient(*own: Any) -> Any:
        outputs = _scalar_output(func, own, "hessian", strict)
        found = _gradients(outputs, own, None, True, strict, "hessian")
        return found[0] if single_input else found

    return jacobian(first_gradient, inputs, create_graph=create_graph, strict=strict)


def _tracked(inputs: Any, create_graph: bool) -> tuple[tuple[Any, ...], bool]:
    single = isinstance(inputs, TensorBase)
    values = (inputs,) if single else tuple(inputs)
    for each in values:
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"autograd.functional: expected a Tensor or a tuple of them, got "
                f"{type(each).__name__}"
            )
    if create_graph:
        return tuple([t.alias(each) if requires_grad(each) else _leaf(each) for each in values]), (
            single
        )
    return tuple([_leaf(each) for each in values]), single


def _leaf(tensor: Any) -> Any:
    return tensor.detach().requires_grad_(True)


def _zeros_with_grad(tensor: Any) -> Any:
    return t.zeros(tensor._spec.shape, dtype=tensor._spec.dtype).requires_grad_(True)


def _outputs_of(func: Function, own: Any, name: str, strict: bool) -> tuple[tuple[Any, ...], bool]:
    result = func(*own)
    single = isinstance(result, TensorBase)
    outputs = (result,) if single else tuple(result)
    for index, each in enumerate(outputs):
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"{name}: expected the function to return Tensors, got {type(each).__name__}"
            )
        if strict and not requires_grad(each):
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode."
            )
    return outputs, single


def _scalar_output(func: Function, own: Any, name: str, strict: bool) -> tuple[Any, ...]:
    outputs, single = _outputs_of(func, own, name, strict)
    if not single:
        raise RuntimeError(
            f"The function given to {name} should return a single Tensor, got {len(outputs)}"
        )
    if outputs[0]._spec.numel != 1:
        raise RuntimeError(
            "The Tensor returned by the function given to "
            f"{name} should contain a single element, got shape {list(outputs[0]._spec.shape)}"
        )
    return (outputs[0].reshape(()),)


def _vectors(v: Any, like: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) != 1 or like[0]._spec.numel != 1:
            raise RuntimeError(
                f"{name}: The vector v can only be None if the input to the user-provided function "
                "is a single Tensor with a single element."
            )
        return (t.ones(like[0]._spec.shape, dtype=like[0]._spec.dtype),)
    given = (v,) if isinstance(v, TensorBase) else tuple(v)
    if len(given) != len(like):
        raise RuntimeError(
            f"{name}: v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
        )
    for index, (have, want) in enumerate(zip(given, like, strict=True)):
        if have._spec.shape != want._spec.shape:
            raise RuntimeError(
                f"{name}: Entry {index} in v has invalid size: should be "
                f"{list(want._spec.shape)} but got {list(have._spec.shape)}."
            )
    return given


def _gradients(
    outputs: tuple[Any, ...], inputs: tuple[Any, ...], cotangents: Any, create_graph: bool,
    strict: bool, name: str, keep: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    pairs = [
        (each, None if cotangents is None else cotangents[index])
        for index, each in enumerate(outputs) if requires_grad(each)
    ]  # fmt: skip
    if not pairs:
        return tuple([_zeros_like(each) for each in inputs])
    found = grad(
        [pair[0] for pair in pairs], inputs, [pair[1] for pair in pairs], allow_unused=True,
        create_graph=create_graph, retain_graph=True if keep or create_graph else None,
    )  # fmt: skip
    for index, each in enumerate(found):
        if strict and each is None:
            raise RuntimeError(
                f"{name}: The output of the user-provided function is independent of input {index}."
                " This is not allowed in strict mode."
            )
    return tuple(
        [
            _zeros_like(source) if each is None else each
            for each, source in zip(found, inputs, strict=True)
        ]
    )


def _zeros_like(tensor: Any) -> Any:
    return t.zeros(tensor._spec.shape, dtype=tensor._spec.dtype)


def _detached(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_detached(each) for each in value])
    return value.detach()


def _packed(values: Any, single: bool, create_graph: bool) -> Any:
    kept = tuple(values) if create_graph else _detached(tuple(values))
    return kept[0] if single else kept
