"""Derivatives and batched forms of functions are those of `torch.func`."""

from typing import Any

import pytest
import torch

import thunk

LIBRARIES = (torch, thunk)


def numbers(tree: Any) -> list[float]:
    if isinstance(tree, dict):
        return [each for key in sorted(tree) for each in numbers(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [each for value in tree for each in numbers(value)]
    return [float(each) for each in tree.detach().flatten().tolist()]


def same(compute: Any) -> None:
    found = []
    for library in LIBRARIES:
        library.manual_seed(0)
        found.append(numbers(compute(library)))
    assert found[0], "nothing was compared"
    assert found[1] == pytest.approx(found[0], rel=1e-4, abs=1e-6)


def test_gradients() -> None:
    same(lambda T: T.func.grad(lambda x: (x.sin() ** 2).sum())(T.randn(4)))
    same(lambda T: T.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(T.randn(3), T.randn(3)))
    same(lambda T: T.func.grad(lambda p: (p["a"] * p["b"]).sum())({"a": T.rand(2), "b": T.rand(2)}))
    same(lambda T: T.func.grad_and_value(lambda x: (x**3).sum())(T.randn(3)))
    same(lambda T: T.func.grad(lambda x: ((x**2).sum(), x * 2), has_aux=True)(T.randn(3)))
    same(lambda T: T.func.grad(T.func.grad(lambda x: x.sin()))(T.tensor(0.5)))
    same(lambda T: T.func.grad(lambda x: T.func.grad(lambda y: x * y**2)(x))(T.tensor(3.0)))
    same(lambda T: T.func.grad(lambda x: T.ones(()))(T.randn(3)))


def test_plain_inputs_give_plain_results() -> None:
    for library in LIBRARIES:
        assert not library.func.grad(lambda x: x.sin())(library.tensor(0.5)).requires_grad
        x = library.tensor(0.5, requires_grad=True)
        result = library.func.grad(lambda x: x.sin())(x)
        (second,) = library.autograd.grad(result, x)
        assert second.item() == pytest.approx(-0.479425, rel=1e-4)
        with library.no_grad():
            assert library.func.grad(lambda x: x**2)(library.tensor(3.0)).item() == 6.0


def test_jacobians() -> None:
    def f(x: Any) -> Any:
        return x.sin()[:, None] * x[None, :2]

    for name in ("jacrev", "jacfwd"):
        same(lambda T, name=name: getattr(T.func, name)(f)(T.randn(3)))
        same(lambda T, name=name: getattr(T.func, name)(lambda x, y: x * y, argnums=(0, 1))(
            T.randn(3), T.randn(3)))  # fmt: skip
    same(lambda T: T.func.hessian(lambda x: (x**3).sum() * x[0])(T.randn(3)))
    assert thunk.func.jacrev(f)(thunk.randn(3)).shape == (3, 2, 3)


def test_products() -> None:
    def pulled(T: Any) -> Any:
        output, pull = T.func.vjp(lambda x, y: (x * y, x.sin()), T.randn(3), T.randn(3))
        return output, pull((T.ones(3), T.randn(3)))

    same(pulled)
    same(lambda T: T.func.jvp(lambda x, y: x.exp() * y, (T.randn(3), T.randn(3)),
                              (T.randn(3), T.randn(3))))  # fmt: skip


def test_batches() -> None:
    same(lambda T: T.vmap(T.dot)(T.randn(4, 3), T.randn(4, 3)))
    same(lambda T: T.vmap(T.mv, in_dims=(None, 1), out_dims=1)(T.randn(2, 3), T.randn(3, 5)))
    same(lambda T: T.vmap(lambda d, s: d["a"] * s, in_dims=({"a": 0}, None))(
        {"a": T.randn(3, 2)}, 2.0))  # fmt: skip
    same(lambda T: T.vmap(lambda x: (x.sum(), x * 2), out_dims=(0, 1))(T.randn(3, 2)))
    same(lambda T: T.vmap(T.vmap(lambda x, y: x * y))(T.randn(2, 3), T.randn(2, 3)))
    for library in LIBRARIES:
        with pytest.raises(ValueError):
            library.vmap(library.dot)(library.ones(2, 3), library.ones(3, 3))
        with pytest.raises(ValueError):
            library.vmap(library.dot, in_dims=(0,))(library.ones(2, 3), library.ones(2, 3))
        with pytest.raises(ValueError):
            library.vmap(lambda x: 1)(library.ones(2))


def test_gradients_of_each_example() -> None:
    def compute(T: Any) -> Any:
        model = T.nn.Linear(3, 2)
        parameters = {name: each.detach() for name, each in model.named_parameters()}

        def loss(parameters: Any, x: Any, y: Any) -> Any:
            output = T.func.functional_call(model, parameters, (x.unsqueeze(0),))
            return T.nn.functional.cross_entropy(output, y.unsqueeze(0))

        return T.vmap(T.func.grad(loss), in_dims=(None, 0, 0))(
            parameters, T.randn(5, 3), T.randint(0, 2, (5,))
        )

    same(compute)


def test_mistakes() -> None:
    for library in LIBRARIES:
        with pytest.raises(RuntimeError):
            library.func.grad(lambda x: x * 2)(library.ones(3))
        with pytest.raises(RuntimeError):
            library.vmap(lambda x: x, randomness="some")(library.ones(3))
