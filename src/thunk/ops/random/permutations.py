"""Random permutations."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.creation.factory import CONSTANT, INDEX_FACTORY, factory
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _randperm(n: int, generator: Any, dtype: Any, *options: Any) -> TensorSpec:
    if n < 0:
        raise expected("n >= 0", f"{n}: n must be non-negative")
    return factory((n,), dtype or int64, *options)


declare(
    f"randperm.generator(SymInt n, *, Generator? generator, {INDEX_FACTORY}) -> Tensor",
    doc="The integers from 0 to n - 1 in random order.",
    spec=_randperm,
    vjp=CONSTANT,
    variants="function out",
    random=True,
    static="n",
)


@composite(f"randperm(SymInt n, *, {INDEX_FACTORY}) -> Tensor", variants="function out")
def randperm(n: int, **options: Any) -> Any:
    """The integers from 0 to n - 1 in random order."""
    return t.randperm(n, generator=None, **options)
