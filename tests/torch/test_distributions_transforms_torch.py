"""Transforms and constraints against torch's: values, inverses, volumes, shapes, texts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from tests.torch.distribution_cases import LIBRARIES, Maker, array, assert_close, outcome

import thunk

VECTOR = [0.3, -1.2, 0.7, 2.0]
ROWS = [[0.3, -1.2, 0.7], [1.5, 0.1, -0.4]]
MATRIX = [[0.3, -1.2], [0.7, 0.2]]

TRANSFORMS: dict[str, tuple[Callable[[Maker], Any], Any]] = {
    "exp": (lambda m: m.d.ExpTransform(), VECTOR),
    "sigmoid": (lambda m: m.d.SigmoidTransform(), VECTOR),
    "softplus": (lambda m: m.d.SoftplusTransform(), VECTOR),
    "tanh": (lambda m: m.d.TanhTransform(), VECTOR),
    "abs": (lambda m: m.d.AbsTransform(), VECTOR),
    "power": (lambda m: m.d.PowerTransform(m(-1.5)), [0.3, 1.2, 2.0]),
    "power of several": (lambda m: m.d.PowerTransform(m([[2.0], [0.5]])), [0.3, 1.2, 2.0]),
    "affine": (lambda m: m.d.AffineTransform(0.5, -2.0), VECTOR),
    "affine of events": (lambda m: m.d.AffineTransform(m(0.5), m([1.0, -2.0, 3.0]), 1), ROWS),
    "inverse": (lambda m: m.d.SigmoidTransform().inv, [0.3, 0.9]),
    "composed": (
        lambda m: m.d.ComposeTransform(
            [m.d.AffineTransform(1.0, m([2.0, 0.5, 1.0])), m.d.ExpTransform()]
        ),
        ROWS,
    ),
    "composed of vectors": (
        lambda m: m.d.ComposeTransform([m.d.TanhTransform(), m.d.StickBreakingTransform()]), ROWS,
    ),
    "nothing": (lambda m: m.d.identity_transform, VECTOR),
    "independent": (lambda m: m.d.IndependentTransform(m.d.ExpTransform(), 1), ROWS),
    "reshaped": (lambda m: m.d.ReshapeTransform((3,), (3, 1)), ROWS),
    "softmax": (lambda m: m.d.SoftmaxTransform(), ROWS),
    "stick breaking": (lambda m: m.d.StickBreakingTransform(), ROWS),
    "correlation": (lambda m: m.d.CorrCholeskyTransform(), ROWS),
    "lower Cholesky": (lambda m: m.d.LowerCholeskyTransform(), MATRIX),
    "positive definite": (lambda m: m.d.PositiveDefiniteTransform(), MATRIX),
    "cat": (
        lambda m: m.d.CatTransform([m.d.ExpTransform(), m.d.identity_transform], -1, [1, 2]), ROWS,
    ),
    "cat of rows": (
        lambda m: m.d.CatTransform(
            [m.d.AffineTransform(0.0, 2.0, 1), m.d.AffineTransform(1.0, 3.0, 1)], 0
        ),
        ROWS,
    ),
    "stack": (lambda m: m.d.StackTransform([m.d.ExpTransform(), m.d.TanhTransform()], 0), ROWS),
    "cumulative": (
        lambda m: m.d.CumulativeDistributionTransform(m.d.Normal(m(0.5), m(2.0))), VECTOR,
    ),
}  # fmt: skip


def pairs(name: str) -> list[tuple[Maker, Any, Any]]:
    make, value = TRANSFORMS[name]
    made = []
    for library in LIBRARIES:
        maker = Maker(library)
        made.append((maker, make(maker), maker(value)))
    return made


@pytest.mark.parametrize("name", list(TRANSFORMS))
@pytest.mark.parametrize("cache_size", [0, 1])
def test_values_inverses_and_volumes(name: str, cache_size: int) -> None:
    results = []
    for maker, transform, x in pairs(name):
        cached = outcome(lambda each=transform: each.with_cache(cache_size))
        if isinstance(cached, type):
            results.append([cached])
            continue
        y = cached(x)
        if cache_size and name not in ("inverse", "nothing", "composed", "composed of vectors"):
            assert cached(x) is y
        found = [y, outcome(lambda c=cached, y=y: c.inv(y.detach().clone()))]
        found.append(outcome(lambda c=cached, x=x, y=y: c.log_abs_det_jacobian(x, y)))
        found.append(outcome(lambda c=cached, x=x, y=y: c.inv.log_abs_det_jacobian(y, x)))
        y.sum().backward(retain_graph=True)
        found += [each.grad for each in maker.leaves]
        results.append(found)
    for wanted, got in zip(*results, strict=True):
        if isinstance(wanted, type):
            assert got is wanted
        elif wanted is None:
            assert got is None
        else:
            assert_close(got, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_facts_shapes_and_texts(name: str) -> None:
    facts = []
    for maker, transform, x in pairs(name):
        domain, codomain = transform.domain, transform.codomain
        facts.append(
            [
                repr(transform),
                transform.bijective,
                outcome(lambda t=transform: t.event_dim),
                outcome(lambda t=transform: numpy.asarray(array(t.sign)).tolist()
                        if hasattr(t.sign, "detach") else t.sign),
                repr(domain), repr(codomain), domain.event_dim, codomain.event_dim,
                outcome(lambda t=transform, x=x: tuple(t.forward_shape(x.shape))),
                outcome(lambda t=transform, x=x: tuple(t.inverse_shape(t(x).shape))),
                outcome(lambda t=transform, m=maker: tuple(t.forward_shape(m.library.Size([])))),
                outcome(lambda t=transform, x=x: t.domain.check(x).tolist()),
                outcome(lambda t=transform, x=x: t.codomain.check(t(x)).tolist()),
                transform == TRANSFORMS[name][0](maker),
                transform == maker.d.ExpTransform(),
                transform.inv.inv is transform or name == "inverse",
            ]
        )  # fmt: skip
    assert facts[1] == facts[0]


def test_a_cache_gives_the_argument_back() -> None:
    for library in LIBRARIES:
        transform = library.distributions.SigmoidTransform(cache_size=1)
        x = library.tensor([30.0])
        y = transform(x)
        assert transform.inv(y) is x
        assert transform.inv.inv(x) is y
        assert pickle.loads(pickle.dumps(transform)) == transform
        assert copy.deepcopy(transform) == transform
        with pytest.raises(ValueError):
            library.distributions.ExpTransform(cache_size=2)
        with pytest.raises(ValueError):
            library.distributions.ReshapeTransform((2,), (3,))


CONSTRAINTS: dict[str, Callable[[Any, Maker], Any]] = {
    "real": lambda c, m: c.real,
    "real_vector": lambda c, m: c.real_vector,
    "boolean": lambda c, m: c.boolean,
    "one_hot": lambda c, m: c.one_hot,
    "nonnegative_integer": lambda c, m: c.nonnegative_integer,
    "positive_integer": lambda c, m: c.positive_integer,
    "integer_interval": lambda c, m: c.integer_interval(-1, 2),
    "positive": lambda c, m: c.positive,
    "nonnegative": lambda c, m: c.nonnegative,
    "greater_than": lambda c, m: c.greater_than(0.5),
    "greater_than_eq": lambda c, m: c.greater_than_eq(-2),
    "less_than": lambda c, m: c.less_than(0.5),
    "multinomial": lambda c, m: c.multinomial(3),
    "unit_interval": lambda c, m: c.unit_interval,
    "interval": lambda c, m: c.interval(-1.0, 2.0),
    "interval of tensors": lambda c, m: c.interval(m.constant([-1.0, 0.0]), m.constant(1.5)),
    "half_open_interval": lambda c, m: c.half_open_interval(0.0, 1.0),
    "simplex": lambda c, m: c.simplex,
    "lower_triangular": lambda c, m: c.lower_triangular,
    "lower_cholesky": lambda c, m: c.lower_cholesky,
    "corr_cholesky": lambda c, m: c.corr_cholesky,
    "square": lambda c, m: c.square,
    "symmetric": lambda c, m: c.symmetric,
    "positive_semidefinite": lambda c, m: c.positive_semidefinite,
    "positive_definite": lambda c, m: c.positive_definite,
    "independent": lambda c, m: c.independent(c.positive, 2),
    "cat": lambda c, m: c.cat([c.positive, c.interval(0.0, 1.0)], -1, [1, 1]),
    "stack": lambda c, m: c.stack([c.positive, c.real], -1),
    "mixture": lambda c, m: c.MixtureSameFamilyConstraint(c.positive),
    "dependent": lambda c, m: c.dependent,
    "dependent, known": lambda c, m: c.dependent(is_discrete=True, event_dim=1),
}  # fmt: skip

VALUES = [
    [0.0, 1.0], [0.25, 0.75], [[1.0, 0.0], [0.5, 2.0]], [[1.0, 0.2], [0.2, 1.0]], [[1.0, 2.0]] * 2,
    [float("nan"), 3.0], [[1.0, 0.0], [0.6, 0.8]], [[-1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], 2.0,
    [[[1.0, 0.0]]], [[1.0, 0.0], [0.0, 0.0]],
]  # fmt: skip


@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_constraints_judge_as_torchs(name: str) -> None:
    facts = []
    for library in LIBRARIES:
        maker = Maker(library)
        constraint = CONSTRAINTS[name](library.distributions.constraints, maker)
        found: list[Any] = [
            repr(constraint),
            outcome(lambda c=constraint: c.is_discrete),
            outcome(lambda c=constraint: c.event_dim),
            library.distributions.constraints.is_dependent(constraint),
        ]
        for value in VALUES:
            given = maker.constant(value)
            found.append(outcome(lambda c=constraint, v=given: c.check(v).tolist()))
        facts.append(found)
    for at, (wanted, got) in enumerate(zip(*facts, strict=True)):
        assert got == wanted, VALUES[at - 4] if at >= 4 else at


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_transforms_onto_constraints(name: str, registry: str) -> None:
    results = []
    for library in LIBRARIES:
        maker = Maker(library)
        constraint = CONSTRAINTS[name](library.distributions.constraints, maker)
        made = outcome(lambda d=library.distributions, c=constraint: getattr(d, registry)(c))
        if isinstance(made, type):
            results.append(made)
            continue
        shape = (2, 2) if made.domain.event_dim == 2 else (2, 3)
        shape = (2, 2) if name in ("cat", "stack", "interval of tensors") else shape
        x = maker.constant(numpy.linspace(-1.5, 2.0, shape[0] * shape[1]).reshape(shape).tolist())
        y = made(x)
        assert bool(constraint.check(y).all())
        results.append(y)
    if isinstance(results[0], type):
        assert results[1] is results[0]
    else:
        assert_close(results[1], results[0])


def test_registries_take_new_constraints() -> None:
    for library in LIBRARIES:
        d = library.distributions

        class Even(d.constraints.Constraint):  # type: ignore[misc, name-defined]
            def check(self, value: Any) -> Any:
                return value % 2 == 0

        with pytest.raises(NotImplementedError):
            d.biject_to(Even())

        @d.biject_to.register(Even)
        def _make(constraint: Any, d: Any = d) -> Any:
            return d.AffineTransform(0, 2)

        assert d.biject_to(Even()).scale == 2
        assert repr(Even()) == "ven()"
        with pytest.raises(TypeError):
            d.transform_to.register(3, lambda c: c)


def test_triangles_of_matrices() -> None:
    for diag in (-2, -1, 0, 1):
        results = []
        for library in LIBRARIES:
            utils = library.distributions.utils
            matrix = library.arange(18.0).reshape(2, 3, 3)
            vector = utils.tril_matrix_to_vec(matrix, diag)
            back = outcome(lambda u=utils, v=vector, d=diag: u.vec_to_tril_matrix(v, d).tolist())
            results.append((vector.tolist(), back))
        assert results[1] == results[0]
    for library in LIBRARIES:
        utils = library.distributions.utils
        with pytest.raises(ValueError):
            utils.tril_matrix_to_vec(library.ones(2, 2), 5)
        with pytest.raises(ValueError):
            utils.vec_to_tril_matrix(library.ones(5))


def test_lazy_properties_are_computed_once_with_gradients() -> None:
    calls: list[int] = []
    for library in LIBRARIES:
        class Holder:
            @library.distributions.utils.lazy_property
            def double(self, library: Any = library) -> Any:
                """Twice."""
                calls.append(1)
                return library.ones(1, requires_grad=True) * 2

        holder = Holder()
        with library.no_grad():
            first = holder.double
        assert first is holder.double
        assert first.requires_grad
    assert len(calls) == 2


def test_the_same_names_are_public() -> None:
    theirs = set(torch.distributions.__all__) - {"Wishart"}
    assert theirs - set(dir(thunk.distributions)) == set()
    for part in ("constraints", "transforms"):
        names = set(getattr(torch.distributions, part).__all__)
        assert names - set(dir(getattr(thunk.distributions, part))) == set()
