"""Text of tensors against fixed texts, each of them PyTorch's."""

from __future__ import annotations

from math import inf, nan

import numpy
import pytest

from thunk.tensor import printing
from thunk.tensor.printing import get_printoptions, printoptions, set_printoptions, tensor_text

GOLDEN = [
    ("float32", 1.5, "tensor(1.5000)"),
    ("float32", [1, 2, 3], "tensor([1., 2., 3.])"),
    ("float32", [0.0, -0.0, nan, inf], "tensor([0., -0., nan, inf])"),
    ("float32", [1.5, nan, -inf], "tensor([1.5000,    nan,   -inf])"),
    ("float32", [1e-5, 1], "tensor([1.0000e-05, 1.0000e+00])"),
    ("float32", [1e9], "tensor([1.0000e+09])"),
    ("float32", [1, 1001], "tensor([1.0000e+00, 1.0010e+03])"),
    ("float32", [1e-4, 0.01], "tensor([1.0000e-04, 1.0000e-02])"),
    # The ends of what prints without an exponent.
    ("float64", [1, 1000.5], "tensor([1.0000e+00, 1.0005e+03], dtype=torch.float64)"),
    ("float32", [1, 1000], "tensor([   1., 1000.])"),
    ("float32", [1e8], "tensor([100000000.])"),
    ("float64", [1e-4], "tensor([0.0001], dtype=torch.float64)"),
    ("int64", [-1, 20, 300], "tensor([ -1,  20, 300])"),
    ("bool", [True, False], "tensor([ True, False])"),
    ("float32", [[1.25, 2], [3, 4]], "tensor([[1.2500, 2.0000],\n        [3.0000, 4.0000]])"),
    ("uint8", [1, 2], "tensor([1, 2], dtype=torch.uint8)"),
    ("float64", [0.1], "tensor([0.1000], dtype=torch.float64)"),
    ("bfloat16", [0.1, 2], "tensor([0.1001, 2.0000], dtype=torch.bfloat16)"),
    ("float16", [65504.0], "tensor([65504.], dtype=torch.float16)"),
    ("complex64", [1 + 2j, -0.5 - 1e-3j], "tensor([ 1.0000+2.0000e+00j, -0.5000-1.0000e-03j])"),
    ("complex128", [1 + 2j], "tensor([1.+2.j], dtype=torch.complex128)"),
    ("float32", [], "tensor([])"),
    ("float32", numpy.zeros((0, 3)), "tensor([], size=(0, 3))"),
    ("int64", [], "tensor([], dtype=torch.int64)"),
    ("int64", numpy.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        "int64",
        numpy.arange(8).reshape(2, 2, 2),
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
    ),
    (
        "float32",
        numpy.arange(2000).reshape(2, 1000) / numpy.float32(7),
        "tensor([[0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 1.4243e+02, 1.4257e+02,\n"
        "         1.4271e+02],\n"
        "        [1.4286e+02, 1.4300e+02, 1.4314e+02,  ..., 2.8529e+02, 2.8543e+02,\n"
        "         2.8557e+02]])",
    ),
]


@pytest.fixture(autouse=True)
def _options_as_before():
    before = get_printoptions()
    yield
    set_printoptions(**before)


def text(array, **facts):
    return tensor_text(array, dtype_name=str(array.dtype), **facts)


ONES = numpy.ones(2, numpy.float32)


@pytest.mark.parametrize(("name", "data", "wanted"), GOLDEN)
def test_values(name, data, wanted):
    assert text(numpy.asarray(data).astype(name)) == wanted


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({"requires_grad": True}, "tensor([1., 1.], requires_grad=True)"),
        (
            {"requires_grad": True, "grad_fn_name": "AddBackward0"},
            "tensor([1., 1.], grad_fn=<AddBackward0>)",
        ),
        ({"device": "lazy:0"}, "tensor([1., 1.], device='lazy:0')"),
        ({"device": "cpu:0"}, "tensor([1., 1.])"),
        ({"default_dtype": "float64"}, "tensor([1., 1.], dtype=torch.float32)"),
        ({"prefix": "Mine("}, "Mine([1., 1.])"),
        ({"contents": "..."}, "tensor(...)"),
        (
            {"is_parameter": True, "requires_grad": True},
            "Parameter containing:\ntensor([1., 1.], requires_grad=True)",
        ),
        (
            {"is_parameter": True, "prefix": "Mine("},
            "Parameter containing:\nParameter(Mine([1., 1.]))",
        ),
    ],
)
def test_suffixes(facts, wanted):
    assert text(ONES, **facts) == wanted


def test_suffixes_wrap_at_the_line_width():
    row = numpy.arange(18, dtype=numpy.int16)
    wanted = (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17],\n"
        "       dtype=torch.int16)"
    )
    assert text(row) == wanted


@pytest.mark.parametrize(("length", "separator"), [(51, ", "), (52, ",\n       ")])
def test_the_last_suffix_that_fits(length, separator):
    contents = "x" * length
    wanted = f"tensor({contents}{separator}requires_grad=True)"
    assert text(ONES, contents=contents, requires_grad=True) == wanted


def test_meta():
    wanted = "tensor(..., device='meta', size=(2, 3))"
    assert tensor_text(None, shape=(2, 3), dtype_name="float32", device="meta") == wanted
    with pytest.raises(ValueError, match="tensor_text: expected an array or a shape"):
        tensor_text(None, dtype_name="float32", device="meta")


def test_options():
    set_printoptions(precision=2)
    assert text(ONES / 3) == "tensor([0.33, 0.33])"
    set_printoptions(sci_mode=True)
    assert text(ONES) == "tensor([1.00e+00, 1.00e+00])"
    set_printoptions(threshold=5)
    assert get_printoptions()["sci_mode"] is None
    assert text(numpy.arange(10)) == "tensor([0, 1, 2,  ..., 7, 8, 9])"
    set_printoptions(edgeitems=0)
    assert text(numpy.arange(10)) == "tensor([...], size=(10,))"
    set_printoptions(profile="short")
    assert get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 2,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_options_come_back_even_after_an_error():
    before = get_printoptions()
    with pytest.raises(ZeroDivisionError), printoptions(precision=1, profile="full"):
        assert get_printoptions()["precision"] == 1
        assert get_printoptions()["threshold"] == inf
        raise ZeroDivisionError
    assert get_printoptions() == before


def test_a_summary_looks_at_the_shown_values_only():
    values = numpy.ones(2000, numpy.float32)
    values[1000] = 1e-9
    assert text(values) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"
    with printing.printoptions(threshold=inf):
        assert "e-09" in text(values)
