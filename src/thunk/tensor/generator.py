"""Enters: seeds and saved states. Leaves: the public `Generator` and the functions of one seed.

Invariant: a public generator is a stream (`source`) with tensors for states; the default one is the
stream that every random operator draws from unless it is given another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy

from thunk.ir.coerce import announce_class
from thunk.runtime import random
from thunk.runtime.storage import adopt, array_of
from thunk.runtime.tensors import new_tensor
from thunk.types.device import CPU, device
from thunk.types.dtype import uint8
from thunk.types.tensor_base import TensorBase


def _bytes_of(state: Any) -> numpy.ndarray:
    if not isinstance(state, TensorBase):
        raise TypeError(
            f"expected a torch.ByteTensor, but got {type(state).__name__}; pass what get_state() "
            "returned"
        )
    if state._spec.dtype is not uint8:
        raise TypeError(
            f"RNG state must be a torch.ByteTensor, got {state._spec.dtype!r}; pass what "
            "get_state() returned"
        )
    return array_of(state._storage, state._spec)


class Generator:
    """A source of random numbers; on the CPU, PyTorch's own."""

    __slots__ = ("__weakref__", "source")

    def __init__(self, device: Any = CPU) -> None:
        self.source = random.Generator(device)

    @property
    def device(self) -> device:
        return device(self.source.device)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from `seed`."""
        self.source.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system, and return it."""
        return self.source.seed()

    def initial_seed(self) -> int:
        """The seed of the current stream."""
        return self.source.initial_seed()

    def get_state(self) -> Any:
        """The state as a tensor of bytes."""
        return new_tensor(*adopt(self.source.get_state(), resizable=True))

    def set_state(self, new_state: Any) -> None:
        """Continue from what `get_state` returned."""
        self.source.set_state(_bytes_of(new_state))

    def clone_state(self) -> Generator:
        """Another generator at the same place of the same stream."""
        made = Generator()
        made.source.set_state(self.source.get_state())
        return made

    def graphsafe_get_state(self) -> Generator:
        """This generator: its state is its identity."""
        return self

    def get_offset(self) -> int:
        """Only counter-based generators have an offset."""
        return self.source.get_offset()

    def set_offset(self, offset: int) -> None:
        """Only counter-based generators have an offset."""
        self.source.set_offset(offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), self.source.get_state().tobytes()

    def __setstate__(self, state: bytes) -> None:
        self.source.set_state(numpy.frombuffer(state, dtype=numpy.uint8))

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


announce_class("Generator", Generator)


def _wrapped_default() -> Generator:
    made = Generator()
    made.source = random.default_generator
    return made


default_generator = _wrapped_default()


def manual_seed(seed: Any) -> Generator:
    """Restart the default stream from `seed`, and return the default generator."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Restart the default stream from a seed of the operating system, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default stream."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default stream as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Continue the default stream from what `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Put the default stream back, at the end of the block, to where it stood before."""
    if not enabled:
        yield
        return
    before = random.default_generator.get_state()
    try:
        yield
    finally:
        random.default_generator.set_state(before)
