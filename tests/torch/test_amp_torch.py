"""Autocast chooses PyTorch's dtypes for CPU tensors, and gradient scaling follows its rules."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import thunk

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mm": lambda T, a, b: a @ b,
    "linear": lambda T, a, b: T.nn.functional.linear(a, b),
    "bmm": lambda T, a, b: T.bmm(a[None], b[None]),
    "matmul": lambda T, a, b: T.matmul(a[None], b),
    "addmm": lambda T, a, b: T.addmm(a, a, b),
    "einsum": lambda T, a, b: T.einsum("ij,jk->ik", a, b),
    "conv1d": lambda T, a, b: T.nn.functional.conv1d(a[None], b[:, :, None]),
    "conv2d": lambda T, a, b: T.nn.functional.conv2d(a[None, None], b[None, None]),
    "attention": lambda T, a, b: T.nn.functional.scaled_dot_product_attention(
        a[None], b[None], b[None]
    ),
    "doubles": lambda T, a, b: a.double() @ b.double(),
    "half": lambda T, a, b: a.detach().half() @ b.half(),
    "add": lambda T, a, b: a.bfloat16() + b,
    "cat": lambda T, a, b: T.cat([a.to(T.get_autocast_dtype("cpu")), b]),
    "stack": lambda T, a, b: T.stack([a.to(T.get_autocast_dtype("cpu")), b]),
    "softmax": lambda T, a, b: T.softmax(a.bfloat16(), -1),
    "log_softmax": lambda T, a, b: T.log_softmax(a.bfloat16(), -1),
    "layer_norm": lambda T, a, b: T.nn.functional.layer_norm(a.bfloat16(), (4,)),
    "gelu": lambda T, a, b: T.nn.functional.gelu(a.bfloat16()),
    "sum": lambda T, a, b: a.bfloat16().sum(),
    "prod": lambda T, a, b: a.bfloat16().prod(),
    "mse_loss": lambda T, a, b: T.nn.functional.mse_loss(a.bfloat16(), b.bfloat16()),
    "l1_loss": lambda T, a, b: T.nn.functional.l1_loss(a.bfloat16(), b.bfloat16()),
    "cross_entropy": lambda T, a, b: T.nn.functional.cross_entropy(
        a.bfloat16(), T.tensor([0, 1, 2, 3])
    ),
    "nll_loss": lambda T, a, b: T.nn.functional.nll_loss(a.bfloat16(), T.tensor([0, 1, 2, 3])),
    "bce": lambda T, a, b: T.nn.functional.binary_cross_entropy(a.sigmoid(), b.sigmoid()),
    "bce_logits": lambda T, a, b: T.nn.functional.binary_cross_entropy_with_logits(a, b.sigmoid()),
    "cdist": lambda T, a, b: T.cdist(a.bfloat16(), b.bfloat16()),
    "dot": lambda T, a, b: T.dot(a[0], b[0]),
    "inplace": lambda T, a, b: T.zeros(4, 4).addmm_(a.detach(), b),
    "module": lambda T, a, b: T.nn.Sequential(T.nn.Linear(4, 4), T.nn.ReLU(), T.nn.Linear(4, 2))(a),
}


def operands(library: Any) -> tuple[Any, Any]:
    library.manual_seed(0)
    return library.randn(4, 4, requires_grad=True), library.randn(4, 4)


@pytest.mark.parametrize("element", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", CALLS)
def test_results_have_torch_s_dtype_and_value(name: str, element: str) -> None:
    found = []
    for library in (torch, thunk):
        a, b = operands(library)
        with library.autocast("cpu", dtype=getattr(library, element)):
            found.append(CALLS[name](library, a, b))
    theirs, ours = found
    assert str(ours.dtype) == str(theirs.dtype)
    for one, other in zip(ours.float().reshape(-1).tolist(), theirs.float().reshape(-1).tolist()):
        assert one == pytest.approx(other, rel=3e-2, abs=3e-2)


def test_training_under_autocast() -> None:
    losses = []
    for library in (torch, thunk):
        library.manual_seed(0)
        model = library.nn.Sequential(
            library.nn.Linear(8, 16), library.nn.ReLU(), library.nn.Linear(16, 3)
        )
        optimizer = library.optim.SGD(model.parameters(), lr=0.5)
        x, y = library.randn(12, 8), library.arange(12) % 3
        seen = []
        for _ in range(10):
            optimizer.zero_grad()
            with library.autocast("cpu", dtype=library.bfloat16):
                loss = library.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
            assert str(model[0].weight.grad.dtype) == "torch.float32"
        losses.append(seen)
    assert losses[1] == pytest.approx(losses[0], rel=2e-2)


def test_states_and_nesting() -> None:
    for library in (torch, thunk):
        assert not library.is_autocast_enabled("cpu")
        assert library.get_autocast_dtype("cpu") is library.bfloat16
        with library.autocast("cpu", dtype=library.float16):
            assert library.is_autocast_enabled("cpu")
            assert not library.is_autocast_enabled()
            assert library.get_autocast_dtype("cpu") is library.float16
            with library.autocast("cpu", enabled=False):
                assert not library.is_autocast_enabled("cpu")
                assert (library.ones(2, 2) @ library.ones(2, 2)).dtype is library.float32
            assert (library.ones(2, 2) @ library.ones(2, 2)).dtype is library.float16

        @library.autocast("cpu")
        def product(T: Any) -> Any:
            return T.ones(2, 2) @ T.ones(2, 2)

        assert product(library).dtype is library.bfloat16
        assert not library.is_autocast_enabled("cpu")


@pytest.mark.parametrize("device", ["cuda", "mps", "xpu"])
def test_absent_devices_change_nothing(device: str) -> None:
    for library in (torch, thunk):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with library.autocast(device):
                assert (library.ones(2, 2) @ library.ones(2, 2)).dtype is library.float32
            with library.cuda.amp.autocast():
                assert (library.ones(2, 2) @ library.ones(2, 2)).dtype is library.float32


def test_custom_functions() -> None:
    for library in (torch, thunk):

        class Product(library.autograd.Function):  # type: ignore[name-defined, misc]
            @staticmethod
            @library.amp.custom_fwd(device_type="cpu", cast_inputs=library.float32)
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x @ x

            @staticmethod
            @library.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                (x,) = ctx.saved_tensors
                return grad @ x.t() + x.t() @ grad

        x = library.ones(2, 2, requires_grad=True)
        with library.autocast("cpu"):
            result = Product.apply(x.bfloat16())
        assert result.dtype is library.float32
        result.sum().backward()
        assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def scaled(library: Any, poison: int) -> list[Any]:
    library.manual_seed(0)
    model = library.nn.Linear(3, 1)
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)
    scaler = library.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    seen = []
    for step in range(6):
        optimizer.zero_grad()
        loss = model(library.ones(4, 3)).square().mean()
        if step == poison:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        library.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        seen += [scaler.get_scale(), *model.weight.flatten().tolist()]
    saved = scaler.state_dict()
    return [*seen, *(float(saved[key]) for key in sorted(saved))]


@pytest.mark.parametrize("poison", [-1, 0, 3])
def test_scaling(poison: int) -> None:
    assert scaled(thunk, poison) == pytest.approx(scaled(torch, poison), rel=1e-5)


def test_scaling_s_mistakes() -> None:
    for library in (torch, thunk):
        scaler = library.amp.GradScaler("cpu")
        parameter = library.nn.Parameter(library.ones(2))
        optimizer = library.optim.SGD([parameter], lr=0.1)
        scaler.scale(library.ones(1))
        with pytest.raises(AssertionError, match="No inf checks"):
            scaler.step(optimizer)
        scaler.update(1024.0)
        scaler.scale(parameter.sum()).backward()
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.step(optimizer)
        off = library.amp.GradScaler("cpu", enabled=False)
        assert off.scale(parameter) is parameter
        assert off.state_dict() == {}
        assert off.get_scale() == 1.0
