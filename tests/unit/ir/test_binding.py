"""Calls bind to flat tuples by PyTorch's rules, and refusals say what is wrong."""

import enum
import re
from typing import Any

import numpy
import pytest

from thunk.ir import coerce
from thunk.ir.binding import (
    BindError,
    Overloads,
    Style,
    bind,
    binder_of,
    in_order,
    resolve,
)
from thunk.ir.schema import Schema, parse
from thunk.types import dtype as dtypes
from thunk.types import layout
from thunk.types.device import device
from thunk.types.size import Size
from thunk.types.spec import TensorSpec, contiguous_strides
from thunk.types.tensor_base import TensorBase


class Tensor(TensorBase):
    """A tensor with a shape, an element type and at most one value."""

    def __init__(
        self,
        *shape: int,
        value: Any = 0,
        dtype: dtypes.dtype = dtypes.float32,
        requires_grad: bool = False,
    ) -> None:
        self._spec = TensorSpec(shape, dtype, contiguous_strides(shape))
        self.value = value
        self.requires_grad = requires_grad

    def item(self) -> Any:
        return self.value


class Op:
    """A candidate."""

    def __init__(self, text: str, *numbers: str) -> None:
        self.schema = parse(text)
        self.numbers = frozenset(numbers)


T, U = Tensor(2, 3), Tensor(2, 3)
WHOLE = Tensor(value=3, dtype=dtypes.int64)
REAL = Tensor(value=0.5)
TRUTH = Tensor(value=True, dtype=dtypes.bool_)
TRACKED = Tensor(value=0.5, requires_grad=True)
VECTOR = Tensor(2, value=None, dtype=dtypes.int64)
LONE = Tensor(1, value=7, dtype=dtypes.int64)

ADD = Op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "self", "other")
SUM = Op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor"
)
VIEW = Op("view(Tensor(a) self, SymInt[] size) -> Tensor(a)")
POOL = Op("pool(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> Tensor")
EQ_SCALAR = Op("eq.Scalar(Tensor self, Scalar other) -> Tensor")
EQ_TENSOR = Op("eq.Tensor(Tensor self, Tensor other) -> Tensor")


def one(kind: str, value: Any) -> Any:
    """What `value` becomes where an argument of type `kind` is wanted."""
    return bind(parse(f"f({kind} x) -> ()"), (), {"x": value})[0]


def test_defaults_fill_the_tail() -> None:
    assert bind(ADD.schema, (T, U)) == (T, U, 1)
    assert bind(ADD.schema, (T, U), {"alpha": 2}) == (T, U, 2)
    assert bind(POOL.schema, (T, 3)) == (T, (3, 3), (), (0, 0))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"input": T, "other": U},
        {"x": T, "other": U},
        {"a": T, "other": U},
        {"x1": T, "x2": U},
    ],
)
def test_names_of_the_function_form(kwargs: dict[str, Any]) -> None:
    assert bind(ADD.schema, (), kwargs) == (T, U, 1)


def test_numpy_names() -> None:
    assert bind(SUM.schema, (T,), {"axis": 1, "keepdims": True}) == (T, (1,), True, None)
    with pytest.raises(BindError, match="unexpected keyword argument 'axis'"):
        bind(SUM.schema, (T,), {"dim": 1, "axis": 1})
    with pytest.raises(BindError, match="unexpected keyword argument 'axis'"):
        bind(SUM.schema, (T, 1), {"axis": 1})


def test_self_is_named_only_in_the_operator_style() -> None:
    with pytest.raises(
        BindError, match='missing 2 required positional arguments: "input", "other"'
    ):
        bind(ADD.schema, (), {"self": T, "x3": U})
    operator = binder_of(ADD.schema).form(Style.OPERATOR)
    assert operator.match((), {"self": T, "other": U}) == (T, U, 1)
    assert operator.match((), {"input": T, "other": U}) is None
    assert binder_of(VIEW.schema).form(Style.OPERATOR).match((T, 2, 3), None) is None


def test_a_method_takes_self_first_wherever_it_stands() -> None:
    where = parse("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")
    mask = Tensor(2, 3, dtype=dtypes.bool_)
    assert bind(where, (T, mask, U), method=True) == (mask, T, U)
    assert bind(where, (T, mask), {"other": U}, method=True) == (mask, T, U)
    assert bind(where, (mask, T, U)) == (mask, T, U)


def test_ints_in_a_row_are_a_list() -> None:
    for args in ((T, 2, 3), (T, (2, 3)), (T, [2, 3]), (T, Size((2, 3))), (T, WHOLE, numpy.int8(3))):
        bound = bind(VIEW.schema, args, method=True)
        assert bound[1] in ((2, 3), (3, 3))
        assert type(bound[1]) is tuple
        assert {type(each) for each in bound[1]} == {int}
    assert bind(VIEW.schema, (T, 6), method=True) == (T, (6,))
    assert bind(parse("zeros(SymInt[] size, *, ScalarType? dtype=None) -> Tensor"),
                (2, 3), {"dtype": float}) == ((2, 3), dtypes.float64)  # fmt: skip


@pytest.mark.parametrize(
    ("args", "method"),
    [
        ((T, 2, 3), False),  # as a function, `self` is positional too
        ((T, 2, 3.0), True),
        ((T, True, 6), True),
        ((T, (2, 3), 4), True),
        ((T,), True),
        ((T, numpy.array([2, 3])), True),
        ((T, VECTOR), True),
    ],
)
def test_what_is_no_list_of_ints(args: tuple[Any, ...], method: bool) -> None:
    with pytest.raises(BindError):
        bind(VIEW.schema, args, method=method)


def test_a_sized_list_repeats_one_int_and_takes_none_for_empty() -> None:
    assert bind(POOL.schema, (T, 2, 1, 1)) == (T, (2, 2), (1, 1), (1, 1))
    assert bind(POOL.schema, (T, (2,), None)) == (T, (2,), (), (0, 0))
    assert bind(POOL.schema, (T, WHOLE)) == (T, (3, 3), (), (0, 0))
    with pytest.raises(BindError, match="must be tuple of ints, not bool"):
        bind(POOL.schema, (T, True))
    with pytest.raises(BindError, match="'padding' must be tuple of ints, not NoneType"):
        bind(POOL.schema, (T, 2), {"padding": None})


class Color(enum.IntEnum):
    RED = 4


@pytest.mark.parametrize(
    ("kind", "value", "want"),
    [
        ("int", 3, 3),
        ("int", Color.RED, 4),
        ("int", numpy.int32(3), 3),
        ("int", WHOLE, 3),
        ("SymInt", LONE, 7),
        ("SymInt", numpy.array(3), 3),
        ("int?", None, None),
        ("float", 3, 3.0),
        ("float", True, 1.0),
        ("float", numpy.float16(0.5), 0.5),
        ("float", WHOLE, 3.0),
        ("Scalar", 2, 2),
        ("Scalar", True, True),
        ("Scalar", 1j, 1j),
        ("Scalar", numpy.float32(0.5), 0.5),
        ("Scalar", numpy.float64(0.5), 0.5),
        ("Scalar", numpy.bool_(True), True),
        ("Scalar", numpy.uint8(3), 3),
        ("Scalar", numpy.complex64(1j), 1j),
        ("Scalar", REAL, 0.5),
        ("Scalar", 2**64 - 1, 2**64 - 1),
        ("Scalar?", None, None),
        ("complex", 2, 2 + 0j),
        ("bool", False, False),
        ("str", "mean", "mean"),
        ("str?", None, None),
        ("ScalarType", float, dtypes.float64),
        ("ScalarType", int, dtypes.int64),
        ("ScalarType", bool, dtypes.bool_),
        ("ScalarType", complex, dtypes.complex128),
        ("ScalarType", dtypes.bfloat16, dtypes.bfloat16),
        ("Device", "cpu", device("cpu")),
        ("Device", 1, device("cuda", 1)),
        ("Device", device("lazy:0"), device("lazy:0")),
        ("Layout", layout.strided, layout.strided),
        ("MemoryFormat", layout.channels_last, layout.channels_last),
        ("int[]", [1, 2], (1, 2)),
        ("int[]", (WHOLE, numpy.int8(2), True), (3, 2, 1)),
        ("int[]", (), ()),
        ("int[1]?", 2, (2,)),
        ("float[]", (1, 0.5), (1.0, 0.5)),
        ("bool[3]", [True, False, True], (True, False, True)),
        ("Scalar[]", [1, 0.5, REAL], (1, 0.5, 0.5)),
        ("Tensor[]", [T, U], (T, U)),
        ("Tensor[]", [], ()),
        ("Tensor?[]", (None, T), (None, T)),
        ("Any", "anything", "anything"),
    ],
)
def test_values_that_fit(kind: str, value: Any, want: Any) -> None:
    found = one(kind, value)
    assert found == want
    assert type(found) is type(want)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Tensor", 1), ("Tensor", numpy.ones(2)), ("Tensor", None), ("Tensor", [T]),
        ("int", 1.0), ("int", True), ("int", numpy.bool_(True)), ("int", REAL), ("int", TRUTH),
        ("int", LONE), ("int", numpy.array(1)), ("int", None), ("int", "1"),
        ("SymInt", numpy.array([1, 2])), ("SymInt", VECTOR), ("SymInt", 1.0), ("SymInt", TRUTH),
        ("float", "1"), ("float", 1j), ("float", TRACKED), ("float", VECTOR),
        ("float", numpy.array(1.0)), ("float", numpy.complex64(1)),
        ("Scalar", "1"), ("Scalar", None), ("Scalar", TRACKED), ("Scalar", LONE),
        ("Scalar", numpy.array(1)),
        ("bool", 1), ("bool", numpy.bool_(True)), ("bool", TRUTH), ("bool", None),
        ("str", 1), ("str", b"mean"), ("str", None),
        ("ScalarType", "float32"), ("ScalarType", numpy.float32), ("ScalarType", str),
        ("Device", 1.0), ("Device", True), ("Layout", "strided"), ("Layout", layout.channels_last),
        ("MemoryFormat", 1), ("MemoryFormat", layout.strided), ("Generator", 1),
        ("int[]", 1), ("int[]", [1, 2.0]), ("int[]", [True]), ("int[]", range(2)),
        ("int[]", {1, 2}), ("int[]", numpy.array([1])), ("int[]", [2**70]), ("int[]", None),
        ("float[]", 1.0), ("float[]", ["a"]),
        ("Tensor[]", T), ("Tensor[]", [T, 1]), ("Tensor[]", iter([T])), ("Tensor[]", [None]),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(kind: str, value: Any) -> None:
    with pytest.raises(BindError, match=r"argument 'x'|in argument 0"):
        one(kind, value)


def test_numbers_too_large() -> None:
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        one("int", 2**70)
    with pytest.raises(OverflowError, match="too big to convert"):
        one("Scalar", 2**64)
    with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
        one("Scalar", -(2**64))


def test_a_bad_device_name_raises_as_the_device_does() -> None:
    with pytest.raises(RuntimeError, match="nowhere"):
        one("Device", "nowhere")


def test_numbers_stand_for_tensors_only_where_said() -> None:
    assert bind(ADD.schema, (T, 1), numbers=ADD.numbers) == (T, 1, 1)
    assert bind(ADD.schema, (2.5, T), numbers=ADD.numbers) == (2.5, T, 1)
    bound = bind(ADD.schema, (T, numpy.float64(2)), numbers=ADD.numbers)
    assert type(bound[1]) is float
    with pytest.raises(BindError, match=r"'other' \(position 2\) must be Tensor, not int"):
        bind(ADD.schema, (T, 1))
    with pytest.raises(BindError, match=r"must be Tensor, not numpy.ndarray; wrap it"):
        bind(ADD.schema, (T, numpy.array(1)), numbers=ADD.numbers)


def test_named_defaults_become_objects() -> None:
    text = "f(*, ScalarType? d=long, MemoryFormat? m=contiguous_format, Layout l=strided) -> ()"
    assert bind(parse(text), ()) == (dtypes.int64, layout.contiguous_format, layout.strided)


def test_classes_of_higher_layers_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coerce, "_classes", {})
    random = Op("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")
    assert bind(random.schema, (T,)) == (T, None)
    with pytest.raises(BindError, match=r"must be torch\.Generator, not Op"):
        bind(random.schema, (T,), {"generator": random})
    coerce.announce_class("Generator", Op)
    assert bind(random.schema, (T,), {"generator": random}) == (T, random)


SORT = Op("sort(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)")


def test_several_results_share_one_out() -> None:
    variant = SORT.schema.with_out()
    assert bind(variant, (T,), {"out": (T, U)}) == (T, -1, T, U)
    assert bind(variant, (T,), {"values": T, "indices": U}) == (T, -1, T, U)
    for wrong in (T, (T,), (T, U, T), (T, 1)):
        with pytest.raises(BindError):
            bind(variant, (T,), {"out": wrong})


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "message"),
    [
        (ADD, (T, [1]), {}, "add(): argument 'other' (position 2) must be Tensor, not list; "
         "build one with torch.tensor(...)"),
        (ADD, (T,), {}, 'add() missing 1 required positional arguments: "other"'),
        (ADD, (), {}, 'add() missing 2 required positional arguments: "input", "other"'),
        (ADD, (T, U), {"foo": 1}, "add() got an unexpected keyword argument 'foo'"),
        (ADD, (T, U), {"alhpa": 1}, "add() got an unexpected keyword argument 'alhpa'; "
         "write 'alpha' instead of 'alhpa'"),
        (ADD, (T,), {"othre": U}, 'add() missing 1 required positional arguments: "other"; '
         "write 'other' instead of 'othre'"),
        (ADD, (T, U, 1), {}, "add() takes 2 positional arguments but 3 were given"),
        (ADD, (T, U), {"other": U}, "add() got multiple values for argument 'other'"),
        (ADD, (T, U), {"alpha": None}, "add(): argument 'alpha' must be Number, not NoneType"),
        (SUM, (T, 1, True, 2), {}, "sum() takes from 2 to 3 positional arguments but 4 were given"),
        (SUM, (T, 1.0), {}, "sum(): argument 'dim' (position 2) must be tuple of ints, not float"),
        (SUM, (T, (0, "a")), {}, "sum(): argument 'dim' (position 2) must be tuple of ints, "
         "but found element of type str at pos 1"),
        (SUM, (T, 1, 1), {}, "sum(): argument 'keepdim' (position 3) must be bool, not int; "
         "pass True or False"),
        (Op("cat(Tensor[] tensors, int dim=0) -> Tensor"), ([T, 1],), {},
         "cat(): expected Tensor as element 1 in argument 0, but got int"),
        (Op("relu(Tensor self) -> Tensor"), (T, 1), {},
         "relu() takes 1 positional argument but 2 were given"),
    ],
)  # fmt: skip
def test_reasons_for_one_overload(
    op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        resolve(op.schema.name, [op], args, kwargs)
    with pytest.raises(BindError) as caught:
        bind(op.schema, args, kwargs)
    assert message.endswith(caught.value.reason)


def test_positions_of_a_method_count_from_its_first_argument() -> None:
    with pytest.raises(BindError, match=r"'other' \(position 1\) must be Tensor, not str"):
        bind(ADD.schema, (T, "a"), method=True)
    with pytest.raises(BindError, match="takes 1 positional argument but 2 were given"):
        bind(ADD.schema, (T, U, 1), method=True)


def test_tensors_are_tried_before_numbers() -> None:
    assert in_order([EQ_SCALAR, EQ_TENSOR]) == [EQ_TENSOR, EQ_SCALAR]
    assert resolve("eq", [EQ_SCALAR, EQ_TENSOR], (T, WHOLE)) == (EQ_TENSOR, (T, WHOLE))
    assert resolve("eq", [EQ_SCALAR, EQ_TENSOR], (T, 3)) == (EQ_SCALAR, (T, 3))


def test_declaration_order_decides_otherwise() -> None:
    first, second = Op("f.a(Tensor x, int y=0) -> Tensor"), Op("f.b(Tensor x) -> Tensor")
    assert in_order([first, second]) == [first, second]
    assert resolve("f", [first, second], (T,)) == (first, (T, 0))
    assert resolve("f", [second, first], (T,)) == (second, (T,))


def test_no_overload_fits() -> None:
    with pytest.raises(TypeError) as caught:
        resolve("eq", [EQ_SCALAR, EQ_TENSOR], (T, [1, "a"]))
    assert str(caught.value) == (
        "eq() received an invalid combination of arguments - got (Tensor, list of [int, str]), "
        "but expected one of:\n"
        " * (Tensor input, Tensor other)\n"
        "      didn't match: argument 'other' (position 2) must be Tensor, not list; "
        "build one with torch.tensor(...)\n"
        " * (Tensor input, Number other)\n"
        "      didn't match: argument 'other' (position 2) must be Number, not list\n"
    )


def test_the_only_overload_of_a_fitting_length_is_explained() -> None:
    whole = Op("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
    narrow = Op("sum.dim(Tensor self, int[1]? dim, bool keepdim, *, int q=0) -> Tensor")
    with pytest.raises(BindError, match=r"'keepdim' \(position 3\) must be bool, not int"):
        resolve("sum", [whole, narrow], (T, 0, 1))


def test_out_variants_are_meant_only_when_out_is_given() -> None:
    variant = Op(str(ADD.schema.with_out()), *ADD.numbers)
    both = [ADD, variant]
    assert resolve("add", both, (T, 1)) == (ADD, (T, 1, 1))
    assert resolve("add", both, (T, 1), {"out": None}) == (ADD, (T, 1, 1))
    assert resolve("add", both, (T, 1), {"out": U}) == (variant, (T, 1, 1, U))
    with pytest.raises(BindError, match=r"^add\(\): argument 'other' \(position 2\) must be"):
        resolve("add", both, (T, "a"))
    with pytest.raises(BindError, match="argument 'out' must be Tensor, not int"):
        resolve("add", both, (T, 1), {"out": 1})
    with pytest.raises(BindError, match="unexpected keyword argument 'out'"):
        resolve("add", [ADD], (T, 1), {"out": None})


def test_overloads_serve_every_style() -> None:
    overloads = Overloads("add", [ADD])
    for style in Style:
        assert overloads.resolve((T, U), None, style) == (ADD, (T, U, 1))


def test_binders_are_shared() -> None:
    again = parse(str(ADD.schema))
    assert binder_of(ADD.schema) is binder_of(again)
    assert binder_of(ADD.schema) is not binder_of(ADD.schema, ADD.numbers)


def test_schemas_of_one_name_have_binders_of_their_own() -> None:
    """The hash looks at the name alone; equality must not."""
    first, second = parse("f(int x) -> ()"), parse("f(float x) -> ()")
    assert hash(first) == hash(second)
    assert isinstance(first, Schema)
    assert bind(first, (1,)) == (1,)
    assert repr(bind(second, (1,))) == "(1.0,)"
