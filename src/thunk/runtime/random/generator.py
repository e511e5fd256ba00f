"""The CPU random generator: a seed or a saved state enters, 32-bit words leave.

Invariant: for one seed or one saved state, the words, the saved bytes and the cached normal sample
are those of PyTorch's CPU generator, so a state moves between the two libraries in both directions.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

# The seed of a generator that nobody seeded, as PyTorch has it.
DEFAULT_SEED = 67280421310721

_WORDS = 624  # size of the Mersenne twister's state

# PyTorch saves a generator as this C structure. Words are widened to 64 bits there, and two fields
# (normal_x, normal_rho) are relics that are always zero.
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "normal_x",
            "normal_y",
            "normal_rho",
            "normal_is_valid",
            "float_sample",
            "float_is_valid",
        ],
        "formats": [
            "u8", "i4", "i4", "u8", ("u8", (_WORDS,)), "f8", "f8", "f8", "i4", "f4", "u1",
        ],
        "offsets": [0, 8, 12, 16, 24, 5016, 5024, 5032, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)  # fmt: skip

STATE_BYTES = _STATE.itemsize

UInt8Array = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]


def checked_seed(seed: object) -> int:
    """A seed as PyTorch takes it, in 0..2**64-1 (a negative one counts from 2**64 down)."""
    if isinstance(seed, np.generic):
        raise TypeError(
            f"manual_seed: expected a Python int, got {type(seed).__name__}; wrap it in int(...)"
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise RuntimeError(
            f"manual_seed: expected an int, got {type(seed).__name__}; convert it with int(...)"
        )
    if not -(2**63) <= seed < 2**64:
        raise ValueError(
            f"manual_seed: expected a seed in [-2**63, 2**64), got {seed}; reduce it modulo 2**64"
        )
    return seed % 2**64


def _checked_device(device: object) -> str:
    name = str(device)
    kind, _, index = name.partition(":")
    if kind != "cpu" or (index and not index.isdigit()):
        raise RuntimeError(
            f"Generator: expected device 'cpu', got {name!r}; numbers are drawn on the CPU and "
            "can be copied to another device"
        )
    return "cpu"


class Generator:
    """A source of random numbers with PyTorch's interface.

    `lock` is held by every sampling function from its first draw to its last, so threads may share
    a generator and each call still sees one unbroken piece of the stream.
    """

    def __init__(self, device: object = "cpu") -> None:
        self.device = _checked_device(device)
        self.lock = threading.RLock()
        self.next_double_sample: float | None = None
        self._next_float_sample: float | None = None
        self._twister = np.random.MT19937(0)
        self._seeder = np.random.RandomState(self._twister)
        self._seed = DEFAULT_SEED
        self._next_when_exhausted = 0
        # The stream of operators whose numbers come of a counter: they do not draw from the state.
        self._epoch = DEFAULT_SEED
        self._counted = 0
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from `seed` and return this generator."""
        checked = checked_seed(seed)
        with self.lock:
            self._seed = checked
            self._epoch, self._counted = checked, 0
            self._seeder.seed(checked & 0xFFFFFFFF)
            self._next_when_exhausted = 0
            self.next_double_sample = None
            self._next_float_sample = None
        return self

    def seed(self) -> int:
        """Restart from a seed taken from the operating system, and return that seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the current stream, in 0..2**64-1."""
        return self._seed

    def count(self) -> tuple[int, int]:
        """Seed and number of one more operator that counts instead of drawing."""
        with self.lock:
            self._counted += 1
            return self._epoch, self._counted - 1

    def _begin_count(self, state: UInt8Array) -> None:
        """From equal states on, operators that count get equal numbers."""
        digest = hashlib.blake2b(state.tobytes(), digest_size=8).digest()
        self._epoch, self._counted = int.from_bytes(digest, "little"), 0

    def get_offset(self) -> int:
        """Only counter-based generators have an offset."""
        raise RuntimeError(
            "Generator.get_offset: expected a counter-based generator, got the CPU's; "
            "use get_state()"
        )

    def set_offset(self, offset: int) -> Generator:
        """Only counter-based generators have an offset."""
        raise RuntimeError(
            f"Generator.set_offset: expected a counter-based generator, got the CPU's (offset "
            f"{offset}); use set_state()"
        )

    def get_state(self) -> UInt8Array:
        """The state as 5056 bytes, in the layout that PyTorch saves."""
        record = np.zeros(1, dtype=_STATE)
        state = record[0]
        with self.lock:
            if self._counted:
                self.draw64(1)  # the state has to tell that operators counted since
            engine = self._twister.state["state"]
            position = int(engine["pos"])
            exhausted = position == _WORDS
            state["seed"] = self._seed
            state["left"] = 1 if exhausted else _WORDS + 1 - position
            state["seeded"] = 1
            state["next"] = self._next_when_exhausted if exhausted else position
            state["words"] = engine["key"]
            if self.next_double_sample is not None:
                state["normal_is_valid"] = 1
                state["normal_y"] = self.next_double_sample
            if self._next_float_sample is not None:
                state["float_is_valid"] = 1
                state["float_sample"] = self._next_float_sample
            self._begin_count(record.view(np.uint8))
        return record.view(np.uint8)

    def set_state(self, new_state: UInt8Array) -> Generator:
        """Continue from bytes that `get_state` (here or in PyTorch) returned."""
        state = _parsed_state(new_state)
        left, following = int(state["left"]), int(state["next"])
        with self.lock:
            self._twister.state = {
                "bit_generator": "MT19937",
                "state": {
                    "key": state["words"].astype(np.uint32),
                    "pos": _WORDS if left == 1 else following,
                },
            }
            self._next_when_exhausted = following if left == 1 else _WORDS
            self._seed = int(state["seed"])
            cached = bool(state["normal_is_valid"])
            self.next_double_sample = float(state["normal_y"]) if cached else None
            cached = bool(state["float_is_valid"])
            self._next_float_sample = float(state["float_sample"]) if cached else None
            self._begin_count(np.asarray(new_state))
        return self

    def clone_state(self) -> Generator:
        """Another generator that stands at the same place of the same stream."""
        return Generator(self.device).set_state(self.get_state())

    def draw32(self, count: int) -> UInt32Array:
        """The next `count` words of the stream."""
        return self._draw(count).astype(np.uint32)

    def draw64(self, count: int) -> UInt64Array:
        """The next `count` pairs of words; the first word of a pair is the high half."""
        words = self._draw(2 * count)
        pairs = words[0::2] << np.uint64(32)
        pairs |= words[1::2]
        return pairs

    def _draw(self, count: int) -> UInt64Array:
        with self.lock:
            if count > 0:
                self._next_when_exhausted = _WORDS
            words: UInt64Array = self._twister.random_raw(count)
            return words

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), self.get_state().tobytes()

    def __setstate__(self, state: bytes) -> None:
        self.set_state(np.frombuffer(state, dtype=np.uint8))


def _parsed_state(new_state: UInt8Array) -> np.void:
    if not isinstance(new_state, np.ndarray):
        raise TypeError(
            f"set_state: expected a uint8 array, got {type(new_state).__name__}; "
            "pass what get_state() returned"
        )
    if new_state.dtype != np.uint8:
        raise TypeError(
            f"set_state: expected a uint8 array, got {new_state.dtype}; "
            "pass what get_state() returned"
        )
    if not new_state.flags.c_contiguous:
        raise RuntimeError("set_state: expected contiguous bytes, got strided ones; copy them")
    if new_state.size != STATE_BYTES:
        raise RuntimeError(
            f"set_state: expected {STATE_BYTES} bytes, got {new_state.size}; "
            "pass what get_state() returned"
        )
    # A view of foreign bytes may be misaligned for the structure; a copy is aligned.
    state: np.void = np.frombuffer(new_state.tobytes(), dtype=_STATE)[0]
    left, following = int(state["left"]), int(state["next"])
    in_step = left == 1 or following == _WORDS + 1 - left
    if not (state["seeded"] and 0 < left <= _WORDS and following <= _WORDS and in_step):
        raise RuntimeError(
            f"set_state: expected a seeded Mersenne twister, got seeded={int(state['seeded'])}, "
            f"left={left}, next={following}; pass what get_state() returned"
        )
    return state


def _fresh_default_generator() -> Generator:
    generator = Generator()
    generator.seed()
    return generator


# As in PyTorch, the shared generator starts from a different seed in every process.
default_generator = _fresh_default_generator()
