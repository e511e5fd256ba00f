"""Calls bind exactly when PyTorch's own parser takes them, to the same overload and arguments.

Each line of binding_calls.txt is evaluated twice: with torch, and with stand-ins that only bind.
The overloads come from PyTorch's own list of native functions, so no declaration of ours is
involved.
"""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  (after the skip)

from thunk.ir import coerce  # noqa: E402
from thunk.ir.binding import Overloads, Style  # noqa: E402
from thunk.ir.coerce import bound_default  # noqa: E402
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


@pytest.fixture(autouse=True)
def _generators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(coerce._classes, "Generator", FakeGenerator)


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

LISTED = (Path(__file__).parent / "binding_calls.txt").read_text().splitlines()
CALLS = [line for line in LISTED if not line.startswith("#")]


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
        _, recorder = run_theirs(call)
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
