"""First and second gradients of reductions and scans where delicate: ties, zeros, infinity.

In: nothing. Out: a failure naming each call whose gradients are not torch's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import thunk

INF = float("inf")
Call = Callable[[Any, Any], Any]


def gradients(library: Any, call: Call, values: Any, twice: bool) -> list[Any]:
    """The gradient of the weighted results, and that of its weighted self."""
    x = library.from_numpy(values.copy()).requires_grad_(True)
    found = call(library, x)
    results = found if isinstance(found, tuple) else (found,)
    total = sum((weighted(library, each) for each in results if each.requires_grad), start=0)
    (first,) = library.autograd.grad(total, [x], create_graph=twice)
    if not twice:
        return [first]
    if not first.requires_grad:
        return [first, None]
    second = library.autograd.grad(weighted(library, first), [x], allow_unused=True)[0]
    return [first, second]


def weighted(library: Any, value: Any) -> Any:
    weights = numpy.cos(numpy.arange(max(value.numel(), 1)) + 1.0)[: value.numel()]
    return (value * library.from_numpy(weights).reshape(tuple(value.shape))).sum()


def check(call: Call, values: Any, twice: bool = True) -> None:
    array = numpy.array(values, dtype=numpy.float64)
    expected = gradients(torch, call, array, twice)
    actual = gradients(thunk, call, array, twice)
    for order, (left, right) in enumerate(zip(expected, actual, strict=True), 1):
        wanted = numpy.zeros_like(array) if left is None else left.detach().numpy(force=True)
        got = numpy.zeros_like(array) if right is None else right.detach().numpy()
        numpy.testing.assert_allclose(
            got, wanted, rtol=1e-7, atol=1e-12, err_msg=f"gradient {order} at {values}"
        )


TIES = [[1.0, 3.0, 3.0, 0.0], [3.0, 3.0, 1.0, 3.0], [2.0, 2.0, 2.0, 2.0]]
ZEROS = ([1.5, -2.0, 3.0], [1.5, 0.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0], [2.0], [0.0])


@pytest.mark.parametrize("name", ("amax", "amin", "max", "min", "median", "nanmedian"))
def test_ties(name: str) -> None:
    def whole(library: Any, x: Any) -> Any:
        return getattr(library, name)(x)

    check(whole, TIES)
    check(lambda library, x: library.aminmax(x), TIES)


@pytest.mark.parametrize("dim", (0, 1))
@pytest.mark.parametrize("name", ("amax", "amin", "max", "min", "cummax", "cummin"))
def test_ties_along_a_dimension(name: str, dim: int) -> None:
    def along(library: Any, x: Any) -> Any:
        found = getattr(library, name)(x, dim)
        return found if name.startswith("am") else found[0]

    check(along, TIES)


@pytest.mark.parametrize("values", ZEROS)
def test_products_with_zeros(values: list[float]) -> None:
    check(lambda library, x: library.prod(x), values)
    check(lambda library, x: library.prod(x, 0), values)
    check(lambda library, x: library.cumprod(x, 0), values)


@pytest.mark.parametrize("order", (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, -2.5))
def test_norms(order: float) -> None:
    def norm(library: Any, x: Any) -> Any:
        return library.norm(x, order, 1)

    def any_norm(library: Any, x: Any) -> Any:
        return norm(library, x) + 0 * x.sum()

    plain = [[1.0, -2.0, 3.0], [2.0, 2.0, -2.0]]
    check(any_norm, plain)
    check(any_norm, [[0.0, 1.0, -2.0], [0.0, 0.0, 0.0]], twice=False)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("correction", (0, 1, 2, 3, 5))
def test_moments(correction: int) -> None:
    values = [[1.0, 2.0, 5.0], [3.0, 3.0, 3.0]]
    many = itertools.product(("var", "std", "var_mean", "std_mean"), (None, 0, 1))
    for name, dim in many:
        degrees = {None: 6, 0: 2, 1: 3}[dim] - correction

        def moment(library: Any, x: Any, name: str = name, dim: Any = dim) -> Any:
            return getattr(library, name)(x, dim, correction=correction)

        # The square root of a variance of zero has no second gradient to agree on.
        check(moment, values, twice=degrees > 0 and not name.startswith("std"))


def test_exponentials() -> None:
    values = [[-INF, 0.0, 1.0, -INF], [5.0, 1000.0, -1000.0, 0.0]]
    check(lambda library, x: library.logsumexp(x, 1), values)
    check(lambda library, x: library.logcumsumexp(x, 0), values[1])
    check(lambda library, x: library.logcumsumexp(x, 1), [values[0]], twice=False)
    check(lambda library, x: library.logsumexp(x, 1), [[-INF, -INF]], twice=False)


def test_order() -> None:
    check(lambda library, x: library.sort(x, dim=1, descending=True, stable=True), TIES)
    check(lambda library, x: library.topk(x, 2, 0, largest=False)[0], [[1.0, 4], [3, 2], [2, 9]])
    check(lambda library, x: library.kthvalue(x, 2, 1)[0], [[1.0, 4, 2], [3, 2, 9]])
    check(lambda library, x: library.mode(x, 1)[0], [[1.0, 4, 4], [3, 2, 9]])
    check(lambda library, x: library.quantile(x, 0.3, 1), [[1.0, 4, 2], [3, 2, 9]])
    check(lambda library, x: library.renorm(x, 2, 0, 1.5), [[1.0, 4, 2], [0.1, 0.2, 0.0]])
