"""docs/operators.md says what the declarations say, and lists each of them."""

from pathlib import Path

import pytest

import make_operators
from thunk.ir.opdef import MissingGradient, NoGradient, OpDef, gradients
from thunk.ir.schema import parse
from thunk.ops.registry import all_ops

ROOT = Path(__file__).resolve().parents[2]
WHERE = "/anywhere/thunk/ops/pointwise/arithmetic.py:12"


def sample(schema: str, **facts: object) -> OpDef:
    return OpDef(**{"schema": parse(schema), "doc": "A result.", "where": WHERE, **facts})


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_operators.main(["--check"]) == 0, capsys.readouterr().out


def test_every_declaration_has_one_row() -> None:
    rows = [
        line.replace("\\|", "|")
        for line in (ROOT / make_operators.PAGE).read_text().splitlines()
        if line.startswith("| `")
    ]
    schemas = [line.split("`")[1] for line in rows]
    assert sorted(schemas) == sorted(str(op.schema) for op in all_ops() if op.functional is None)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"gradient": NoGradient("it counts")}, "none: it counts"),
        ({"gradient": MissingGradient("not derived")}, "missing: not derived"),
        ({"gradient": gradients({"self": lambda grad: grad})}, "formula"),
        ({"decompose": lambda self: self}, "of its parts"),
    ],
)
def test_how_a_gradient_is_told(facts: dict[str, object], words: str) -> None:
    op = sample("ns::f(Tensor self) -> Tensor", **facts)
    assert f"| {words} |" in make_operators.rendered([op])


def test_flags_variants_and_scalars_are_told() -> None:
    op = sample(
        "ns::f(Tensor(a|b) self, *, Scalar alpha=1) -> Tensor",
        gradient=NoGradient("none"),
        random=True,
        raises_on_data=frozenset({"self"}),
        variants=frozenset({"function", "out"}),
    )
    changed = sample("ns::f_(Tensor(a!) self, *, Scalar alpha=1) -> Tensor(a!)", functional=op)
    (line,) = [
        line
        for line in make_operators.rendered([op, changed]).splitlines()
        if line.startswith("| `")
    ]
    assert line.endswith(
        "| primitive | random; may raise on data; also `f_`; `out=`; at run time: `alpha` |"
    )
    assert r"Tensor(a\|b) self" in line


def test_the_family_is_the_folder_of_the_declaration() -> None:
    op = sample("ns::f(Tensor self) -> Tensor", gradient=NoGradient("none"))
    assert "\n## pointwise\n" in make_operators.rendered([op])
    op.where = "/home/user/script.py:3"
    assert "\n## elsewhere\n" in make_operators.rendered([op])
