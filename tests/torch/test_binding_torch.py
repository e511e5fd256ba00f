"""Calls bind exactly when PyTorch's own parser takes them, to the same overload and arguments.

Each line of CALLS is evaluated twice: with torch, and with stand-ins that only bind. PyTorch's
overloads come from its own list of native functions, so no declaration of ours is involved.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  (after the skip)

from thunk.ir.binding import Overloads, Style  # noqa: E402
from thunk.ir.coerce import announce_class, bound_default  # noqa: E402
from thunk.ir.schema import Schema, parse  # noqa: E402
from thunk.types import dtype as dtypes  # noqa: E402
from thunk.types import layout  # noqa: E402
from thunk.types.device import device  # noqa: E402
from thunk.types.spec import TensorSpec, contiguous_strides  # noqa: E402
from thunk.types.tensor_base import TensorBase  # noqa: E402

# Functions whose tensors may be given as numbers, as the parser of PyTorch lists them.
LENIENT = {
    "add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide",
    "add_", "sub_", "mul_", "div_", "subtract_", "multiply_", "divide_", "true_divide_",
    "floor_divide_",
}  # fmt: skip
# Declared, but not offered to Python: the tensor overload takes the number there.
HIDDEN = {"add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar"}


class Native:
    """One overload that PyTorch declares."""

    def __init__(self, schema: Schema, variants: str) -> None:
        self.schema = schema
        self.variants = variants
        tensors = (each.name for each in schema.arguments if each.type.is_tensor)
        self.numbers = frozenset(tensors if schema.name in LENIENT else ())


@cache
def natives() -> dict[str, list[Native]]:
    path = files("torchgen") / "packaged" / "ATen" / "native" / "native_functions.yaml"
    found: dict[str, list[Native]] = {}
    for entry in re.split(r"^- (?=func: )", path.read_text(), flags=re.MULTILINE)[1:]:
        schema = parse(entry.splitlines()[0].removeprefix("func: "))
        if f"{schema.name}.{schema.overload}" in HIDDEN:
            continue
        stated = re.search(r"^  variants: (.*)$", entry, re.MULTILINE)
        native = Native(schema, stated[1] if stated else "function")
        found.setdefault(schema.name, []).append(native)
    return found


@cache
def overloads(name: str, variant: str) -> Overloads:
    return Overloads(name, [each for each in natives()[name] if variant in each.variants])


class Bound(Exception):
    """Carries what a stand-in bound, so that a nested call cannot hide it."""

    def __init__(self, candidate: Native, arguments: tuple[Any, ...]) -> None:
        self.candidate = candidate
        self.arguments = arguments


class StandIn(TensorBase):
    """A tensor that binds its methods and does nothing else."""

    def __init__(self, real: Any) -> None:
        shape = tuple(real.shape)
        element = dtypes.dtype_named(str(real.dtype).removeprefix("torch."))
        self._spec = TensorSpec(shape, element, contiguous_strides(shape))
        self.real = real
        self.requires_grad = real.requires_grad

    def item(self) -> Any:
        return self.real.item()

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any, **kwargs: Any) -> None:
            chosen = overloads(name, "method")
            raise Bound(*chosen.resolve((self, *args), kwargs, Style.METHOD))

        if name.startswith("__"):
            raise AttributeError(name)
        return method


StandIn.__name__ = "Tensor"  # what messages call it


class Functions:
    """`F.add(...)` binds the function `add`."""

    def __getattr__(self, name: str) -> Any:
        def function(*args: Any, **kwargs: Any) -> None:
            raise Bound(*overloads(name, "function").resolve(args, kwargs))

        return function


class FakeGenerator:
    """Stands for a generator of random numbers."""


announce_class("Generator", FakeGenerator)

TENSORS = {
    "t": torch.ones(2, 3), "i": torch.tensor(1), "z": torch.tensor(0), "b": torch.tensor(True),
    "f": torch.tensor(0.5), "g": torch.tensor(0.5, requires_grad=True), "c": torch.tensor(0.5j),
    "v": torch.tensor([2, 3]), "one": torch.tensor([1]), "half": torch.tensor([0.5]),
    "k": torch.zeros(2, 1, dtype=torch.int64), "mask": torch.ones(2, 3) > 0,
    "square": torch.ones(2, 2), "image": torch.ones(1, 1, 4, 4), "kernel": torch.ones(1, 1, 1, 1),
    "o": torch.empty(0), "p": torch.empty(0, dtype=torch.int64),
}  # fmt: skip
COMMON = {"np": numpy}
THEIRS = COMMON | TENSORS | {
    "F": torch, "float32": torch.float32, "float64": torch.float64, "int32": torch.int32,
    "cpu": torch.device("cpu"), "strided": torch.strided, "Size": torch.Size,
    "contiguous": torch.contiguous_format, "generator": torch.Generator(),
}  # fmt: skip
OURS = COMMON | {name: StandIn(value) for name, value in TENSORS.items()} | {
    "F": Functions(), "float32": dtypes.float32, "float64": dtypes.float64,
    "int32": dtypes.int32, "cpu": device("cpu"), "strided": layout.strided, "Size": tuple,
    "contiguous": layout.contiguous_format, "generator": FakeGenerator(),
}  # fmt: skip

CALLS = [line for line in """
F.add(t, [1])
F.add(t)
F.add()
F.add(t, 1, foo=2)
F.add(t, 1, 2, 3)
F.add(input=t, other=1)
F.add(self=t, other=1)
F.add(x=t, other=1)
F.add(a=t, other=1)
F.add(x1=t, x2=1)
F.add(t, None)
F.add(t, np.float64(1))
F.add(t, np.array(1))
F.add(t, np.ones(3))
F.add(t, True)
F.add(t, 1j)
F.add(1, t)
F.add(1, 2)
F.add(np.float64(1), t)
F.add(t, 2**70)
F.add(t, -2**64)
F.add(t, 2**64 - 1)
F.add(t, 1, alpha=np.float32(2))
F.add(t, 1, alpha=i)
F.add(t, 1, alpha=g)
F.add(t, 1, alpha=one)
F.add(t, 1, alpha="a")
F.add(t, 1, alpha=np.bool_(1))
F.add(t, 1, alpha=np.complex64(1))
F.add(t, 1, alpha=np.array(1))
F.add(t, 1, alpha=None)
F.add(t, 1, alpha=2**64)
F.add(t, 1, alpha=2, out=None)
F.sub(t, 1, alpha="x")
F.mul("a", t)
F.mul(None, t)
F.mul(t, 2)
F.rsub(t, 1)
F.rsub(t, 1, alpha=2)
F.div(t, 2, rounding_mode="floor")
F.div(t, 2, rounding_mode=None)
F.div(t, 2, rounding_mode=1)
F.div(t, 2, "floor")
F.true_divide(1, t)
F.relu()
F.relu([1])
F.relu(3)
F.relu(t, 1)
F.relu(t, None)
F.relu(t, foo=1)
F.relu(input=t)
F.relu(t, input=t)
F.atan2(t, 1)
F.atan2(1, t)
F.maximum(t, 1)
F.sum(t)
F.sum(t, axis=1)
F.sum(t, axis=1, keepdims=True)
F.sum(t, axis=(0, 1))
F.sum(x=t, axis=1)
F.sum(a=t)
F.sum(t, dim=None)
F.sum(t, dim=[])
F.sum(t, dim=())
F.sum(t, dim=range(2))
F.sum(t, dim={0, 1})
F.sum(t, 1)
F.sum(t, True)
F.sum(t, z)
F.sum(t, [z, 1])
F.sum(t, dim=np.int64(1))
F.sum(t, (0, 1))
F.sum(t, [0, 1], True)
F.sum(t, 0, 1)
F.sum(t, 0, "a")
F.sum(t, 0, np.bool_(True))
F.sum(t, 0, b)
F.sum(t, dim=1, axis=1)
F.sum(input=t, x=t)
F.sum(t, dim=1, dtype=float)
F.sum(t, dim=1, dtype=complex)
F.sum(t, dim=1, dtype=float64)
F.sum(t, dim=1, dtype=np.float64)
F.sum(t, dim=1, dtype=str)
F.sum(t, dim=1, dtype="float64")
F.sum(t, 1, True, float64)
F.mean(t, dim=-1, keepdims=True)
F.mean(t, -1, False)
F.std(t, 1)
F.std(t, 1, True)
F.std(t, True)
F.std(t, unbiased=True)
F.std(t, correction=0)
F.amax(t, 1)
F.amax(t)
F.argmax(t, axis=1, keepdims=True)
F.norm(t)
F.select(t, True, 1)
F.select(t, 0.0, 1)
F.select(t, 0, 0.0)
F.select(t, np.int64(0), 1)
F.select(t, z, 1)
F.select(t, f, 1)
F.select(t, b, 0)
F.select(t, one, 0)
F.select(t, 0, one)
F.select(t, 0, True)
F.select(t, 0, np.array(0))
F.select(t, np.array(0), 1)
F.select(t, np.float32(0), 1)
F.select(t, 0, 2**70)
F.select(t, 2**70, 0)
F.select(t, dim=True, index=1)
F.zeros(2, 3)
F.zeros(2)
F.zeros(2, 3, dtype=float)
F.zeros(2, 3, dtype=int, device="cpu")
F.zeros((2,), dtype=np.float32)
F.zeros((2,), dtype="float32")
F.zeros(size=(2, 3))
F.zeros()
F.zeros(2.0)
F.zeros(2, 3, 4.0)
F.zeros((2, 2**70))
F.zeros(2**70)
F.zeros(2, device=True)
F.zeros(2, device=1.0)
F.zeros(2, device=None)
F.zeros(2, device=cpu)
F.zeros(Size((2, 3)))
F.empty(2, layout=strided)
F.empty(2, layout="strided")
F.empty(2, layout=None)
F.empty(2, memory_format=contiguous)
F.empty(2, memory_format=None)
F.empty(2, memory_format=1)
F.empty([2, None])
F.empty((2, "a"))
F.empty(2, device="cpu:x")
F.empty(2, device="foo")
F.full((2,), 1)
F.full(2, 1)
F.full((2,), i)
F.full((2,), True)
F.full((2,), 1j)
F.full([2], "a")
F.rand(2, 3, generator=None)
F.rand(2, 3, generator=generator)
F.rand(2, 3, generator=1)
F.randn([])
F.randn(())
F.randn()
F.randint(5, (2,))
F.randint(1, 5, (2,))
F.randint(5, 2)
F.randint(high=5, size=(2,))
F.eye(2)
F.eye(2, 3)
F.eye(2, m=3)
F.linspace(0, 1, 3)
F.linspace(0, 1, 3.0)
F.linspace(0, 1, steps=True)
F.linspace(f, 1, 3)
F.normal(0.0, 1.0, (2,))
F.normal(t, 1.0)
F.normal(t, t)
F.normal(0.0, t)
F.dropout(t, 1, True)
F.dropout(t, np.float32(0.5), True)
F.dropout(t, np.int64(1), True)
F.dropout(t, f, True)
F.dropout(t, g, True)
F.dropout(t, half, True)
F.dropout(t, True, True)
F.dropout(t, np.bool_(True), True)
F.dropout(t, "a", True)
F.dropout(t, 1j, True)
F.dropout(t, np.array(0.5), True)
F.dropout(t, 0.5, 1)
F.dropout(t, 2**70, False)
F.bernoulli(t, p=0.5)
F.bernoulli(t, generator=generator)
F.bernoulli(t, generator=None)
F.bernoulli(t, generator=1)
F.cat(t)
F.cat([t])
F.cat((t, t), 1)
F.cat([t, 1])
F.cat([1, t])
F.cat((t, None))
F.cat([])
F.cat("a")
F.cat(None)
F.cat(iter([t]))
F.cat([t], None)
F.cat(tensors=[t], axis=0)
F.cat([t], dim="x")
F.stack([t, None])
F.stack((t, t), -1)
F.clamp(t, None, 1)
F.clamp(t, 0, None)
F.clamp(t, z, 1)
F.clamp(t, min=0)
F.clamp(t, t, t)
F.clamp(t, "a")
F.clamp(t, min=None, max=None)
F.clamp(t, 1, 2, 3)
F.max_pool2d(image, 2)
F.max_pool2d(image, (1, 1))
F.max_pool2d(image, (1,))
F.max_pool2d(image, (1, 1, 1))
F.max_pool2d(image, True)
F.max_pool2d(image, i)
F.max_pool2d(image, [1, 1], stride=None)
F.max_pool2d(image, [1, 1], [])
F.max_pool2d(image, [1, 1], stride=1, padding=(0,))
F.conv2d(image, kernel, None, 1, "same")
F.conv2d(image, kernel, padding=0)
F.conv2d(image, kernel, None, (1, 2), 1, 1, True)
F.avg_pool1d(t, 1)
F.batch_norm(t, None, None, None, None, True, 0.1, 1e-5, False)
F.batch_norm(t, None, None, None, None, 1, 0.1, 1e-5, False)
F.embedding(t, k)
F.embedding(t, k, -1, 1)
F.squeeze(t, (0,))
F.squeeze(t, 0)
F.squeeze(t, 0, 1)
F.flip(t, [0])
F.flip(t, 0)
F.flip(t, 0, 1)
F.flip(t, (0,), (1,))
F.permute(t, 1, 0)
F.permute(t, (1, 0))
F.reshape(t, 6)
F.reshape(t, (6,))
F.tile(t, 2)
F.movedim(t, 0, 1)
F.movedim(t, (0,), (1,))
F.roll(t, 1)
F.roll(t, 1, 0)
F.roll(t, (1, 2), (0, 1))
F.tril(t, 1.0)
F.tril(t, diagonal=-1)
F.topk(t, 2)
F.topk(t, k=2.0)
F.sort(t, descending=True)
F.sort(t, True)
F.sort(t, stable=True)
F.sort(t, 0, True)
F.kthvalue(t, 1, keepdim=None)
F.cumsum(t)
F.cumsum(t, axis=0)
F.cumsum(t, 0, float)
F.cumsum(t, 0, dtype=float)
F.bmm(t)
F.isclose(t, t, 1)
F.isclose(t, t, rtol="a")
F.index_select(t, 0, 1)
F.index_select(input=t, dim=0, index=one)
F.gather(t, axis=1, index=k)
F.addmm(square, t, t, beta=True)
F.addmm(square, square, square, beta=2)
F.addmm(square, t, t, alpha=None)
F.addmm(square, t, [[1]])
F.lerp(t, t, 0.5)
F.lerp(t, t, f)
F.where(mask, 1, 2.0)
F.where(mask, t, 2.0)
F.where(mask, 1, t)
F.where(mask)
F.where(1, t, t)
F.where(mask, [1], t)
F.pow(2, t)
F.pow(t, 2)
F.pow(t, t)
F.pow(t, i)
F.pow("a", t)
F.pow(1, 2)
F.pow(t, exponent=None)
F.eq(t, 1)
F.eq(1, t)
F.eq(t, "a")
F.eq(t, i)
F.eq(t, z)
F.logical_and(t, True)
F.bitwise_and(k, 1)
F.bitwise_and(1, k)
F.remainder(5, t)
F.remainder(t, 2)
F.fmod(t, 2)
F.isin(t, 1)
F.masked_fill(t, mask, 1)
F.masked_fill(t, mask, i)
F.masked_fill(t, mask, np.float32(3))
F.quantile(t, 0.5)
F.quantile(t, f)
F.quantile(t, q=0.5, dim=1, interpolation=1)
F.var_mean(t, 1)
F.logsumexp(t, 0)
F.logsumexp(t, (0, 1))
F.tensordot(t, t, [0], [0])
F.nan_to_num(t, nan=None, posinf=1)
F.nan_to_num(t, 0, i)
F.cdist(t, t, 2)
F.cdist(t, t, p=i)
F.repeat_interleave(t, 2)
F.repeat_interleave(t, 2, 1)
F.repeat_interleave(one)
F.diff(t, 1, 0)
F.count_nonzero(t, 0)
F.count_nonzero(t, (0, 1))
F.softmax(t, 1)
F.softmax(t, dim=1, dtype=float)
F.softmax(t, 1.0)
F.searchsorted(t, t)
F.bucketize(t, half)
F.bucketize(1.5, half)
F.tensor_split(t, 2)
F.tensor_split(t, (1,))
F.chunk(t, 2)
F.chunk(t, chunks=1)
F.sort(t, out=(o, p))
F.sort(t, out=o)
F.sort(t, out=None)
F.add(t, 1, out=o)
F.add(t, 1, out=1)
F.add(t, 1, out=(o,))
F.sum(t, 1, out=o)
F.sum(t, out=o)
F.max(t, 1, out=(o, p))
F.max(t, 1, out=(o,))
F.max(t, 1, out=p)
F.cat([t], out=o)
F.zeros(2, 3, out=o)
F.arange(5)
F.relu(t, out=o)
F.amax(t, None)
F.avg_pool1d(t, 1, None)
F.avg_pool1d(t, 1, stride=())
F.scalar_tensor(1)
F.ones_like(t, dtype=int32)
F.full_like(t, i)
F.full_like(t, None)
t.relu(1)
t.relu()
t.view(2, 3)
t.view((2, 3))
t.view(6)
t.view(2, 3.0)
t.view(True, 6)
t.view([True, 6])
t.view([3, 2])
t.view([2, 3.0])
t.view([np.int64(2), np.int32(3)])
t.view([2, i])
t.view([i, 6])
t.view([one, 6])
t.view(i, 6)
t.view(np.int64(2), 3)
t.view(np.array([2, 3]))
t.view(v)
t.view(t)
t.view()
t.view(())
t.view(size=(2, 3))
t.view(int32)
t.view(dtype=int32)
t.view((2, 3), 4)
t.permute(1, 0)
t.permute((1, 0))
t.permute([True, 0])
t.permute(True, 0)
t.permute()
t.permute(dims=(1, 0))
t.flip(0, 1)
t.flip(0)
t.flip()
t.expand(2, 3)
t.expand(-1, -1)
t.expand()
t.expand((2, 3), implicit=True)
t.expand(2, 3, implicit=False)
t.repeat(2, 2)
t.repeat((2, 2))
t.repeat()
t.tile(2, 2)
t.reshape(6)
t.reshape(3, -1)
t.squeeze(0, 1)
t.squeeze(axis=0)
t.squeeze()
t.count_nonzero(0, 1)
t.sum(0, 1)
t.sum(1, keepdim=True)
t.sum(axis=(0, 1))
t.sum((0, 1), True)
t.transpose(0, 1)
t.transpose(0)
t.select(dim=True, index=1)
t.unsqueeze(-1)
t.unsqueeze(dim=z)
t.unsqueeze(axis=0)
t.where(mask, t)
t.where(mask, 1)
t.where(condition=mask, other=0)
t.masked_fill(mask, value=1)
t.masked_fill(mask=mask, value=f)
t.clamp(0)
t.clamp(max=1, min=0)
t.clamp()
t.clamp(0, t)
t.pow(2)
t.pow(exponent=2)
t.add(other=1)
t.add(1, alpha=2)
t.add(x2=1)
t.add(input=1)
t.add(self=1)
t.argmax(axis=1, keepdims=True)
t.max(0)
t.max(t)
t.max(0, True)
t.max(axis=0)
t.max(dim=0, keepdim=1)
t.gather(1, k)
t.gather(1, index=0)
t.index_fill(0, one, 1.0)
t.index_fill(0, one, f)
t.scatter(1, k, 1.0)
t.scatter(1, k, t)
t.scatter(1, k, src=t)
t.scatter(1, k, value=1)
t.scatter(1, k, 1, reduce="add")
t.roll(1, 0)
t.roll((1,), (0,))
t.chunk(2.0)
t.chunk("a")
t.std(0, unbiased=False)
t.std(False)
t.var(correction=0)
t.new_zeros((2, 3))
t.new_full((2,), 1)
t.unfold(0, 1, 1)
t.narrow(0, 0, 1)
t.narrow(0, z, 1)
t.diagonal(0, 0, 1)
t.diagonal(dim1=0, dim2=1)
t.movedim(0, 1)
t.type_as(1)
t.softmax(dim=-1)
t.softmax(-1, float32)
t.softmax("x")
t.addmm(t, t)
t.matmul(1)
t.logical_not(1)
t.sort(1, True)
t.sort(stable=True, dim=1)
t.topk(1, 1, False)
t.cumsum(1, dtype=float64)
t.nonzero()
t.bernoulli(0.5)
t.bernoulli(t)
t.eq(i)
t.lerp(t, i)
t.isclose(t, atol=1)
t.triu(k=1)
t.swapaxes(0, 1)
t.swapaxes(axis0=0, axis1=1)
""".splitlines() if line]  # fmt: skip


class Recorder(TorchDispatchMode):
    """Notes the first operator that PyTorch dispatches, with all its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.first: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.first is None:
            self.first = (func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


def run_theirs(call: str) -> tuple[Exception | None, Recorder]:
    for out in (TENSORS["o"], TENSORS["p"]):
        out.resize_(0)  # an earlier call may have written into it
    recorder = Recorder()
    try:
        with recorder:
            eval(call, dict(THEIRS))
    except Exception as error:
        return error, recorder
    return None, recorder


def run_ours(call: str) -> Exception:
    """What the stand-ins raise: `Bound` if the call binds."""
    try:
        eval(call, dict(OURS))
    except Exception as error:
        return error
    raise AssertionError(f"{call} bound nothing")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_accepts_and_rejects_as_pytorch_does(call: str) -> None:
    theirs, _ = run_theirs(call)
    ours = run_ours(call)
    if isinstance(theirs, TypeError):
        assert type(ours).__mro__[1] is TypeError or type(ours) is TypeError, theirs
    elif isinstance(ours, Bound):
        # Past the parser, the operator itself may still refuse: that is not binding.
        assert theirs is None or not isinstance(theirs, OverflowError)
    else:
        assert type(ours) is type(theirs), (ours, theirs)


@pytest.mark.filterwarnings("ignore")
def test_the_list_is_balanced() -> None:
    outcomes = [type(run_theirs(call)[0]) for call in CALLS]
    assert len(CALLS) == len(set(CALLS)) > 300
    assert outcomes.count(TypeError) > 100
    assert outcomes.count(type(None)) > 150


PRECISE = re.compile(r"(argument '\w+'( \(position \d+\))? must be [\w. ]+, not [\w.]+)$")


@pytest.mark.filterwarnings("ignore")
def test_precise_reasons_are_worded_as_pytorch_words_them() -> None:
    compared = 0
    for call in CALLS:
        theirs, _ = run_theirs(call)
        reason = PRECISE.search(str(theirs)) if isinstance(theirs, TypeError) else None
        if reason:
            compared += 1
            assert reason[1] in str(run_ours(call)), call
    assert compared > 40


def same(ours: Any, theirs: Any) -> bool:
    """Whether two bound values say the same."""
    if isinstance(ours, StandIn):
        return ours.real is theirs
    if isinstance(theirs, torch.Tensor):
        return theirs.dim() == 0 and type(theirs.item()) is type(ours) and theirs.item() == ours
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, FakeGenerator):
        return isinstance(theirs, torch.Generator)
    if isinstance(ours, (dtypes.dtype, device, layout.layout, layout.memory_format)):
        return str(ours) == str(theirs)
    return ours == theirs


# PyTorch's functions fill these in before they dispatch.
FILLED = ("dtype", "layout", "device", "pin_memory")


def is_composite(schema: Schema) -> bool:
    """Whether PyTorch dispatches only the operator's parts."""
    key = "CompositeImplicitAutograd"
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(schema.full_name, key))


@pytest.mark.filterwarnings("ignore")
def test_picks_the_overload_and_arguments_that_pytorch_picks() -> None:
    compared = 0
    for call in CALLS:
        theirs, recorder = run_theirs(call)
        ours = run_ours(call)
        if recorder.first is None or not isinstance(ours, Bound):
            continue
        func, args, kwargs = recorder.first
        schema = ours.candidate.schema
        if func._schema.name != f"aten::{schema.name}" or is_composite(schema):
            continue
        compared += 1
        assert func._schema.overload_name == schema.overload, call
        for position, (argument, value) in enumerate(zip(schema.arguments, ours.arguments)):
            if value is None and argument.name in FILLED:
                continue
            default = bound_default(argument)
            other = args[position] if position < len(args) else kwargs.get(argument.name, default)
            assert same(value, other), (call, argument, value, other)
    assert compared > 130
