"""First and second gradients with fixed random cotangents, against torch's own.

In: a `Case` and one sample with `requires_grad`. Out: nothing, or the exception that says what
differs. A missing gradient and a gradient of zeros are the same; which results need a gradient
must be the same.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from typing import Any

import torch

from .checks import (
    draws_differ,
    expect_broadcast_refused,
    expect_refusal,
    resolve,
    seeded,
    variants,
    widen,
)
from .compare import WIDER, Mismatch, leaves
from .convert import SkipSample, collect_tensors, convert, is_tensor
from .numeric import check_direction
from .outcome import Outcome
from .subject import Subject, calls
from .verdict import Case, judge_samples


def gradient(case: Case) -> Outcome:
    """d(outputs)/d(every differentiable input)."""
    ours = resolve(case, lambda: case.entry.function(case.subject))
    return _judge(case, "gradient", ours, case.theirs, first_gradient)


def gradgrad(case: Case) -> Outcome:
    """The gradient of the gradient, in inputs and in cotangents."""
    ours = resolve(case, lambda: case.entry.function(case.subject))
    return _judge(case, "gradgrad", ours, case.theirs, second_gradient)


def inplace_gradient(case: Case) -> Outcome:
    """The gradient through the in-place form, applied to a copy of the leaf."""
    ours, theirs = (on_copy(form) for form in variants(case, case.entry.info.inplace_variant))
    return _judge(case, "inplace_gradient", ours, theirs, first_gradient)


def on_copy(variant: Callable[..., Any]) -> Callable[..., Any]:
    def function(first: Any, *args: Any, **kwargs: Any) -> Any:
        return variant(first.clone(), *args, **kwargs)

    return function


def _judge(case: Case, check: str, ours: Any, theirs: Any,
           derive: Callable[..., Any]) -> Outcome:
    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        if check == "inplace_gradient":
            expect_broadcast_refused(case, sample, theirs)
        expected, refusal = calls(derive, case.torch_subject, theirs, sample)
        if isinstance(refusal, SkipSample):
            raise refusal
        if refusal is not None:
            expect_refusal(case, refusal, type(refusal),
                           lambda: derive(case.subject, ours, sample))
            return
        if draws_differ(case, sample, theirs):
            _judge_random(case, ours, sample, derive)
            return
        actual = derive(case.subject, ours, sample)
        comparison = case.comparison(arbiter=_arbiter(case, theirs, derive, sample))
        left, right = fill_missing(case.subject, expected, actual)
        comparison.check(left, right)
        notes += [note for note in comparison.notes if "strides" not in note]

    samples = case.samples(requires_grad=True)
    return judge_samples(case, check, case.chosen(samples), judge)


def _judge_random(case: Case, ours: Any, sample: Any, derive: Callable[..., Any]) -> None:
    """torch draws other numbers, so the subject is held against its own finite differences."""
    if case.dtype is not torch.float64:
        raise SkipSample("random: finite differences need float64")
    subject = case.subject

    def weighted_outputs(moved: Any) -> list[Any]:
        _, outputs = run_forward(subject, ours, moved)
        return [output.detach() * cotangent(subject, output, index)
                for index, output in enumerate(outputs)]

    def weighted_gradients(moved: Any) -> list[Any]:
        return [item.detach() * cotangent(subject, item, 100 + index)
                for index, item in enumerate(first_gradient(subject, ours, moved))]

    if derive is first_gradient:
        check_direction(subject, sample, weighted_outputs,
                        lambda moved: first_gradient(subject, ours, moved))
        return
    count = len(differentiable(subject, case.arguments(sample, subject)))
    check_direction(subject, sample, weighted_gradients,
                    lambda moved: second_gradient(subject, ours, moved)[:count])


def _arbiter(case: Case, function: Any, derive: Callable[..., Any],
             sample: Any) -> Callable[[], Any] | None:
    if case.dtype not in WIDER:
        return None

    def precise() -> Any:
        wide = sample.transform(widen)
        return [torch.zeros((), dtype=torch.float64) if item is None else item
                for item in derive(case.torch_subject, function, wide)]

    return precise


def first_gradient(subject: Subject, function: Any, sample: Any) -> list[Any]:
    inputs, outputs = run_forward(subject, function, sample)
    cotangents = [cotangent(subject, output, index) for index, output in enumerate(outputs)]
    return grad(subject, outputs, inputs, cotangents)


def second_gradient(subject: Subject, function: Any, sample: Any) -> list[Any]:
    inputs, outputs = run_forward(subject, function, sample)
    cotangents = [cotangent(subject, output, index) for index, output in enumerate(outputs)]
    for tangent in cotangents:
        tangent.requires_grad_(True)
    firsts = grad(subject, outputs, inputs, cotangents, create_graph=True)
    chosen = [item for item in firsts if item is not None and item.requires_grad]
    if not chosen:
        return [None] * (len(inputs) + len(cotangents))
    weights = [cotangent(subject, item, 100 + index) for index, item in enumerate(chosen)]
    return grad(subject, chosen, inputs + cotangents, weights)


def run_forward(subject: Subject, function: Any, sample: Any) -> tuple[list[Any], list[Any]]:
    """The differentiable inputs and outputs of one call."""
    arguments = convert(subject, (sample.input, sample.args, sample.kwargs))
    inputs = differentiable(subject, arguments)
    if not inputs:
        raise SkipSample("no differentiable input")
    result = seeded(subject, function, arguments)
    result = subject.rebind(sample.output_process_fn_grad)(result)
    outputs = [item for item in leaves(result)
               if is_tensor(subject, item) and item.requires_grad]
    if not outputs and subject.is_reference:
        raise SkipSample("no differentiable output")
    if not outputs:
        raise Mismatch("expected a result that requires a gradient, got none")
    return inputs, outputs


def differentiable(subject: Subject, arguments: Any) -> list[Any]:
    if subject.is_reference:
        found: dict[int, torch.Tensor] = {}
        collect_tensors(arguments, found)
        return [item for item in found.values() if item.requires_grad]
    unique: dict[int, Any] = {}
    for item in leaves(arguments):
        if is_tensor(subject, item) and item.requires_grad:
            unique.setdefault(id(item), item)
    return list(unique.values())


def cotangent(subject: Subject, output: Any, index: int) -> Any:
    """A fixed random tensor of the output's shape; the same numbers in every precision."""
    shape = tuple(output.shape)
    name = str(output.dtype).rsplit(".", 1)[-1]
    generator = torch.Generator().manual_seed(zlib.crc32(repr((index, shape)).encode()))
    real = torch.randn(shape, dtype=torch.float32, generator=generator)
    dtype = getattr(torch, name)
    if dtype.is_complex:
        imaginary = torch.randn(shape, dtype=torch.float32, generator=generator)
        return convert(subject, torch.complex(real, imaginary).to(dtype))
    return convert(subject, real.to(dtype))


def grad(subject: Subject, outputs: list[Any], inputs: list[Any], cotangents: list[Any],
         create_graph: bool = False) -> list[Any]:
    function = subject.resolve("autograd.grad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(function(outputs, inputs, grad_outputs=cotangents,
                             create_graph=create_graph, allow_unused=True))


def fill_missing(subject: Subject, expected: list[Any],
                 actual: list[Any]) -> tuple[list[Any], list[Any]]:
    """Where one side says None and the other zeros, both become None."""
    left, right = list(expected), list(actual)
    for index, (one, other) in enumerate(zip(expected, actual)):
        if (one is None) != (other is None):
            given = one if other is None else other
            if bool((given == 0).all()):
                left[index] = right[index] = None
    return left, right
