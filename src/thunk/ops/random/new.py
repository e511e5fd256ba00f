"""New tensors of random numbers: rand, randn, randint and their `_like` forms."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.copy.formats import in_format
from thunk.ops.creation.factory import (
    CONSTANT,
    FACTORY,
    INDEX_FACTORY,
    LIKE,
    check_memory,
    factory,
)
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.places import placed
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec

_GENERATOR = "Generator? generator, "


def _generated(size: Any, generator: Any, *options: Any) -> TensorSpec:
    return factory(size, *options)


def _inexact(size: Any, *options: Any) -> TensorSpec:
    return factory(size, *options)


def _like(self: TensorSpec, *options: Any) -> TensorSpec:
    dtype, layout, device, pin_memory, memory_format = options
    check_memory(layout, pin_memory)
    laid = in_format(self, memory_format)
    where = placed(device, self.device)
    return TensorSpec(laid.shape, dtype or self.dtype, laid.strides, 0, where)


def _like_generated(self: TensorSpec, generator: Any, *options: Any) -> TensorSpec:
    return _like(self, *options)


for _name, _doc in (
    ("rand", "Uniform numbers of [0, 1)."),
    ("randn", "Normal numbers of mean 0 and variance 1."),
):
    declare(
        f"{_name}(SymInt[] size, *, {FACTORY}) -> Tensor",
        doc=_doc,
        spec=_inexact,
        vjp=CONSTANT,
        variants="function",
        random=True,
    )
    declare(
        f"{_name}.generator(SymInt[] size, *, {_GENERATOR}{FACTORY}) -> Tensor",
        doc=_doc,
        spec=_generated,
        vjp=CONSTANT,
        variants="function",
        random=True,
    )
    declare(
        f"{_name}_like(Tensor self, *, {LIKE}) -> Tensor",
        doc=f"{_doc} In the shape, dtype and layout of `self`.",
        spec=_like,
        vjp=CONSTANT,
        variants="function",
        random=True,
    )
    declare(
        f"{_name}_like.generator(Tensor self, *, {_GENERATOR}{LIKE}) -> Tensor",
        doc=f"{_doc} In the shape, dtype and layout of `self`.",
        spec=_like_generated,
        vjp=CONSTANT,
        variants="function",
        random=True,
    )


def check_interval(low: int, high: int) -> None:
    """Raise unless integers of [low, high) exist."""
    if low >= high:
        raise expected("from < to", f"from={low}, to={high}", "random_ draws from [from, to)")


def _randint(low: int, high: int, size: Any, generator: Any, *options: Any) -> TensorSpec:
    check_interval(low, high)
    dtype, *rest = options
    return factory(size, dtype or int64, *rest)


declare(
    "randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, "
    f"{_GENERATOR}{INDEX_FACTORY}) -> Tensor",
    doc="Integers of [low, high).",
    spec=_randint,
    vjp=CONSTANT,
    variants="function out",
    random=True,
    static="low high",
)


@composite(
    f"randint(SymInt high, SymInt[] size, *, {INDEX_FACTORY}) -> Tensor", variants="function out"
)
def randint(high: int, size: Any, **options: Any) -> Any:
    """Integers of [0, high)."""
    return t.randint(0, high, size, generator=None, **options)


@composite(
    f"randint.generator(SymInt high, SymInt[] size, *, {_GENERATOR}{INDEX_FACTORY}) -> Tensor",
    variants="function out",
)
def randint_generator(high: int, size: Any, **options: Any) -> Any:
    """Integers of [0, high)."""
    return t.randint(0, high, size, **options)


@composite(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, {INDEX_FACTORY}) -> Tensor",
    variants="function out",
)
def randint_low(low: int, high: int, size: Any, **options: Any) -> Any:
    """Integers of [low, high)."""
    return t.randint(low, high, size, generator=None, **options)


def _randint_like(
    self: TensorSpec, low: int, high: int, generator: Any, *options: Any
) -> TensorSpec:
    check_interval(low, high)
    return _like(self, *options)


declare(
    "randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, "
    f"{_GENERATOR}{LIKE}) -> Tensor",
    doc="Integers of [low, high) in the shape, dtype and layout of `self`.",
    spec=_randint_like,
    vjp=CONSTANT,
    variants="function",
    random=True,
    static="low high",
)


@composite(f"randint_like(Tensor self, SymInt high, *, {LIKE}) -> Tensor", variants="function")
def randint_like(self: Any, high: int, **options: Any) -> Any:
    """Integers of [0, high) in the shape, dtype and layout of `self`."""
    return t.randint_like(self, 0, high, generator=None, **options)


@composite(
    f"randint_like.generator(Tensor self, SymInt high, *, {_GENERATOR}{LIKE}) -> Tensor",
    variants="function",
)
def randint_like_generator(self: Any, high: int, **options: Any) -> Any:
    """Integers of [0, high) in the shape, dtype and layout of `self`."""
    return t.randint_like(self, 0, high, **options)


@composite(
    f"randint_like.Tensor(Tensor self, Tensor high, *, {LIKE}) -> Tensor", variants="function"
)
def randint_like_tensor(self: Any, high: Any, **options: Any) -> Any:
    """Integers below the value of a tensor, in the shape, dtype and layout of `self`."""
    return t.randint_like(self, 0, int(high.item()), generator=None, **options)


@composite(
    f"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {LIKE}) -> Tensor",
    variants="function",
)
def randint_like_low(self: Any, low: int, high: int, **options: Any) -> Any:
    """Integers of [low, high) in the shape, dtype and layout of `self`."""
    return t.randint_like(self, low, high, generator=None, **options)
