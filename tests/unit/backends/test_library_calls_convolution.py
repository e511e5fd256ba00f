"""Convolutions and their gradients against the reference rules, in float64."""

from collections.abc import Iterator

import numpy
import pytest

from library_calls import rounded, run
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import Layout, free, plain, split_groups
from thunk.backends.cpu.calls.specs import Accumulate, Convolution, Direction, Relu
from thunk.backends.cpu.onednn.reordered import ReorderedCall
from thunk.backends.reference.conv import Fields, correlate, filter_gradient, spread
from thunk.base.config import config
from thunk.ops.conv.geometry import Windows
from thunk.types.dtype import bfloat16, dtype, float32, float64

RANDOM = numpy.random.default_rng(1)
DIRECTIONS: tuple[Direction, ...] = ("forward", "image", "weight")


@pytest.fixture(autouse=True, params=["oneDNN", "own"])
def provider(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on the library and on own kernels."""
    with config.override(onednn=request.param == "oneDNN", blas="own"):
        yield request.param


class Case:
    """One convolution: its shapes, its windows, its values and the three results."""

    def __init__(
        self,
        image: tuple[int, ...],
        weight: tuple[int, ...],
        stride: int = 1,
        dilation: int = 1,
        before: int = 0,
        after: int | None = None,
        groups: int = 1,
        element: dtype = float32,
    ) -> None:
        dims = len(image) - 2
        after = before if after is None else after
        self.stride, self.dilation = (stride,) * dims, (dilation,) * dims
        self.before, self.after = (before,) * dims, (after,) * dims
        self.groups = groups
        size = tuple(
            (each + before + after - dilation * (kernel - 1) - 1) // stride + 1
            for each, kernel in zip(image[2:], weight[2:])
        )
        result = (image[0], weight[0], *size)
        self.layouts = {
            "image": plain(image, element),
            "weight": plain(weight, element),
            "result": plain(result, element),
        }
        self.values = {
            name: rounded(RANDOM.standard_normal(layout.shape), layout)
            for name, layout in self.layouts.items()
        }
        self.bias = rounded(RANDOM.standard_normal(weight[0]), plain((weight[0],), element))

    def spec(self, direction: Direction, chosen: bool, bias: bool = False) -> Convolution:
        layouts = {
            name: free(layout.shape, layout.dtype) if chosen else layout
            for name, layout in self.layouts.items()
        }
        row = plain(self.bias.shape, self.layouts["weight"].dtype) if bias else None
        return Convolution(
            direction, layouts["image"], layouts["weight"], layouts["result"], row,
            self.stride, self.dilation, self.before, self.after, self.groups, threads=2,
        )  # fmt: skip

    def wanted(self, direction: Direction) -> numpy.ndarray:
        """By the reference rules; the padding is made beforehand, as they take equal sides."""
        around = [(0, 0), (0, 0), *zip(self.before, self.after)]
        padded = numpy.pad(self.values["image"], around)
        weight, result = self.values["weight"], self.values["result"]
        none = (0,) * len(self.stride)
        places = Windows(self.stride, none, self.dilation, False, none, self.groups)
        fields = Fields(padded.shape[2:], result.shape[2:], weight.shape[2:], places)
        if direction == "forward":
            return correlate(padded, weight, fields)
        if direction == "weight":
            return filter_gradient(padded, result, fields)
        inside = tuple(
            slice(before, before + size)
            for before, size in zip(self.before, self.values["image"].shape[2:])
        )
        return spread(result, weight, fields)[(slice(None), slice(None), *inside)]


CASES = {
    "1d": Case((2, 3, 20), (5, 3, 3), before=1),
    "2d": Case((2, 16, 9, 11), (32, 16, 3, 3), before=1),
    "one channel": Case((3, 1, 14, 14), (32, 1, 3, 3)),
    "odd channels": Case((2, 5, 9, 8), (7, 5, 3, 2), before=1),
    "3d": Case((1, 3, 5, 6, 7), (4, 3, 2, 3, 2), before=1),
    "pointwise": Case((2, 24, 7, 7), (48, 24, 1, 1)),
    "strided": Case((2, 16, 13, 13), (16, 16, 3, 3), stride=2, before=1),
    "strided pointwise": Case((2, 16, 9, 9), (32, 16, 1, 1), stride=2),
    "dilated": Case((2, 8, 15, 15), (8, 8, 3, 3), dilation=2, before=2),
    "grouped": Case((2, 16, 9, 9), (32, 4, 3, 3), before=1, groups=4),
    "depthwise": Case((2, 32, 9, 9), (32, 1, 3, 3), before=1, groups=32),
    "grouped odd": Case((2, 6, 9, 9), (9, 2, 3, 3), before=1, groups=3, stride=2),
    "lopsided": Case((2, 8, 9, 9), (8, 8, 4, 4), before=1, after=2),
    "windows that leave a rest": Case((1, 4, 10, 10), (4, 4, 3, 3), stride=3, before=1),
    "first layer": Case((1, 3, 28, 28), (16, 3, 7, 7), stride=2, before=3),
}


def found(case: Case, direction: Direction, chosen: bool) -> numpy.ndarray:
    call = build(case.spec(direction, chosen))
    name = {"forward": "result", "image": "image", "weight": "weight"}[direction]
    return run(call, **case.values)[name]


def difference(found: numpy.ndarray, wanted: numpy.ndarray) -> float:
    return float(abs(found.reshape(wanted.shape) - wanted).max() / abs(wanted).max())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "plain"])
def test_against_the_reference(name: str, direction: Direction, chosen: bool) -> None:
    case = CASES[name]
    assert difference(found(case, direction, chosen), case.wanted(direction)) < 5e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_bfloat16(direction: Direction) -> None:
    case = Case((2, 16, 8, 8), (32, 16, 3, 3), before=1, element=bfloat16)
    assert difference(found(case, direction, True), case.wanted(direction)) < 8e-3


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_float64(direction: Direction) -> None:
    case = Case((2, 6, 8, 8), (9, 2, 3, 3), before=1, groups=3, element=float64)
    assert difference(found(case, direction, True), case.wanted(direction)) < 1e-13


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_strides_that_are_not_dense(direction: Direction) -> None:
    """Channels last."""
    case = CASES["2d"]
    samples, channels, height, width = case.layouts["image"].shape
    strides = (height * width * channels, 1, width * channels, channels)
    last = plain((samples, channels, height, width), float32, strides)
    spec = Convolution(**{**fields(case.spec(direction, False)), "image": last})
    name = {"forward": "result"}.get(direction, direction)
    result = run(build(spec), **case.values)[name]
    assert difference(result, case.wanted(direction)) < 5e-6


@pytest.mark.parametrize("name", ["2d", "one channel", "grouped", "odd channels"])
def test_bias_and_relu(name: str) -> None:
    case = CASES[name]
    spec = case.spec("forward", True, bias=True)
    column = case.bias.reshape(-1, *[1] * len(case.stride))
    wanted = case.wanted("forward") + column
    result = run(build(spec), bias=case.bias, **case.values)["result"]
    assert difference(result, wanted) < 5e-6
    rectified = Convolution(**{**fields(spec), "post": (Relu(),)})
    result = run(build(rectified), bias=case.bias, **case.values)["result"]
    assert difference(result, numpy.maximum(wanted, 0)) < 5e-6


def fields(spec: Convolution) -> dict[str, object]:
    return {name: getattr(spec, name) for name in spec.__slots__}


def test_relu_of_a_convolution_keeps_nan() -> None:
    case = CASES["2d"]
    image = case.values["image"].copy()
    image[0, 0, 0, 0] = numpy.nan
    spec = Convolution(**{**fields(case.spec("forward", True)), "post": (Relu(),)})
    result = run(build(spec), image=image, weight=case.values["weight"])["result"]
    assert numpy.isnan(result[0, :, 0, 0]).all()
    assert not numpy.isnan(result[1]).any()


def test_accumulation_into_a_result() -> None:
    case = CASES["2d"]
    spec = Convolution(**{**fields(case.spec("forward", False)), "post": (Accumulate(),)})
    result = run(build(spec), **case.values)["result"]
    assert difference(result, case.wanted("forward") + case.values["result"]) < 5e-6


@pytest.mark.parametrize("name", ["2d", "grouped", "depthwise", "one channel", "1d"])
def test_the_gradient_of_the_bias(name: str) -> None:
    case = CASES[name]
    written = run(build(case.spec("weight", True, bias=True)), **case.values)
    result = case.values["result"]
    wanted = result.sum((0, *range(2, result.ndim)))
    assert difference(written["bias"], wanted) < 5e-6
    assert difference(written["weight"], case.wanted("weight")) < 5e-6


def test_a_transposed_convolution_is_the_gradient_of_the_image() -> None:
    """Twice the size, as a decoder upsamples."""
    case = Case((2, 4, 8, 8), (6, 4, 2, 2), stride=2)
    small = case.values["result"]
    wanted = numpy.zeros((2, 4, 8, 8))
    for row in range(4):
        for column in range(4):
            part = numpy.einsum("no,ochw->nchw", small[:, :, row, column], case.values["weight"])
            wanted[:, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = part
    assert difference(found(case, "image", True), wanted) < 5e-6


def test_a_call_takes_the_layout_that_another_chose(provider: str) -> None:
    first, second = CASES["2d"], Case((2, 32, 9, 11), (64, 32, 3, 3), before=1)
    produced = build(first.spec("forward", True)).layout("result")
    spec = second.spec("forward", True)
    assert produced.is_plain == (provider == "own")
    call = build(Convolution(**{**fields(spec), "image": produced}))
    assert call.layout("image") == produced
    result = run(call, **second.values)["result"]
    assert difference(result, second.wanted("forward")) < 5e-6


def test_plain_layouts_are_kept_on_request() -> None:
    call = build(CASES["grouped"].spec("forward", False))
    for operand in call.operands[:3]:
        assert operand.layout == CASES["grouped"].layouts[operand.name]


def test_groups_in_front_are_the_same_memory() -> None:
    weight = plain((6, 2, 3, 3), float32)
    split: Layout = split_groups(weight, 3)
    assert (split.shape, split.strides) == ((3, 2, 2, 3, 3), (36, 18, 9, 3, 1))


def test_a_convolution_that_does_not_fit_is_refused() -> None:
    case = CASES["2d"]
    good = fields(case.spec("forward", True))
    with pytest.raises(RuntimeError, match=r"convolution: expected a result of size \(9, 11\)"):
        Convolution(**{**good, "result": free((2, 32, 9, 9), float32)})
    with pytest.raises(RuntimeError, match=r"convolution: expected channels that fit"):
        Convolution(**{**good, "groups": 2})
    with pytest.raises(RuntimeError, match=r"convolution: expected no bias"):
        Convolution(**{**good, "direction": "image", "bias": plain((32,), float32)})


def large(kind: str, direction: Direction) -> Convolution:
    """A layer with enough work for each byte."""
    def layout(*shape: int) -> Layout:
        _, channels, height, width = shape
        last = (height * width * channels, 1, width * channels, channels)
        return plain(shape, float32, last if kind == "channels last" else None)

    return Convolution(
        direction, layout(8, 32, 14, 14), plain((48, 32, 3, 3), float32), layout(8, 48, 14, 14),
        None, (1, 1), (1, 1), (1, 1), (1, 1), threads=2,
    )  # fmt: skip


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("kind", "reorders"), [("channels first", 3), ("channels last", 1)])
def test_slow_layouts_are_reordered(
    kind: str, reorders: int, direction: Direction, provider: str
) -> None:
    """Inside the call, which keeps the layouts that it was asked for."""
    spec = large(kind, direction)
    call = build(spec)
    if provider == "oneDNN":
        assert isinstance(call, ReorderedCall) and call.reorders == reorders
        assert f"with {reorders} reorders" in str(call)
    assert [call.layout(name) for name in ("image", "weight", "result")] == [
        spec.image, spec.weight, spec.result,
    ]  # fmt: skip
    case = Case((8, 32, 14, 14), (48, 32, 3, 3), before=1)
    name = {"forward": "result"}.get(direction, direction)
    assert difference(run(call, **case.values)[name], case.wanted(direction)) < 5e-6


def test_reorders_that_cost_more_than_they_save_are_not_made(provider: str) -> None:
    """An image of one channel: most of the time goes into writing the result."""
    spec = CASES["one channel"].spec("forward", False)
    assert not isinstance(build(spec), ReorderedCall)
    with pytest.raises(ValueError, match="reordered: expected plain layouts and no sums"):
        ReorderedCall(Convolution(**{**fields(spec), "post": (Accumulate(),)}))
