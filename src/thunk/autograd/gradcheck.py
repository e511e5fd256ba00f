"""Enters: a function and double precision inputs. Leaves: True, or an error with both Jacobians.

Invariant: the numerical side only calls the function; it shares nothing with what it checks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from thunk.autograd.api import grad
from thunk.autograd.meta import requires_grad
from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t
from thunk.runtime.tensors import array_from
from thunk.types.dtype import complex128, float64
from thunk.types.tensor_base import TensorBase

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """The analytical and the numerical Jacobian disagree."""


def gradcheck(
    func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare gradients with central differences.

    `fast_mode` is accepted and runs the full comparison; forward mode and batched gradients are
    not available and must stay off.
    """
    if check_forward_ad or check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError(
            "gradcheck: expected check_forward_ad and batched checks off; only backward mode runs"
        )
    values = _as_tuple(inputs)
    try:
        watched = _check_inputs(values)
        outputs = _differentiable(_as_tuple(func(*values)))
        for index, output in enumerate(outputs):
            _check_output(func, values, watched, index, output, eps, atol, rtol, nondet_tol)
            if check_grad_dtypes:
                _check_dtypes(output, watched)
        if check_undefined_grad and len(outputs) > 1:
            _check_undefined(outputs, watched)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
    masked: bool = False,
) -> bool:  # fmt: skip
    """Check the gradient of the gradient of `func` with respect to inputs and grad outputs."""
    values = _as_tuple(inputs)
    outputs = _differentiable(_as_tuple(func(*values)))
    if grad_outputs is None:
        cotangents = tuple([_random_like(output) for output in outputs])
    else:
        cotangents = _as_tuple(grad_outputs)
    count = len(values)

    def first_gradient(*args: Any) -> tuple[Any, ...]:
        own, upstream = args[:count], args[count:]
        results = _differentiable(_as_tuple(func(*own)))
        chosen = [each for each in own if isinstance(each, TensorBase) and requires_grad(each)]
        found = grad(results, chosen, upstream, create_graph=True, allow_unused=True)
        return tuple([each for each in found if each is not None])

    return gradcheck(
        first_gradient, (*values, *cotangents), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=False, check_grad_dtypes=check_grad_dtypes,
    )  # fmt: skip


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _random_like(output: Any) -> Any:
    spec = output._spec
    values = numpy.random.default_rng(0).standard_normal(spec.shape)
    made = t.zeros(spec.shape, dtype=spec.dtype)
    array_from(made)[...] = values
    made.requires_grad_(True)
    return made


def _check_inputs(values: tuple[Any, ...]) -> list[Any]:
    watched = [each for each in values if isinstance(each, TensorBase) and requires_grad(each)]
    if not watched:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for number, each in enumerate(watched):
        spec = each._spec
        if spec.dtype not in (float64, complex128):
            warnings.warn(
                f"gradcheck: expected double precision, got {spec.dtype!r} for input #{number} of "
                "those that require a gradient; finite differences of it are too coarse",
                stacklevel=3,
            )
        if any(s == 0 and n > 1 for s, n in zip(spec.strides, spec.shape, strict=True)):
            raise RuntimeError(
                "gradcheck: The inputs have a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    return watched


def _differentiable(outputs: tuple[Any, ...]) -> list[Any]:
    return [each for each in outputs if isinstance(each, TensorBase) and requires_grad(each)]


def _check_output(
    func: Function, values: tuple[Any, ...], watched: list[Any], index: int, output: Any,
    eps: float, atol: float, rtol: float, nondet_tol: float,
) -> None:  # fmt: skip
    analytical = _analytical(output, watched)
    again = _analytical(output, watched)
    for place, tensor in enumerate(watched):
        numerical = _numerical(func, values, tensor, index, eps)
        if not numpy.allclose(analytical[place], again[place], rtol=0, atol=nondet_tol,
                              equal_nan=True):  # fmt: skip
            raise GradcheckError(
                f"Backward is not reentrant, i.e., running backward with same input and "
                f"grad_output multiple times gives different values for input {place}, although "
                f"the output is the same (tolerance {nondet_tol})"
            )
        if not numpy.allclose(analytical[place], numerical, rtol=rtol, atol=atol, equal_nan=True):
            raise GradcheckError(
                f"Jacobian mismatch for output {index} with respect to input {place},\n"
                f"numerical:{numerical}\nanalytical:{analytical[place]}\n"
            )


def _analytical(output: Any, watched: list[Any]) -> list[numpy.ndarray]:
    """d output / d input, one row an input element, one column an output element."""
    size = output._spec.numel
    columns: list[list[numpy.ndarray]] = [[] for _ in watched]
    for unit in _unit_cotangents(output):
        found = grad(output, watched, unit, retain_graph=True, allow_unused=True)
        for place, (tensor, gradient) in enumerate(zip(watched, found, strict=True)):
            columns[place].append(_flat(gradient, tensor))
    results = []
    for place, tensor in enumerate(watched):
        if size == 0:
            results.append(numpy.zeros((tensor._spec.numel, 0)))
        else:
            results.append(numpy.stack(columns[place], axis=1))
    return results


def _unit_cotangents(output: Any) -> Iterator[Any]:
    spec = output._spec
    for position in range(spec.numel):
        unit = t.zeros(spec.shape, dtype=spec.dtype)
        array_from(unit).reshape(-1)[position] = 1
        yield unit


def _flat(gradient: Any, tensor: Any) -> numpy.ndarray:
    if gradient is None:
        return numpy.zeros(tensor._spec.numel, tensor._spec.dtype.numpy)
    return numpy.array(array_from(gradient.detach())).reshape(-1)


def _numerical(
    func: Function, values: tuple[Any, ...], tensor: Any, index: int, eps: float
) -> numpy.ndarray:
    """Central differences. Complex inputs: backward mode gives, for a unit cotangent, the conjugate
    of d output / d input, which is d/d real + i * d/d imaginary of the output's real part.
    """
    array = array_from(tensor)
    rows = []
    for place in numpy.ndindex(array.shape):
        along_real = _difference(func, values, array, place, index, eps)
        if array.dtype.kind != "c":
            rows.append(along_real.real)
            continue
        along_imaginary = _difference(func, values, array, place, index, eps * 1j)
        rows.append(along_real.real + 1j * along_imaginary.real)
    outputs = _evaluate(func, values, index)
    if not rows:
        return numpy.zeros((0, outputs.size))
    return numpy.stack(rows, axis=0)


def _difference(
    func: Function, values: tuple[Any, ...], array: numpy.ndarray, place: tuple[int, ...],
    index: int, step: complex,
) -> numpy.ndarray:  # fmt: skip
    kept = array[place]
    array[place] = kept + step
    above = _evaluate(func, values, index)
    array[place] = kept - step
    below = _evaluate(func, values, index)
    array[place] = kept
    result: numpy.ndarray = (above - below) / (2 * abs(step))
    return result


def _evaluate(func: Function, values: tuple[Any, ...], index: int) -> numpy.ndarray:
    # The inputs keep requires_grad, so the same outputs count as differentiable.
    outputs = _differentiable(_as_tuple(func(*values)))
    with no_grad_recording():
        return numpy.array(array_from(outputs[index])).reshape(-1)


def _check_dtypes(output: Any, watched: list[Any]) -> None:
    with no_grad_recording():
        unit = t.ones(output._spec.shape, dtype=output._spec.dtype)
    found = grad(output, watched, unit, retain_graph=True, allow_unused=True)
    for tensor, gradient in zip(watched, found, strict=True):
        if gradient is not None and gradient._spec.dtype is not tensor._spec.dtype:
            raise GradcheckError(
                f"Gradient has dtype {gradient._spec.dtype!r}, expected {tensor._spec.dtype!r}"
            )


def _check_undefined(outputs: list[Any], watched: list[Any]) -> None:
    for output in outputs:
        unit = t.ones(output._spec.shape, dtype=output._spec.dtype)
        grad(output, watched, unit, retain_graph=True, allow_unused=True)
