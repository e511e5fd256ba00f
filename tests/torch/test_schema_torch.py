"""Every signature that PyTorch registers or declares parses, prints back and means the same."""

import re
from importlib.resources import files

import pytest

torch = pytest.importorskip("torch")

from thunk.ir.schema import Schema, parse  # noqa: E402  (after the skip)

# PyTorch names two arguments alike here, so a call could not tell them apart.
UNPARSABLE = {"static_runtime::clamp_nan_to_num"}

# PyTorch's overload called `out` belongs to another overload of these than to the unnamed one.
NAMESAKES = {"arange", "range", "mean", "std", "var", "min", "max", "all", "any"}


def registered() -> list[object]:
    return list(torch._C._jit_get_all_schemas())


def declared() -> list[str]:
    path = files("torchgen") / "packaged" / "ATen" / "native" / "native_functions.yaml"
    return re.findall(r"^- func: (.*)$", path.read_text(), re.MULTILINE)


def agrees(ours: Schema, theirs: object) -> bool:
    """Whether names, kinds, defaults and aliasing are what PyTorch says they are."""
    pairs = list(zip(ours.arguments, theirs.arguments, strict=True))
    same = all(
        mine.name == other.name
        and mine.keyword_only == other.kwarg_only
        and mine.is_required != other.has_default_value()
        and mine.is_written == bool(other.alias_info and other.alias_info.is_write)
        for mine, other in pairs
    )
    return same and len(ours.returns) == len(theirs.returns)


def test_registered_schemas_parse_and_print_back() -> None:
    wrong = []
    for theirs in registered():
        text = str(theirs)
        if text.partition("(")[0] in UNPARSABLE:
            continue
        ours = parse(text)
        if parse(str(ours)) != ours or not agrees(ours, theirs):
            wrong.append(text)
    assert wrong == []


def test_unparsable_schemas_are_really_ambiguous() -> None:
    texts = [str(each) for each in registered() if str(each).partition("(")[0] in UNPARSABLE]
    assert len(texts) == len(UNPARSABLE)
    for text in texts:
        with pytest.raises(ValueError, match="arguments of different names"):
            parse(text)


def test_defaults_have_the_values_that_pytorch_fills_in() -> None:
    compared = 0
    for theirs in registered():
        text = str(theirs)
        if not text.startswith("aten::") or "=" not in text:
            continue
        for mine, other in zip(parse(text).arguments, theirs.arguments, strict=True):
            value = other.default_value
            if mine.is_required or isinstance(mine.default, str) != isinstance(value, str):
                continue
            value = tuple(value) if isinstance(value, list) else value
            assert mine.default == value, (text, mine)
            compared += 1
    assert compared > 2500


def test_declared_schemas_parse_and_name_the_registered_ones() -> None:
    names = {str(each).partition("(")[0] for each in registered()}
    parsed = [parse(text) for text in declared()]
    assert len(parsed) > 2000
    assert [each for each in parsed if parse(str(each)) != each] == []
    # A few backends' operators are declared but not built into this wheel.
    absent = [each.full_name for each in parsed if each.full_name not in names]
    assert len(absent) < len(parsed) / 20, absent


def test_derived_variants_match_the_declared_ones() -> None:
    """Where PyTorch declares an in-place variant by hand, ours has the same arguments."""
    by_name = {each.full_name: each for each in map(parse, declared())}
    compared, wrong = 0, []
    for schema in list(by_name.values()):
        suffix = f".{schema.overload}" if schema.overload else ""
        twin = by_name.get(f"aten::{schema.name}_{suffix}")
        if twin is None or not twin.is_inplace or str(schema.returns[0]) != "Tensor":
            continue
        if str(schema.arguments[0].type) != "Tensor":
            continue  # `pow_.Scalar` is the twin of `pow.Tensor_Scalar`, whatever its name
        derived = schema.with_inplace()
        compared += 1
        if [str(each) for each in derived.arguments] != [str(each) for each in twin.arguments]:
            wrong.append((str(derived), str(twin)))
    assert compared > 150
    assert wrong == []


def test_derived_out_variants_take_what_the_declared_ones_take() -> None:
    by_name = {each.full_name: each for each in map(parse, declared())}
    compared, wrong = 0, []
    for schema in list(by_name.values()):
        twin = by_name.get(f"aten::{schema.name}.{schema.overload}_out".replace("._", "."))
        if twin is None or not twin.outs or any(str(each.type) != "Tensor" for each in twin.outs):
            continue
        derived = schema.with_out()
        if schema.name in NAMESAKES:
            continue
        compared += 1
        # Factories drop dtype and device there; the Python functions accept them beside out=.
        inputs = [str(each) for each in derived.arguments if not each.keyword_only]
        theirs = [str(each) for each in twin.arguments if not each.keyword_only]
        outs = [str(each.type) for each in derived.outs]
        if inputs != theirs or outs != [str(each.type) for each in twin.outs]:
            wrong.append((str(derived), str(twin)))
    assert compared > 450
    assert wrong == []
