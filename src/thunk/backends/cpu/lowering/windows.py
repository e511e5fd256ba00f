"""Windows of signals, and the places of triangles: results that are made from numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy

from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.types import dtype as d

MOST_PLACES = 1 << 16  # places that a program brings along


def _window(name: str, needs: str, height: Callable[..., Expression]) -> None:
    """`height(loops, place, *numbers)` of places from 0 to 1, in double precision."""

    @lowering(name)
    def lower(at: At, length: int, periodic: bool, *rest: Any) -> None:
        if at.result.dtype.is_complex:
            raise Unsupported("complex windows")
        at.math_known(needs)
        domain = at.points()
        if length <= 1:
            domain.store(at.terms.constant(1, at.result.dtype))
            return
        place = domain.place(0).to(d.float64) / float(length if periodic else length - 1)
        domain.store(height(domain, place, *rest))


def _hamming(domain: Domain, place: Expression, alpha: Any, beta: Any, *rest: Any) -> Expression:
    wave = (place * (2 * pi)).math("cos")
    return domain.number(alpha, d.float64) - domain.number(beta, d.float64) * wave


def _bartlett(domain: Domain, place: Expression, *rest: Any) -> Expression:
    return 1 - (2 * place - 1).unary("abs")


def _blackman(domain: Domain, place: Expression, *rest: Any) -> Expression:
    angle = place * (2 * pi)
    return 0.42 - 0.5 * angle.math("cos") + 0.08 * (2 * angle).math("cos")


def _kaiser(domain: Domain, place: Expression, beta: Any, *rest: Any) -> Expression:
    across = 2 * place - 1
    factor = domain.number(beta, d.float64)
    bulge = (1 - across * across).maximum(0).unary("sqrt")
    return (factor * bulge).math("i0") / factor.math("i0")


_window("hamming_window.periodic_alpha_beta", "cos", _hamming)
_window("bartlett_window.periodic", "", _bartlett)
_window("blackman_window.periodic", "cos", _blackman)
_window("kaiser_window.beta", "i0", _kaiser)


def _triangle(name: str, places: Callable[..., Any]) -> None:
    @lowering(name)
    def lower(at: At, row: int, col: int, offset: int, *rest: Any) -> None:
        if at.result.numel > MOST_PLACES:
            raise Unsupported("many places")
        found = numpy.stack(places(row, offset, col)).astype(numpy.int64)
        domain = at.points()
        domain.store(domain.table(found, (0, 1)))


_triangle("tril_indices", numpy.tril_indices)
_triangle("triu_indices", numpy.triu_indices)
