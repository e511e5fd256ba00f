"""The checks without gradients: forward, forms of the call, in-place, `out=`, errors.

In: a `Case` and one sample. Out: nothing, or the exception that says what differs.
Each runs torch and the subject on fresh copies of the same arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_utils import freeze_rng_state

from .compare import WIDER, Mismatch, leaves
from .convert import SkipSample, convert, is_tensor, to_array
from .outcome import Outcome
from .randomness import GAUGE, OWN_STREAM, UNINITIALISED, compare_distributions
from .subject import MissingName, Subject, calls
from .verdict import Case, Judge, describe, judge_samples, missing_name

SEED = 42
OUT_SAMPLES = 6
ALIAS_SAMPLES = 4
# Refusals of torch that say nothing about the operator, and why.
NOT_A_RULE = {
    "doesn't apply to a": "an unbound method of a C type refuses any other first argument",
    "Expected a proper Tensor but got None": "torch fails inside its own gradient",
}
DRAWS = 16  # seeds tried before a sample counts as free of chance


def seeded(subject: Subject, function: Callable[..., Any], arguments: Any,
           seed: int = SEED) -> Any:
    """Call with a fixed seed in both libraries, leaving torch's own stream untouched."""
    first, args, kwargs = arguments
    with freeze_rng_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        if not subject.is_reference and subject.has("manual_seed"):
            subject.resolve("manual_seed")(seed)
        return function(first, *args, **kwargs)


def mode_of(case: Case) -> str:
    return "metadata" if case.entry.full_name in UNINITIALISED else "values"


def draws_differ(case: Case, sample: Any, theirs: Any) -> bool:
    """Whether torch's own result depends on the seed, for an entry with its own stream here."""
    if case.entry.full_name not in OWN_STREAM:
        return False
    first = drawn_values(case, case.torch_subject, sample, theirs, 0)
    others = (drawn_values(case, case.torch_subject, sample, theirs, seed)
              for seed in range(1, DRAWS))
    return not all(np.array_equal(first, other, equal_nan=True) for other in others)


def drawn_values(case: Case, subject: Subject, sample: Any, function: Any, seed: int) -> Any:
    """Every value of the result under one seed, in one flat array."""
    result = seeded(subject, function, case.arguments(sample, subject), seed)
    return np.concatenate([to_array(subject, item).ravel() for item in leaves(result)
                           if is_tensor(subject, item)])


def same_call(ours: Any, theirs: Any) -> Judge:
    """A judge that compares one callable of each library on a sample as it stands."""

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        compare_call(case, sample, ours, theirs, notes)

    return judge


def compare_call(case: Case, sample: Any, ours: Any, theirs: Any,
                 notes: list[str]) -> tuple[Any, Any] | None:
    """Both libraries run one sample: same result, or the same kind of exception.

    Out: the subject's arguments and its result; None when both refused.
    """
    mine = case.arguments(sample, case.subject)
    reference = case.arguments(sample, case.torch_subject)
    expected, refusal = calls(seeded, case.torch_subject, theirs, reference)
    if refusal is not None:
        expect_refusal(case, refusal, type(refusal), lambda: seeded(case.subject, ours, mine))
        return None
    actual = seeded(case.subject, ours, mine)
    comparison = case.comparison(mode=mode_of(case), arbiter=arbiter(case, sample, theirs))
    if draws_differ(case, sample, theirs):
        case.comparison(mode="metadata").check(expected, actual)
        compare_distributions(
            lambda seed: drawn_values(case, case.torch_subject, sample, theirs, seed),
            lambda seed: drawn_values(case, case.subject, sample, ours, seed))
        return mine, actual
    if case.entry.full_name in GAUGE:
        case.comparison(mode="metadata").check(expected, actual)
        expected = sample.output_process_fn_grad(expected)
        actual = case.subject.rebind(sample.output_process_fn_grad)(actual)
    comparison.check(expected, actual)
    notes += comparison.notes
    return mine, actual


def arbiter(case: Case, sample: Any, function: Any) -> Callable[[], Any] | None:
    """torch's result for the same sample in double precision."""
    if case.dtype not in WIDER:
        return None

    def precise() -> Any:
        result = seeded(case.torch_subject, function, case.arguments(
            sample.transform(widen), case.torch_subject))
        return sample.output_process_fn_grad(result) if case.entry.full_name in GAUGE else result

    return precise


def widen(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return WIDER.get(value, value)
    if value.dtype not in WIDER:
        return value
    return value.detach().to(WIDER[value.dtype]).requires_grad_(value.requires_grad)


def expect_refusal(case: Case, refusal: Exception, kinds: Any, action: Callable[[], Any]) -> None:
    """The subject must raise one of the kinds torch raises (a subclass is fine)."""
    for text, reason in NOT_A_RULE.items():
        if text in str(refusal):
            raise SkipSample(reason)
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if Exception in kinds:  # the database says no more than that; torch itself does
        kinds = (type(refusal),)
    wanted = tuple(case.subject.exception_type(kind) for kind in kinds)
    names = " or ".join(kind.__name__ for kind in wanted)
    _, error = calls(action)
    if error is None:
        raise Mismatch(f"expected {names} ({str(refusal).splitlines()[0][:120]}), got a result")
    if isinstance(error, MissingName | SkipSample) or missing_name(error) is not None:
        raise error
    missing = isinstance(error, NotImplementedError) and not isinstance(
        refusal, NotImplementedError)
    if missing or not isinstance(error, wanted):
        raise Mismatch(f"expected {names} ({str(refusal).splitlines()[0][:120]}), "
                       f"got {describe(error)}")


def forward(case: Case) -> Outcome:
    """The function form on every sample and on the extended reference inputs."""
    ours = resolve(case, lambda: case.entry.function(case.subject))
    samples = case.samples()
    if case.entry.info.reference_inputs_func is not None:
        samples = case.chosen(samples) + case.chosen(
            case.samples(extended=True))
    return judge_samples(case, "forward", case.chosen(samples, _twice(case.most)),
                         same_call(ours, case.theirs))


def _twice(most: int | None) -> int | None:
    return None if most is None else 2 * most


def noncontiguous(case: Case) -> Outcome:
    """The function form on strided copies of the arguments."""
    ours = resolve(case, lambda: case.entry.function(case.subject))

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        compare_call(case, sample.noncontiguous(), ours, case.theirs, notes)

    return judge_samples(case, "noncontiguous", case.chosen(case.samples()), judge)


def method(case: Case) -> Outcome:
    """The tensor method."""
    ours, theirs = variants(case, case.entry.info.method_variant)
    return judge_samples(case, "method", case.chosen(case.samples()),
                         same_call(ours, theirs))


def operator(case: Case) -> Outcome:
    """Python's operator, and its in-place form."""
    info = case.entry.info

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        if sample.kwargs or len(sample.args) > 1:
            raise SkipSample("not in operator form")
        compare_call(case, sample, info.operator_variant, info.operator_variant, notes)
        if info.inplace_operator_variant is not None and not sample.broadcasts_input:
            function = info.inplace_operator_variant
            compare_call(case, sample, function, function, notes)

    return judge_samples(case, "operator", case.chosen(case.samples()), judge)


def inplace(case: Case) -> Outcome:
    """The in-place form: torch's values, in the very tensor given, or torch's refusal."""
    ours, theirs = variants(case, case.entry.info.inplace_variant)

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        expect_broadcast_refused(case, sample, theirs)
        outcome = compare_call(case, sample, ours, theirs, notes)
        if outcome is None:
            return
        (given, _, _), returned = outcome
        if returned is not given:
            raise Mismatch("expected the tensor given back, got another one")

    return judge_samples(case, "inplace", case.chosen(case.samples()), judge)


def expect_broadcast_refused(case: Case, sample: Any, theirs: Any) -> None:
    """An in-place form cannot grow its tensor; a torch form that does is no model."""
    if sample.broadcasts_input:
        _, refusal = calls(seeded, case.torch_subject, theirs,
                           case.arguments(sample, case.torch_subject))
        if refusal is None:
            raise SkipSample("torch resizes the tensor in place")


def alias(case: Case) -> Outcome:
    """Writing into the result changes the input exactly where it does in torch."""
    ours = resolve(case, lambda: case.entry.function(case.subject))

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        reference = case.arguments(sample, case.torch_subject)
        expected = first_tensor(case.torch_subject, seeded(
            case.torch_subject, case.theirs, reference))
        if expected is None or not expected.numel():
            raise SkipSample("no values to write to")
        mine = case.arguments(sample, case.subject)
        actual = first_tensor(case.subject, seeded(case.subject, ours, mine))
        _, refusal = calls(write, case.torch_subject, expected)
        if refusal is not None:
            expect_refusal(case, refusal, type(refusal), lambda: write(case.subject, actual))
            return
        write(case.subject, actual)
        try:
            case.comparison().check(list(reference), list(mine))
        except Mismatch as mismatch:
            raise Mismatch(f"arguments after writing into the result: {mismatch}") from None

    return judge_samples(case, "alias", case.chosen(
        case.samples(), ALIAS_SAMPLES), judge)


def first_tensor(subject: Subject, result: Any) -> Any:
    return next((item for item in leaves(result) if is_tensor(subject, item)), None)


def write(subject: Subject, tensor: Any) -> None:
    with subject.resolve("no_grad")():
        tensor.fill_(1)


def out(case: Case) -> Outcome:
    """`out=`: right size, strided, empty (resized), wrong dtype."""
    ours = resolve(case, lambda: case.entry.function(case.subject))

    def judge(case: Case, sample: Any, notes: list[str]) -> None:
        reference = case.arguments(sample, case.torch_subject)
        with torch.no_grad():
            expected = seeded(case.torch_subject, case.theirs, reference)
        results = list(leaves(expected))
        if not all(isinstance(item, torch.Tensor) for item in results):
            raise SkipSample("result is not made of tensors")
        for scenario in (_same, _strided, _empty, _integral):
            given = [scenario(item) for item in results]
            target = given[0] if isinstance(expected, torch.Tensor) else given
            try:
                _judge_out(case, sample, ours, target, expected, notes)
            except Mismatch as mismatch:
                raise Mismatch(f"out= {scenario.__name__.strip('_')}: {mismatch}") from None

    samples = case.chosen(case.samples(), OUT_SAMPLES)
    return judge_samples(case, "out", samples, judge)


def _judge_out(case: Case, sample: Any, ours: Any, target: Any, functional: Any,
               notes: list[str]) -> None:
    mine = convert(case.subject, (sample.input, sample.args, {**sample.kwargs, "out": target}))
    reference = convert(
        case.torch_subject, (sample.input, sample.args, {**sample.kwargs, "out": target}))
    theirs = case.theirs
    _, refusal = calls(seeded, case.torch_subject, theirs, reference)
    if refusal is not None:
        expect_refusal(case, refusal, type(refusal), lambda: seeded(case.subject, ours, mine))
        return
    returned = seeded(case.subject, ours, mine)
    given = mine[2]["out"]
    if case.subject.module is not torch and case.entry.family != "random":
        take_plain_result(reference[2]["out"], functional)
    comparison = case.comparison(mode=mode_of(case), arbiter=arbiter(case, sample, theirs))
    if case.entry.full_name in GAUGE or draws_differ(case, sample, theirs):
        comparison.mode = "metadata"
    comparison.check(reference[2]["out"], given)
    notes += comparison.notes
    if is_tensor(case.subject, given) and returned is not given:
        raise Mismatch("expected the out tensor given back, got another one")


def take_plain_result(given: Any, functional: Any) -> None:
    """Some of torch's kernels leave out= unwritten, small or in the wrong order: the result rules.

    Random draws keep theirs, since torch draws in another order for a strided tensor.
    """
    for filled, plain in zip(leaves(given), leaves(functional), strict=True):
        if filled.dtype is plain.dtype:
            if filled.shape != plain.shape:
                filled.resize_(plain.shape)
            filled.copy_(plain)


def _same(result: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(result)


def _strided(result: torch.Tensor) -> torch.Tensor:
    return torch.testing._internal.common_utils.noncontiguous_like(torch.ones_like(result))


def _empty(result: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=result.dtype)


def _integral(result: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(result, dtype=torch.int64)


def errors(case: Case) -> Outcome:
    """The database's wrong arguments: the exception type torch's own test expects."""
    ours = resolve(case, lambda: case.entry.function(case.subject))
    theirs = case.theirs

    def judge(case: Case, wrong: Any, notes: list[str]) -> None:
        sample = wrong.sample_input
        mine = case.arguments(sample, case.subject)
        reference = case.arguments(sample, case.torch_subject)
        _, refusal = calls(seeded, case.torch_subject, theirs, reference)
        if refusal is None:
            raise SkipSample("torch does not refuse it")
        expect_refusal(case, refusal, wrong.error_type, lambda: seeded(case.subject, ours, mine))

    return judge_samples(case, "errors", case.chosen(case.entry.error_samples()), judge)


def variants(case: Case, variant: Any) -> tuple[Any, Any]:
    """A variant of the entry on the subject and on torch."""
    return resolve(case, lambda: case.subject.rebind(variant)), case.torch_subject.rebind(variant)


def resolve(case: Case, find: Callable[[], Any]) -> Any:
    """The subject's callable, or one that reports the missing name when it is called."""
    try:
        return find()
    except MissingName as missing:
        path = missing.path

        def absent(*args: Any, **kwargs: Any) -> Any:
            raise MissingName(path)

        return absent
