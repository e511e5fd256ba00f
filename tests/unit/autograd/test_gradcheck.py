"""gradcheck and gradgradcheck find gradients that are wrong, and say which entry of which input."""

from __future__ import annotations

from typing import Any

import pytest

import thunk
from thunk.autograd import Function, gradcheck, gradgradcheck


def doubles(*values: float) -> Any:
    return thunk.tensor(values, dtype=thunk.float64, requires_grad=True)


def with_backward(backward: Any) -> Any:
    """x ** 3 with another gradient than 3 x ** 2."""

    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

    Cube.backward = staticmethod(lambda ctx, grad: backward(ctx.saved_tensors[0], grad))
    return Cube.apply


def test_what_is_right_passes() -> None:
    cube = with_backward(lambda x, grad: 3 * x**2 * grad)
    assert gradcheck(cube, (doubles(1, -2),))
    assert gradgradcheck(cube, (doubles(1, -2),))
    assert gradcheck(lambda x, y: (x @ y, x.sum()), (doubles(1, 2), doubles(3, 4)))


@pytest.mark.parametrize(
    "backward",
    [
        lambda x, grad: 3 * x**2,
        lambda x, grad: 3.01 * x**2 * grad,
        lambda x, grad: (3 * x**2 * grad).flip(0),
        lambda x, grad: None,
        lambda x, grad: grad.sum() * 3 * x**2,
    ],
    ids=["ignores the upstream gradient", "off by a little", "misplaced", "missing", "mixed"],
)
def test_what_is_wrong_is_found(backward: Any) -> None:
    function = with_backward(backward)

    def scaled(x: Any) -> Any:
        return function(x) * thunk.tensor([2.0, 5.0], dtype=thunk.float64)

    with pytest.raises(RuntimeError, match="Jacobian"):
        gradcheck(scaled, (doubles(1, -2),))
    assert gradcheck(scaled, (doubles(1, -2),), raise_exception=False) is False


def test_a_wrong_second_gradient_is_found() -> None:
    function = with_backward(lambda x, grad: 3 * (x * x).detach() * grad)
    assert gradcheck(function, (doubles(1, -2),))
    assert not gradgradcheck(function, (doubles(1, -2),), raise_exception=False)


def test_chance_is_found() -> None:
    with pytest.raises(RuntimeError):
        gradcheck(lambda x: x * thunk.rand(2, dtype=thunk.float64), (doubles(1, 2),))


def test_inputs_must_be_precise_and_wanted() -> None:
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(lambda x: x * 2, (doubles(1).detach(),))
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(lambda x: x * 2, (doubles(1).detach().float().requires_grad_(),), atol=1e-1)
