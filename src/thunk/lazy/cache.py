"""Enters: keys and what was made for them. Leaves: the same again, as long as the bounds allow.

Invariant: neither the number of entries nor their bytes exceed the bounds when a call returns; what
was used longest ago goes first. A bound of 0 keeps nothing, and everything still works.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy

from thunk.base.config import config
from thunk.lazy.metrics import count
from thunk.types.dtype import dtype

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Entry(NamedTuple):
    """One entry as `inspect` shows it."""

    key: Any
    value: Any
    nbytes: int
    uses: int


class _Kept(Generic[V]):
    __slots__ = ("nbytes", "uses", "value")

    def __init__(self, value: V, nbytes: int) -> None:
        self.value = value
        self.nbytes = nbytes
        self.uses = 0


class Cache(Generic[K, V]):
    """Least recently used entries go first.

    `entries` and `nbytes` are asked at every change, so that options can change meanwhile; `lost`
    is told of each value that goes by itself or by `remove` and `clear`.
    """

    def __init__(
        self, entries: Callable[[], int], nbytes: Callable[[], int] | None = None,
        lost: Callable[[K, V], None] | None = None,
    ) -> None:  # fmt: skip
        self._entries = entries
        self._bytes = nbytes
        self._lost = lost
        self._lock = threading.RLock()
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._total = 0
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    def get(self, key: K) -> V | None:
        """What was kept under this key; None counts as a miss."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                self.misses += 1
                return None
            self.hits += 1
            kept.uses += 1
            self._kept.move_to_end(key)
            return kept.value

    def put(self, key: K, value: V, nbytes: int = 0) -> None:
        """Keep a value, instead of an older one under the same key."""
        if nbytes < 0:
            raise ValueError(f"put: expected a size that is not negative, got {nbytes}")
        with self._lock:
            gone = self._taken(key)
            self._kept[key] = _Kept(value, nbytes)
            self._total += nbytes
            gone += self._beyond()
        self._tell([each for each in gone if each[1] is not value])

    def get_or_make(self, key: K, make: Callable[[], V], nbytes: Callable[[V], int]) -> V:
        """What was kept, or what `make` makes; the first of two threads that make it wins."""
        found = self.get(key)
        if found is not None:
            return found
        made = make()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                return kept.value
            self.put(key, made, nbytes(made))
        return made

    def remove(self, key: K) -> bool:
        """Forget one entry; whether there was one."""
        with self._lock:
            gone = self._taken(key)
        self._tell(gone)
        return bool(gone)

    def clear(self) -> None:
        """Forget every entry; the counts go on."""
        with self._lock:
            gone = [(key, kept.value) for key, kept in self._kept.items()]
            self._kept.clear()
            self._total = 0
        self._tell(gone)

    def trim(self) -> None:
        """Meet bounds that were lowered."""
        with self._lock:
            gone = self._beyond()
        self._tell(gone)

    def inspect(self) -> list[Entry]:
        """Every entry, the one that goes next first; looking is no use of it."""
        with self._lock:
            return [
                Entry(key, kept.value, kept.nbytes, kept.uses) for key, kept in self._kept.items()
            ]

    @property
    def nbytes(self) -> int:
        """What all entries hold together."""
        return self._total

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def _taken(self, key: K) -> list[tuple[K, V]]:
        kept = self._kept.pop(key, None)
        if kept is None:
            return []
        self._total -= kept.nbytes
        return [(key, kept.value)]

    def _beyond(self) -> list[tuple[K, V]]:
        """Take out what the bounds do not allow."""
        gone = []
        most = self._entries()
        allowed = self._total if self._bytes is None else self._bytes()
        while self._kept and (len(self._kept) > most or self._total > allowed):
            key, kept = self._kept.popitem(last=False)
            self._total -= kept.nbytes
            self.evictions += 1
            gone.append((key, kept.value))
        return gone

    def _tell(self, gone: list[tuple[K, V]]) -> None:
        """Outside the lock: whoever is told may come back."""
        if self._lost is not None:
            for key, value in gone:
                self._lost(key, value)


def computation_cache(lost: Callable[[Any, Any], None] | None = None) -> Cache[Any, Any]:
    """A cache of compiled cuts, bounded by the options for it."""
    return Cache(
        lambda: config.lazy_compilation_cache_size,
        lambda: config.lazy_compilation_cache_megabytes << 20,
        lost,
    )


LARGEST_CONSTANT: Final = 1 << 16  # bytes; larger arrays are not looked up, only made


def bits_of(value: Any) -> Hashable:
    """What tells one constant from another: its bits, shape and element type.

    NaNs with equal bits are one constant, 0.0 and -0.0 are two; so are 1, 1.0 and True.
    """
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int):
        return ("int", value)
    if isinstance(value, float):
        return ("float", struct.pack("=d", value))
    if isinstance(value, complex):
        return ("complex", struct.pack("=dd", value.real, value.imag))
    if isinstance(value, numpy.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    raise TypeError(f"bits_of: expected a number or an array, got {type(value).__name__}")


class DeviceDataCache:
    """Constants on a device, each made once."""

    def __init__(self) -> None:
        self.entries: Cache[Hashable, Any] = Cache(lambda: config.lazy_device_data_cache_size)

    def get(self, value: Any, element: dtype, make: Callable[[], Any]) -> Any:
        """The device's copy of a number or an array as elements of this type."""
        large = isinstance(value, numpy.ndarray) and value.nbytes > LARGEST_CONSTANT
        if large or not config.lazy_enable_device_data_cache:
            count("DeviceDataCacheMiss")
            return make()

        def counted() -> Any:
            count("DeviceDataCacheMiss")
            return make()

        key = (element, bits_of(value))
        return self.entries.get_or_make(key, counted, lambda made: getattr(made, "nbytes", 0))
