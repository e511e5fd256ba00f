"""Factorizations give back their matrices, at sizes beyond one block and in batches."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import thunk
from thunk.autograd.gradcheck import gradcheck

SIZE = 70  # more than two blocks of columns


def _matrix(*shape: int, is_complex: bool = False) -> Any:
    generator = numpy.random.default_rng(sum(shape))
    values = generator.standard_normal(shape)
    if is_complex:
        values = values + 1j * generator.standard_normal(shape)
    return thunk.from_numpy(values)


def _close(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    assert tuple(found.shape) == tuple(wanted.shape)
    difference = (found - wanted).abs()
    assert not difference.numel() or difference.max().item() < tolerance


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("rows, columns", [(SIZE, SIZE), (SIZE, 40), (40, SIZE), (3, 3), (0, 3)])
def test_lu_multiplies_back(rows: int, columns: int, is_complex: bool) -> None:
    a = _matrix(2, rows, columns, is_complex=is_complex)
    p, lower, upper = thunk.linalg.lu(a)
    _close(p @ lower @ upper, a)
    packed, pivots = thunk.linalg.lu_factor(a)
    for left, right in zip(thunk.lu_unpack(packed, pivots), (p, lower, upper), strict=True):
        _close(left, right)


@pytest.mark.parametrize("is_complex", [False, True])
def test_solutions_solve(is_complex: bool) -> None:
    a = _matrix(2, 1, SIZE, SIZE, is_complex=is_complex)
    b = _matrix(3, SIZE, 2, is_complex=is_complex)
    _close(a @ thunk.linalg.solve(a, b), b.expand(2, 3, SIZE, 2), 1e-8)
    _close(thunk.linalg.solve(a, b.mT, left=False) @ a, b.mT.expand(2, 3, 2, SIZE), 1e-8)
    packed, pivots = thunk.linalg.lu_factor(a)
    for left in (True, False):
        for adjoint in (True, False):
            side = b if left else b.mT
            x = thunk.linalg.lu_solve(packed, pivots, side, left=left, adjoint=adjoint)
            used = a.mH if adjoint else a
            back = used @ x if left else x @ used
            _close(back, side.expand(back.shape), 1e-8)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_triangles_and_cholesky(upper: bool, is_complex: bool) -> None:
    root = _matrix(2, SIZE, SIZE, is_complex=is_complex)
    a = root @ root.mH + SIZE * thunk.eye(SIZE, dtype=root.dtype)
    factor = thunk.linalg.cholesky(a, upper=upper)
    _close(factor.mH @ factor if upper else factor @ factor.mH, a)
    b = _matrix(SIZE, 3, is_complex=is_complex)
    _close(a @ thunk.cholesky_solve(b, factor, upper), b.expand(2, SIZE, 3))
    _close(a @ thunk.cholesky_inverse(factor, upper), thunk.eye(SIZE).to(a.dtype).expand_as(a))
    x = thunk.linalg.solve_triangular(factor, b, upper=upper)
    _close(factor @ x, b.expand(2, SIZE, 3))


def test_the_failing_matrix_of_a_batch_is_named() -> None:
    good, bad = thunk.eye(3), -thunk.eye(3)
    batch = thunk.stack([good, bad, good])
    factor, info = thunk.linalg.cholesky_ex(batch)
    assert info.tolist() == [0, 1, 0]
    _close(factor[2], good)
    with pytest.raises(thunk.linalg.LinAlgError, match=r"Batch element 1.*order 1"):
        thunk.linalg.cholesky(batch)
    with pytest.raises(thunk.linalg.LinAlgError, match="diagonal element 2 is zero"):
        thunk.linalg.inv(thunk.tensor([[1.0, 2.0], [2.0, 4.0]]))
    with pytest.raises(thunk.linalg.LinAlgError, match="singular"):
        thunk.linalg.solve(thunk.zeros(2, 2), thunk.ones(2))
    assert issubclass(thunk.linalg.LinAlgError, RuntimeError)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_ldl_solves(hermitian: bool, is_complex: bool) -> None:
    a = _matrix(2, 20, 20, is_complex=is_complex)
    a = a + (a.mH if hermitian else a.mT)
    packed, pivots = thunk.linalg.ldl_factor(a, hermitian=hermitian)
    b = _matrix(2, 20, 3, is_complex=is_complex)
    _close(a @ thunk.linalg.ldl_solve(packed, pivots, b, hermitian=hermitian), b)


@pytest.mark.parametrize("is_complex", [False, True])
def test_reflections_make_q(is_complex: bool) -> None:
    a = _matrix(2, 7, 4, is_complex=is_complex)
    packed, scales = thunk.geqrf(a)
    q, r = thunk.linalg.qr(a)
    _close(thunk.linalg.householder_product(packed, scales), q)
    _close(q @ r, a)
    whole = thunk.linalg.qr(a, "complete")[0]
    other = _matrix(2, 7, 3, is_complex=is_complex)
    _close(thunk.ormqr(packed, scales, other), whole @ other)
    _close(thunk.ormqr(packed, scales, other, transpose=True), whole.mH @ other)
    _close(thunk.ormqr(packed, scales, other.mH, left=False), other.mH @ whole)


def test_exponentials_of_small_large_and_broken_matrices() -> None:
    turn = thunk.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=thunk.float64)
    for angle in (1e-9, 1.0, 200.0):
        found = thunk.linalg.matrix_exp(turn * angle)
        wanted = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        _close(found, thunk.tensor(wanted, dtype=thunk.float64), 1e-12)
    both = thunk.linalg.matrix_exp(thunk.stack([turn * math.nan, turn * 0]))
    assert both[0].isnan().all()
    _close(both[1], thunk.eye(2, dtype=thunk.float64))


def test_determinants_of_singular_matrices_have_gradients() -> None:
    a = thunk.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=thunk.float64, requires_grad=True)
    thunk.linalg.det(a).backward()
    _close(a.grad, thunk.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=thunk.float64))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", ["inv", "slogdet", "lu", "qr", "eigvals", "svdvals", "pinv"])
def test_gradients(name: str, is_complex: bool) -> None:
    a = _matrix(3, 3, is_complex=is_complex).requires_grad_()
    assert gradcheck(getattr(thunk.linalg, name), (a,))


def test_gradients_that_depend_on_a_phase_are_refused() -> None:
    a = _matrix(3, 3, is_complex=True).requires_grad_()
    u = thunk.linalg.svd(a)[0]
    with pytest.raises(RuntimeError, match="phase"):
        (u * u.detach().angle()).sum().real.backward()


def test_least_squares_of_every_driver() -> None:
    a, b = _matrix(6, 3), _matrix(6, 2)
    wanted = numpy.linalg.lstsq(a.numpy(), b.numpy())
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        found = thunk.linalg.lstsq(a, b, driver=driver)
        _close(found.solution, thunk.from_numpy(wanted[0]))
        assert found.residuals.shape == ((0,) if driver == "gelsy" else (2,))
        if driver != "gels":
            assert found.rank.item() == 3
    deficient = thunk.cat([a[:, :2], a[:, :1]], 1)
    found = thunk.linalg.lstsq(deficient, b)
    assert found.rank.item() == 2
    _close(found.solution, thunk.linalg.pinv(deficient) @ b)


def test_norms_conditions_and_ranks() -> None:
    a = thunk.tensor([[3.0, 0.0], [0.0, -4.0]])
    assert thunk.linalg.norm(a).item() == 5
    assert thunk.linalg.matrix_norm(a, 2).item() == pytest.approx(4)
    assert thunk.linalg.matrix_norm(a, "nuc", keepdim=True).shape == (1, 1)
    assert thunk.linalg.matrix_norm(a, -1).item() == 3
    assert thunk.linalg.cond(a).item() == pytest.approx(4 / 3)
    assert thunk.linalg.cond(thunk.zeros(2, 2), 1).item() == math.inf
    assert thunk.linalg.matrix_rank(thunk.ones(3, 3)).item() == 1
    assert thunk.linalg.matrix_rank(a, tol=3.5).item() == 1
    with pytest.raises(RuntimeError, match="invalid norm"):
        thunk.linalg.cond(a, 3)
