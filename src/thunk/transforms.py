"""Enters: functions of tensors. Leaves: their derivatives and batched forms, as functions.

Invariant: everything is built of `autograd.grad` and of calls of the function itself; `vmap` calls
it once an example, and the trace fuses what it can.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thunk.autograd.api import grad as _gradients
from thunk.autograd.meta import requires_grad
from thunk.autograd.modes import enable_grad
from thunk.base.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase

Function = Callable[..., Any]


class _Depth(threading.local):
    """How many transforms of this thread are running."""

    def __init__(self) -> None:
        self.count = 0


_depth = _Depth()


@contextmanager
def _inside() -> Iterator[bool]:
    """Run a transform; tells whether it is the outermost."""
    _depth.count += 1
    try:
        with enable_grad():
            yield _depth.count == 1
    finally:
        _depth.count -= 1


def _is_inexact(value: Any) -> bool:
    return isinstance(value, TensorBase) and value._spec.dtype.is_inexact


def _fresh(tree: Any) -> Any:
    """The tensors of a tree as inputs to differentiate by, tied to what they came from."""

    def own(value: Any) -> Any:
        if not _is_inexact(value):
            return value
        return t.alias(value) if requires_grad(value) else t.detach(value).requires_grad_()

    return tree_map(own, tree)


def _plain(tree: Any) -> Any:
    return tree_map(lambda each: t.detach(each) if isinstance(each, TensorBase) else each, tree)


def _tracked(tree: Any) -> bool:
    return any(_is_inexact(each) and requires_grad(each) for each in tree_leaves(tree))


def _chosen(args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> Any:
    if isinstance(argnums, int):
        return args[argnums]
    return tuple(args[place] for place in argnums)


def _replaced(args: tuple[Any, ...], argnums: int | tuple[int, ...], own: Any) -> tuple[Any, ...]:
    given = list(args)
    if isinstance(argnums, int):
        given[argnums] = own
    else:
        for place, value in zip(argnums, own):
            given[place] = value
    return tuple(given)


def _split(op: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(
            f"{op}: expected a function that returns (output, aux) with has_aux=True, got "
            f"{type(output).__name__}"
        )
    return output


def _by(output: Any, inputs: list[Any], cotangent: Any = None) -> list[Any]:
    """The gradients of one tensor, zeros where it does not depend on an input."""
    if not requires_grad(output):
        return [t.zeros_like(each) for each in inputs]
    found = _gradients(
        [output], inputs, None if cotangent is None else [cotangent], create_graph=True,
        retain_graph=True, allow_unused=True,
    )  # fmt: skip
    return [t.zeros_like(each) if g is None else g for each, g in zip(inputs, found)]


def grad_and_value(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Function:
    """A function that returns the gradient of `func` by some arguments, and its value."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = _chosen(args, argnums)
        with _inside() as outermost:
            own = _fresh(given)
            output = func(*_replaced(args, argnums, own), **kwargs)
            value, aux = _split("grad", output, has_aux)
            if not isinstance(value, TensorBase) or value._spec.shape:
                raise RuntimeError(
                    "grad: expected a function that returns a scalar tensor, got "
                    f"{getattr(value, 'shape', type(value).__name__)}; sum it, or use jacrev"
                )
            leaves, spec = tree_flatten(own)
            wanted = [each for each in leaves if _is_inexact(each)]
            found = iter(_by(value, wanted))
            result = tree_unflatten([next(found) if _is_inexact(x) else x for x in leaves], spec)
        if outermost and not _tracked((args, kwargs)):
            result, value, aux = _plain(result), _plain(value), _plain(aux)
        return (result, (value, aux)) if has_aux else (result, value)

    return wrapped


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of `func` by some arguments."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapped


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`func(*primals)`, and a function from cotangents to gradients by the primals."""
    with _inside() as outermost:
        own = _fresh(primals)
        output, aux = _split("vjp", func(*own), has_aux)
    leaves, _ = tree_flatten(output)
    inputs, spec = tree_flatten(own)

    def pull(cotangents: Any, *rest: Any) -> Any:
        given, _ = tree_flatten((cotangents, *rest) if rest else cotangents)
        with _inside() as first:
            sums = [t.zeros_like(each) for each in inputs]
            for each, cotangent in zip(leaves, given, strict=True):
                sums = [t.add(a, b) for a, b in zip(sums, _by(each, inputs, cotangent))]
        found = tree_unflatten(sums, spec)
        return _plain(found) if first and not _tracked((primals, given)) else found

    shown = _plain(output) if outermost and not _tracked(primals) else output
    return (shown, pull, aux) if has_aux else (shown, pull)


def jvp(func: Function, primals: Any, tangents: Any, *, has_aux: bool = False) -> tuple[Any, ...]:
    """`func(*primals)` and how it changes along the tangents."""
    with _inside() as outermost:
        own = _fresh(tuple(primals))
        output, aux = _split("jvp", func(*own), has_aux)
        inputs, given = tree_leaves(own), tree_leaves(tuple(tangents))
        leaves, spec = tree_flatten(output)
        moved = [_pushed(each, inputs, given) for each in leaves]
    result = tree_unflatten(moved, spec)
    if outermost and not _tracked((primals, tangents)):
        output, result = _plain(output), _plain(result)
    return (output, result, aux) if has_aux else (output, result)


def _pushed(output: Any, inputs: list[Any], tangents: list[Any]) -> Any:
    """The tangent of one output: the derivative of its gradient by the cotangent."""
    dummy = t.zeros_like(output).requires_grad_()
    first = _by(output, inputs, dummy)
    total = t.zeros_like(output)
    for each, tangent in zip(first, tangents, strict=True):
        if requires_grad(each):
            total = t.add(total, _by(each, [dummy], tangent)[0])
    return total


def jacrev(
    func: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:  # fmt: skip
    """A function that returns the Jacobian of `func`, one row an element of its output."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = _chosen(args, argnums)
        with _inside() as outermost:
            own = _fresh(given)
            output = func(*_replaced(args, argnums, own), **kwargs)
            value, aux = _split("jacrev", output, has_aux)
            inputs, spec = tree_flatten(own)
            result = tree_map(lambda each: tree_unflatten(_rows(each, inputs), spec), value)
        if outermost and not _tracked((args, kwargs)):
            result, aux = _plain(result), _plain(aux)
        return (result, aux) if has_aux else result

    return wrapped


def _rows(output: Any, inputs: list[Any]) -> list[Any]:
    shape = tuple(output._spec.shape)
    flat = t.reshape(output, (-1,))
    count = flat._spec.shape[0]
    rows = [_by(t.select(flat, 0, place), inputs) for place in range(count)]
    made = []
    for place, each in enumerate(inputs):
        whole = shape + tuple(each._spec.shape)
        made.append(
            t.reshape(t.stack([row[place] for row in rows]), whole) if rows
            else t.zeros(whole, dtype=each._spec.dtype)
        )  # fmt: skip
    return made


jacfwd = jacrev  # the same numbers; PyTorch's way of computing them differs


def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function that returns the second derivatives of `func`."""
    return jacrev(jacrev(func, argnums), argnums)


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Function:  # fmt: skip
    """A function that applies `func` to every example of a batch and stacks the results.

    `in_dims` says along which dimension each argument is batched, None for not at all.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "vmap: expected randomness 'error', 'different' or 'same', got Only allowed values "
            f"for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = _spread(in_dims, args)
        count = _batch_size(leaves, dims)
        named, named_spec = tree_flatten(kwargs)
        outputs = []
        for place in range(count):
            one = [_example(leaf, dim, place) for leaf, dim in zip(leaves, dims)]
            words = [_example(leaf, 0, place) for leaf in named]
            outputs.append(func(*tree_unflatten(one, spec), **tree_unflatten(words, named_spec)))
        return _stacked(outputs, out_dims)

    return wrapped


def _spread(in_dims: Any, args: tuple[Any, ...]) -> list[int | None]:
    """One dimension for each leaf of the arguments."""
    if isinstance(in_dims, int):
        return [in_dims if isinstance(each, TensorBase) else None for each in tree_leaves(args)]
    if not isinstance(in_dims, Sequence) or len(in_dims) != len(args):
        raise ValueError(
            f"vmap: in_dims expected an int or one entry for each of {len(args)} arguments, got "
            f"{in_dims!r}"
        )
    found: list[int | None] = []
    for dim, value in zip(in_dims, args):
        if isinstance(dim, int) or dim is None:
            found += [dim] * len(tree_leaves(value))
        elif isinstance(dim, dict):
            found += _spread([dim[key] for key in value], tuple(value.values()))
        else:
            found += _spread(dim, tuple(value))
    return found


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = set()
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(leaf, TensorBase):
            raise ValueError(
                f"vmap: expected tensors where in_dims is an int, got {type(leaf).__name__}; "
                "use None for it"
            )
        shape = leaf._spec.shape
        if not -len(shape) <= dim < len(shape):
            raise ValueError(f"vmap: expected a dimension of a tensor of {len(shape)}, got {dim}")
        sizes.add(shape[dim])
    if len(sizes) != 1:
        raise ValueError(
            f"vmap: expected all tensors to have the same size in the mapped dimension, got "
            f"{sorted(sizes)}"
        )
    return int(sizes.pop())


def _example(leaf: Any, dim: int | None, place: int) -> Any:
    if dim is None or not isinstance(leaf, TensorBase):
        return leaf
    return t.select(leaf, dim, place)


def _stacked(outputs: list[Any], out_dims: Any) -> Any:
    if not outputs:
        raise RuntimeError("vmap: expected at least one example, got an empty batch")
    columns = [tree_flatten(each)[0] for each in outputs]
    spec = tree_flatten(outputs[0])[1]
    width = len(columns[0])
    dims = [out_dims] * width if isinstance(out_dims, int) or out_dims is None else list(out_dims)
    made = []
    for place in range(width):
        values = [row[place] for row in columns]
        if not all(isinstance(each, TensorBase) for each in values):
            raise ValueError(
                f"vmap: expected a function that returns tensors, got {type(values[0]).__name__}"
            )
        made.append(values[0] if dims[place] is None else t.stack(values, dims[place]))
    return tree_unflatten(made, spec)
