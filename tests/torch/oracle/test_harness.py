"""The oracle itself: torch judged by torch passes, and each kind of wrong answer is caught.

In: torch with one name replaced by a faulty one. Out: the check that must notice it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.torch.oracle.catalog import Entry, select
from tests.torch.oracle.compare import Comparison, Mismatch
from tests.torch.oracle.convert import SkipSample, convert, to_array
from tests.torch.oracle.outcome import FAIL, MISS, PASS, SKIP, Outcome
from tests.torch.oracle.run import judge_entry, main
from tests.torch.oracle.subject import MissingName, Subject
from tests.torch.oracle.verdict import Case


class Space:
    """A namespace of torch in which an altered subject's names are found by attribute too."""

    def __init__(self, subject: Altered, prefix: str) -> None:
        self._subject = subject
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        path = f"{self._prefix}{name}"
        inside = any(other.startswith(f"{path}.") for other in self._subject.replaced)
        if inside and name != "Tensor":
            return Space(self._subject, f"{path}.")
        return self._subject.resolve(path)


class Altered(Subject):
    """torch, with some names replaced; a name replaced by None is missing."""

    def __init__(self, replaced: dict[str, Any]) -> None:
        super().__init__("torch")
        self.replaced = replaced
        self.module = Space(self, "")

    def resolve(self, path: str) -> Any:
        if path in self.replaced:
            if self.replaced[path] is None:
                raise MissingName(path)
            return self.replaced[path]
        found: Any = torch
        for part in path.split("."):
            found = getattr(found, part)
        return found


def entry(name: str) -> Entry:
    found = select([name], None, [])
    assert len(found) == 1
    return found[0]


def judge(name: str, check: str, replaced: dict[str, Any],
          dtype: torch.dtype = torch.float64, most: int = 6) -> Outcome:
    outcomes = judge_entry(Case(entry(name), Altered(replaced), dtype, most), [check])
    assert len(outcomes) == 1
    return outcomes[0]


@pytest.mark.parametrize("name", ["mul", "nn.functional.conv1d", "expand", "einsum", "sort"])
def test_torch_is_right(name: str) -> None:
    outcomes = judge_entry(Case(entry(name), Subject("torch"), torch.float32, 3), [])
    assert {outcome.status for outcome in outcomes} <= {PASS, SKIP}
    assert outcomes[0].check == "forward" and outcomes[0].status == PASS


def faulty_values(input: Any, other: Any, **kwargs: Any) -> Any:
    return torch.mul(input, other, **kwargs) + 1e-5


def faulty_dtype(input: Any, other: Any, **kwargs: Any) -> Any:
    return torch.mul(input, other, **kwargs).float()


def faulty_shape(input: Any, other: Any, **kwargs: Any) -> Any:
    return torch.mul(input, other, **kwargs).unsqueeze(0)


def dropped_gradient(input: Any, other: Any, **kwargs: Any) -> Any:
    return torch.mul(input, other.detach() if torch.is_tensor(other) else other, **kwargs)


def ignored_out(input: Any, other: Any, out: Any = None) -> Any:
    return torch.mul(input, other)


def new_tensor_in_place(input: Any, other: Any) -> Any:
    return torch.mul(input, other)


def first_operand(input: Any, other: Any, **kwargs: Any) -> Any:
    return input


def detached_in_place(input: Any, other: Any) -> Any:
    return input.mul_(other.detach())


class FirstOrderOnly(torch.autograd.Function):
    """x * y whose second gradient is wrong."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, y = ctx.saved_tensors
        left = (grads[0] * y.detach()).sum_to_size(x.shape)
        return left, (grads[0] * x.detach()).sum_to_size(y.shape)


def constant_slope(input: Any, other: Any, **kwargs: Any) -> Any:
    return FirstOrderOnly.apply(input, other)


FAULTS: list[tuple[str, str, Callable[..., Any]]] = [
    ("forward", "mul", faulty_values),
    ("forward", "mul", faulty_dtype),
    ("forward", "mul", faulty_shape),
    ("noncontiguous", "mul", faulty_values),
    ("gradient", "mul", dropped_gradient),
    ("gradgrad", "mul", constant_slope),
    ("out", "mul", ignored_out),
    ("inplace", "Tensor.mul_", new_tensor_in_place),
    ("method", "Tensor.mul", faulty_values),
    ("alias", "mul", first_operand),
    ("inplace_gradient", "Tensor.mul_", detached_in_place),
]


@pytest.mark.parametrize(("check", "path", "fault"), FAULTS)
def test_a_fault_is_caught(check: str, path: str, fault: Callable[..., Any]) -> None:
    outcome = judge("mul", check, {path: fault})
    assert outcome.status == FAIL
    assert f"--check {check}" in outcome.detail


def test_first_gradient_of_a_wrong_second_one_is_right() -> None:
    assert judge("mul", "gradient", {"mul": constant_slope}).status == PASS


def refuse_nothing(input: Any, dim: Any = None, **kwargs: Any) -> Any:
    return input


def refuse_as_value_error(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("cat: something")


def refuse_as_not_implemented(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("cat: not yet")


@pytest.mark.parametrize("fault", [refuse_nothing, refuse_as_value_error,
                                   refuse_as_not_implemented])
def test_a_wrong_refusal_is_caught(fault: Callable[..., Any]) -> None:
    assert judge("cat", "errors", {"cat": fault}, torch.float32).status == FAIL


def test_a_missing_name_is_a_miss() -> None:
    outcome = judge("mul", "forward", {"mul": None})
    assert (outcome.status, outcome.detail) == (MISS, "attr mul")


def test_single_precision_is_judged_against_double() -> None:
    """Rounding of torch's own size passes outside the tolerance; a larger error does not."""
    exact = torch.full((4,), 1e4, dtype=torch.float64)
    expected = exact.float() + 1.0

    def verdict(error: float) -> bool:
        comparison = Comparison(Subject("torch"), arbiter=lambda: exact)
        try:
            comparison.check(expected, exact.float() - error)
        except Mismatch:
            return False
        return True

    assert verdict(3.0) and not verdict(5.0)
    with pytest.raises(Mismatch):
        Comparison(Subject("torch")).check(expected, exact.float() - 3.0)


def test_signs_of_nan_and_infinity_count() -> None:
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
    Comparison(Subject("torch")).check(special, special.clone())
    for position, value in ((0, 0.0), (1, -float("inf")), (3, float("nan")), (2, 1e38)):
        other = special.clone()
        other[position] = value
        with pytest.raises(Mismatch):
            Comparison(Subject("torch"), arbiter=special.double).check(special, other)


def never_drops(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return input.clone()


def drops_too_much(input: Any, p: float = 0.5, training: bool = True,
                   inplace: bool = False) -> Any:
    return torch.nn.functional.dropout(input, (1 + p) / 2, training)


def wrong_scale(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return torch.nn.functional.dropout(input, p, training) * (1 - p) if training else input


@pytest.mark.parametrize("fault", [never_drops, drops_too_much, wrong_scale])
def test_a_wrong_distribution_is_caught(fault: Callable[..., Any]) -> None:
    name = "nn.functional.dropout"
    assert judge(name, "forward", {name: fault}, most=20).status == FAIL


def test_another_stream_of_the_same_distribution_is_right() -> None:
    def other_stream(input: Any, *args: Any, **kwargs: Any) -> Any:
        torch.rand(3)
        return torch.nn.functional.dropout(input, *args, **kwargs)

    name = "nn.functional.dropout"
    for check in ("forward", "gradient", "gradgrad"):
        assert judge(name, check, {name: other_stream}, most=20).status == PASS


def test_conversion_keeps_what_torch_sees() -> None:
    base = torch.arange(24.0)
    left = base.as_strided((2, 3), (12, 2), 1)
    right = base[3:9].requires_grad_(True)
    subject = Subject("torch")
    first, second, third = convert(subject, (left, [right], {"again": left}))
    assert third["again"] is first
    assert first.stride() == left.stride() and first.storage_offset() == 1
    assert torch.equal(first, left) and torch.equal(second[0], right)
    assert first.untyped_storage().data_ptr() == second[0].untyped_storage().data_ptr()
    assert first.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    assert second[0].requires_grad and second[0].is_leaf and not first.requires_grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.bool, torch.int8,
                                   torch.complex64])
def test_conversion_of_dtypes(dtype: torch.dtype) -> None:
    value = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype).t()
    subject = Subject("torch")
    result = convert(subject, value)
    assert result.dtype is dtype and result.stride() == value.stride()
    assert to_array(subject, result).tolist() == to_array(subject, value).tolist()


def test_what_cannot_be_converted_is_skipped() -> None:
    for value in (torch.eye(2).to_sparse(), torch.zeros(2, dtype=torch.complex32),
                  torch.zeros([1] * 65), torch.sparse_coo):
        with pytest.raises(SkipSample):
            convert(Subject("torch"), value)


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--subject", "torch", "--op", "relu", "--op", "nn.functional.relu",
                 "--check", "forward", "--max-samples", "2"]
    assert main(arguments) == 0
    assert "PASS nn.functional.relu forward forward" not in capsys.readouterr().out
    assert main(["--op", "no such entry"]) == 2
    assert main(["--subject", "torch", "--op", "add", "--missing"]) == 0
    assert "0 of 1 entries have no callable" in capsys.readouterr().out
