"""Signatures parse into data, print back, and give their in-place and out variants."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunk.ir.schema import MISSING, Alias, Argument, Return, Schema, SchemaType, parse

ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def test_parts_of_a_signature() -> None:
    schema = parse("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    assert (schema.namespace, schema.name, schema.overload) == ("aten", "add", "Tensor")
    assert schema.full_name == "aten::add.Tensor"
    assert schema.arguments == (
        Argument("self", SchemaType("Tensor")),
        Argument("other", SchemaType("Tensor")),
        Argument("alpha", SchemaType("Scalar"), default=1, keyword_only=True),
    )
    assert schema.returns == (Return(SchemaType("Tensor")),)
    assert [each.name for each in schema.positional] == ["self", "other"]
    assert [each.name for each in schema.keyword_only] == ["alpha"]
    assert schema.index_of("alpha") == 2
    assert str(schema) == ADD
    assert hash(schema) == hash(parse(ADD))


def test_other_namespaces_and_no_overload() -> None:
    schema = parse("mine::twice(Tensor x) -> Tensor")
    assert schema.full_name == "mine::twice"
    assert str(schema) == "mine::twice(Tensor x) -> Tensor"


def test_an_unknown_argument_is_a_key_error() -> None:
    with pytest.raises(KeyError, match=r"self, other, alpha, got 'beta'"):
        parse(ADD).index_of("beta")


def test_schemas_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse(ADD).name = "sub"  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tensor", SchemaType("Tensor")),
        ("Tensor?", SchemaType("Tensor", optional=True)),
        ("Tensor[]", SchemaType("Tensor", is_list=True)),
        ("Tensor?[]", SchemaType("Tensor", is_list=True, optional_element=True)),
        ("SymInt[2]", SchemaType("SymInt", is_list=True, size=2)),
        ("int[1]?", SchemaType("int", is_list=True, size=1, optional=True)),
        ("float[]?", SchemaType("float", is_list=True, optional=True)),
        ("bool[3]", SchemaType("bool", is_list=True, size=3)),
        ("ScalarType", SchemaType("ScalarType")),
        ("Dict(str, Tensor)", SchemaType("Dict", parameters=(
            SchemaType("str"), SchemaType("Tensor")))),
        ("(int, Tensor)[]", SchemaType("Tuple", is_list=True, parameters=(
            SchemaType("int"), SchemaType("Tensor")))),
        ("int[][2]?", SchemaType("List", is_list=True, size=2, optional=True, parameters=(
            SchemaType("int", is_list=True),))),
    ],
)  # fmt: skip
def test_types(text: str, kind: SchemaType) -> None:
    assert parse(f"f({text} x) -> ()").arguments[0].type == kind
    assert str(kind) == text


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("Tensor(a)", Alias(("a",))),
        ("Tensor(a!)", Alias(("a",), is_write=True)),
        ("Tensor(a -> *)", Alias(("a",), after=("*",))),
        ("Tensor(a! -> a|b)?", Alias(("a",), is_write=True, after=("a", "b"))),
        ("Tensor(b|a)", Alias(("b", "a"))),
        ("Tensor(a)[]", Alias(("a",))),
        ("Tensor(a!)?[]", Alias(("a",), is_write=True)),
        ("t[](a!)", Alias(("a",), is_write=True, of_list=True)),
    ],
)
def test_aliases(text: str, alias: Alias) -> None:
    schema = parse(f"f({text} x) -> {text}")
    assert schema.arguments[0].alias == alias
    assert schema.returns[0].alias == alias
    assert str(schema) == f"aten::f({text} x) -> {text}"


@pytest.mark.parametrize(
    ("text", "value", "printed"),
    [
        ("int x=-1", -1, "-1"),
        ("int reduction=Mean", 1, "1"),
        ("float x=1", 1.0, "1.0"),
        ("float x=1e-05", 1e-05, "1e-05"),
        ("float x=.5", 0.5, "0.5"),
        ("float x=1.", 1.0, "1.0"),
        ("float x=-inf", float("-inf"), "-inf"),
        ("Scalar x=2", 2, "2"),
        ("Scalar x=0.125", 0.125, "0.125"),
        ("bool x=True", True, "True"),
        ("int[2] x=0", (0, 0), "0"),
        ("int[2] x=[0, 1]", (0, 1), "[0, 1]"),
        ("int[1] x=[-2,-1]", (-2, -1), "[-2, -1]"),
        ("int[2] x=[]", (), "[]"),
        ("int[]? x=None", None, "None"),
        ("str x='linear'", "linear", '"linear"'),
        ('str x="\\"\\\\\\n"', '"\\\n', '"\\"\\\\\\n"'),
        ("ScalarType? x=long", "long", "long"),
        ("MemoryFormat x=contiguous_format", "contiguous_format", "contiguous_format"),
    ],
)
def test_defaults(text: str, value: object, printed: str) -> None:
    schema = parse(f"f({text}) -> ()")
    default = schema.arguments[0].default
    assert default == value
    assert type(default) is type(value)
    assert str(schema.arguments[0]).endswith(f"={printed}")
    assert parse(str(schema)) == schema


def test_no_default_is_missing_and_none_is_a_default() -> None:
    required, optional = parse("f(Tensor? x, *, Tensor? y=None) -> ()").arguments
    assert required.is_required
    assert required.default is MISSING
    assert not optional.is_required
    assert optional.default is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("()", []),
        ("Tensor", [None]),
        ("(Tensor values, Tensor indices)", ["values", "indices"]),
        ("(Tensor, Tensor[])", [None, None]),
        ("Tensor[]", [None]),
        ("(Tensor value)", ["value"]),
        ("((int, Tensor))", [None]),
    ],
)
def test_returns(text: str, names: list[str | None]) -> None:
    schema = parse(f"f() -> {text}")
    assert [each.name for each in schema.returns] == names
    assert str(schema) == f"aten::f() -> {text}"


def test_variadic_signatures() -> None:
    schema = parse("prim::f(Tensor a, ...) -> ...")
    assert schema.variadic
    assert schema.variadic_returns
    assert str(schema) == "prim::f(Tensor a, ...) -> ..."


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("add", 3),
        ("add(Tensor self", 15),
        ("add(Tensor self,) -> Tensor", 16),
        ("add(Tensor) -> Tensor", 10),
        ("add(Tensor self) Tensor", 17),
        ("add(Tensor self) ->", 19),
        ("add(Tensor self) -> Tensor extra more", 33),
        ("add(Tensor self, %) -> Tensor", 17),
        ("add(Tensor[x] self) -> Tensor", 11),
        ("add(Tensor self, Tensor self) -> Tensor", 17),
        ("add(Tensor(a self) -> Tensor", 13),
        ("add(int x='a') -> Tensor", 10),
        ("add(int x=1.5) -> Tensor", 10),
        ("add(int x=None) -> Tensor", 10),
        ("add(int[] x=0) -> Tensor", 12),
        ("add(int x=[0]) -> Tensor", 10),
        ("add(bool x=1) -> Tensor", 11),
        ("add(str x=abc, int y=) -> Tensor", 21),
        ("add(*, *, int x) -> Tensor", 7),
        ("add.(Tensor self) -> Tensor", 4),
    ],
)
def test_bad_text_names_the_position(text: str, position: int) -> None:
    with pytest.raises(ValueError, match=rf"schema: expected .* at position {position} of"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "inplace"),
    [
        ("relu_(Tensor(a!) self) -> Tensor(a!)", True),
        ("relu(Tensor self) -> Tensor", False),
        ("_index_put_impl_(Tensor(a!) self) -> Tensor(a!)", True),
        ("__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", True),
        ("__and__.Scalar(Tensor self, Scalar other) -> Tensor", False),
        ("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", False),
        ("odd_(Tensor self) -> Tensor", False),
    ],
)
def test_is_inplace(text: str, inplace: bool) -> None:
    assert parse(text).is_inplace is inplace


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (ADD, "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"),
        ("t(Tensor(a) self) -> Tensor(a)", "t_(Tensor(a!) self) -> Tensor(a!)"),
        ("dropout(Tensor input, float p) -> Tensor",
         "dropout_(Tensor(a!) self, float p) -> Tensor(a!)"),
        ("__and__(Tensor self) -> Tensor", "__iand__(Tensor(a!) self) -> Tensor(a!)"),
        ("noisy(Tensor self, Tensor(b!) noise) -> Tensor",
         "noisy_(Tensor(a!) self, Tensor(b!) noise) -> Tensor(a!)"),
    ],
)  # fmt: skip
def test_with_inplace(text: str, want: str) -> None:
    derived = parse(text).with_inplace()
    assert str(derived) == f"aten::{want}"
    assert derived.is_inplace


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (ADD, "add.Tensor_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)"
         " -> Tensor(a!)"),
        ("relu(Tensor self) -> Tensor", "relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
        ("sort(Tensor self) -> (Tensor values, Tensor indices)",
         "sort.out(Tensor self, *, Tensor(a!) values, Tensor(b!) indices)"
         " -> (Tensor(a!) values, Tensor(b!) indices)"),
        ("pair(Tensor self) -> (Tensor, Tensor)",
         "pair.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"),
        ("cut(Tensor(a -> *) self) -> Tensor(a)[]",
         "cut.out(Tensor self, *, Tensor(a!)[] out) -> ()"),
        ("noisy(Tensor self, Tensor(a!) noise) -> Tensor",
         "noisy.out(Tensor self, Tensor(a!) noise, *, Tensor(b!) out) -> Tensor(b!)"),
    ],
)  # fmt: skip
def test_with_out(text: str, want: str) -> None:
    derived = parse(text).with_out()
    assert str(derived) == f"aten::{want}"
    assert [each.name for each in derived.outs] != []


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor[] self) -> Tensor",
        "f(Scalar self, Tensor other) -> Tensor",
        "f(Tensor self) -> (Tensor, Tensor)",
        "f() -> Tensor",
    ],
)
def test_no_inplace_variant(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape("aten::f: expected")):
        parse(text).with_inplace()


@pytest.mark.parametrize("text", ["f(Tensor self) -> bool", "f(Tensor self) -> ()"])
def test_no_out_variant(text: str) -> None:
    with pytest.raises(ValueError, match="aten::f: expected Tensor results"):
        parse(text).with_out()


BASES = st.sampled_from(["Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "Device"])
LISTS = st.builds(
    SchemaType,
    BASES,
    optional=st.booleans(),
    is_list=st.just(True),
    size=st.none() | st.integers(1, 4),
    optional_element=st.booleans(),
)
TYPES = st.builds(SchemaType, BASES, optional=st.booleans()) | LISTS
ALIASES = st.none() | st.builds(
    Alias,
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True).map(tuple),
    is_write=st.booleans(),
    after=st.just(()) | st.just(("*",)),
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)


@given(
    st.lists(st.tuples(NAMES, TYPES, ALIASES), max_size=4, unique_by=lambda each: each[0]),
    st.lists(st.tuples(st.none() | NAMES, TYPES, ALIASES), max_size=3),
    st.text(max_size=5),
)
def test_what_is_printed_is_read_back(
    arguments: list[tuple[str, SchemaType, Alias | None]],
    returns: list[tuple[str | None, SchemaType, Alias | None]],
    word: str,
) -> None:
    bound = [Argument(name, kind, alias=alias) for name, kind, alias in arguments]
    last = Argument("last_word", SchemaType("str"), default=word, keyword_only=True)
    results = tuple(Return(kind, name, alias) for name, kind, alias in returns)
    schema = Schema("ns", "f", "x", (*bound, last), results)
    assert parse(str(schema)) == schema
