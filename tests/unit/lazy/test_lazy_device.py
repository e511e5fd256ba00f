"""The `lazy` device: the engine of all lazy execution, under the name that PyTorch gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import thunk
from thunk import lazy
from thunk.lazy.eager import execution
from thunk.lazy.trace import traces


@pytest.fixture(params=[True, False], ids=["lazy by default", "eager by default"], autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    with execution(request.param):
        traces.current.materialise()
        yield
        traces.current.materialise()


def test_tensors_report_it_and_print_it() -> None:
    made = [
        thunk.ones(2, device="lazy"), thunk.tensor([1.0, 1.0], device="lazy"),
        thunk.ones(2).to("lazy"), thunk.ones(2, device=thunk.device("lazy")),
        thunk.ones_like(thunk.zeros(2, device="lazy:0")), thunk.ones(2).to(device="lazy") * 1,
    ]  # fmt: skip
    for each in made:
        assert each.device == thunk.device("lazy", 0) and str(each.device) == "lazy:0"
        assert not each.is_cpu and each.device.type == "lazy"
        assert repr(each) == "tensor([1., 1.], device='lazy:0')"


def test_operations_are_recorded_until_a_value_is_needed() -> None:
    x = thunk.ones(3, device="lazy")
    y = x * 2 + 1
    assert y._node is not None
    with lazy.explain() as account:
        assert y.sum().item() == 9.0
    assert [each.cause for each in account.executions] == ["item"]


def test_leaving_it_waits() -> None:
    x = thunk.ones(3, device="lazy") * 5
    for _ in range(2):
        y = x + 1
        for moved in (y.cpu(), y.to("cpu"), lazy.to_cpu([y])[0]):
            assert moved.device.type == "cpu" and moved._node is None
            assert moved.tolist() == [6, 6, 6]


def test_devices_do_not_mix_but_for_single_numbers() -> None:
    x = thunk.ones(3, device="lazy")
    with pytest.raises(RuntimeError, match="same device"):
        x + thunk.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        thunk.ones(2, 3) @ x
    assert (x + thunk.tensor(2.0)).tolist() == [3, 3, 3]
    assert x.copy_(thunk.full((3,), 4.0)).tolist() == [4, 4, 4]
    with pytest.raises(TypeError, match=r"Tensor\.cpu\(\)"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [4, 4, 4]


def add_two_maybe(tensor: Any, maybe: Any) -> Any:
    return tensor + 2 if maybe else tensor


def test_python_decides_on_values() -> None:
    results = []
    for flag in (False, True):
        x, maybe = thunk.ones(2, device="lazy"), thunk.tensor([flag], device="lazy")
        y = add_two_maybe(add_two_maybe(x, maybe), thunk.logical_not(maybe))
        results.append(y.tolist())
    assert results == [[3.0, 3.0]] * 2


def test_results_whose_shape_depends_on_values() -> None:
    x = thunk.arange(6.0, device="lazy").requires_grad_()
    picked = x[x > 2]
    assert picked.device == x.device and picked.shape == (3,)
    assert thunk.nonzero(x > 2).device == x.device
    assert thunk.unique(thunk.ones(4, device="lazy")).tolist() == [1.0]
    (picked * picked).sum().backward()
    assert x.grad is not None
    assert x.grad.device == x.device and x.grad.tolist() == [0, 0, 0, 6, 8, 10]


def test_views_and_writes() -> None:
    x = thunk.zeros(3, 4, device="lazy")
    x[1] = 5
    x.t()[2].add_(1)
    x[x > 4] = 7
    x.mul_(2)
    assert x.cpu().tolist() == [[0, 0, 2, 0], [14, 14, 14, 14], [0, 0, 2, 0]]


def test_training_equals_that_on_the_cpu() -> None:
    def train(device: str) -> list[list[float]]:
        thunk.manual_seed(0)
        net = thunk.nn.Sequential(
            thunk.nn.Linear(6, 8), thunk.nn.ReLU(), thunk.nn.Linear(8, 2)
        ).to(device)
        optimizer = thunk.optim.Adam(net.parameters(), lr=0.05)
        x, y = thunk.randn(16, 6).to(device), thunk.randint(0, 2, (16,)).to(device)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = thunk.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            if device == "lazy":
                lazy.mark_step()
                assert net[0].weight._node is None
            losses.append(loss.item())
        assert all(each.device.type == device for each in net.parameters())
        return [losses, *[each.detach().cpu().reshape(-1).tolist() for each in net.parameters()]]

    for one, other in zip(train("cpu"), train("lazy"), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_seeds_make_equal_numbers_on_both() -> None:
    thunk.manual_seed(3)
    first = thunk.randn(4, device="lazy").tolist()
    thunk.manual_seed(3)
    assert thunk.randn(4).tolist() == first


def test_checkpoints_of_it_load(tmp_path: Any) -> None:
    lazy.save({"x": thunk.ones(2, device="lazy") * 3}, tmp_path / "file")
    loaded = thunk.load(tmp_path / "file")
    assert loaded["x"].device.type == "cpu" and loaded["x"].tolist() == [3, 3]
