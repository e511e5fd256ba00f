"""Bounded caches: what goes first, bounds of nothing, counts; constants by their bits."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

from thunk.base.config import config
from thunk.lazy import metrics
from thunk.lazy.cache import LARGEST_CONSTANT, Cache, DeviceDataCache, bits_of, computation_cache
from thunk.types.dtype import float32, float64


def bounded(entries: int, nbytes: int = 1 << 30) -> Cache[Any, Any]:
    return Cache(lambda: entries, lambda: nbytes)


def keys(cache: Cache[Any, Any]) -> list[Any]:
    return [each.key for each in cache.inspect()]


def test_what_was_used_longest_ago_goes_first() -> None:
    cache = bounded(3)
    for key in "abc":
        cache.put(key, key.upper())
    assert cache.get("a") == "A"
    cache.put("d", "D")
    assert keys(cache) == ["c", "a", "d"] and cache.evictions == 1
    assert cache.get("b") is None
    assert (cache.hits, cache.misses) == (1, 1)


def test_looking_is_no_use() -> None:
    cache = bounded(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert "a" in cache
    assert [(each.key, each.value, each.uses) for each in cache.inspect()] == [
        ("a", 1, 0), ("b", 2, 0)
    ]  # fmt: skip
    cache.put("c", 3)
    assert keys(cache) == ["b", "c"] and (cache.hits, cache.misses) == (0, 0)


def test_a_cache_of_no_entries_still_makes() -> None:
    cache = bounded(0)
    cache.put("a", 1)
    assert len(cache) == 0 and cache.nbytes == 0 and cache.get("a") is None
    made: list[int] = []
    for _ in range(2):
        assert cache.get_or_make("a", lambda: made.append(1) or 7, lambda value: 8) == 7
    assert made == [1, 1]


def test_bytes_are_bounded_too() -> None:
    cache = bounded(100, nbytes=10)
    for key in range(5):
        cache.put(key, key, nbytes=3)
    assert keys(cache) == [2, 3, 4] and cache.nbytes == 9
    cache.put("large", 0, nbytes=11)  # more than everything: nothing fits beside it, nor itself
    assert keys(cache) == [] and cache.nbytes == 0
    with pytest.raises(ValueError, match="not negative"):
        cache.put("a", 1, nbytes=-1)


def test_a_value_replaces_an_older_one() -> None:
    gone: list[Any] = []
    cache: Cache[Any, Any] = Cache(lambda: 2, lost=lambda key, value: gone.append((key, value)))
    cache.put("a", 1, nbytes=5)
    cache.put("a", 2, nbytes=3)
    assert (len(cache), cache.nbytes, cache.get("a")) == (1, 3, 2)
    assert gone == [("a", 1)]


def test_whoever_wants_is_told_of_what_goes() -> None:
    gone: list[Any] = []
    cache: Cache[Any, Any] = Cache(lambda: 2, lost=lambda key, value: gone.append(key))
    for key in "abc":
        cache.put(key, key)
    assert gone == ["a"]
    assert cache.remove("b") and not cache.remove("b")
    assert gone == ["a", "b"]
    cache.clear()
    assert gone == ["a", "b", "c"] and len(cache) == 0 and cache.nbytes == 0
    cache.put("d", 1)
    assert cache.get("d") == 1


def test_whoever_is_told_may_come_back() -> None:
    cache: Cache[Any, Any] = Cache(lambda: 1, lost=lambda key, value: seen.append(cache.get(key)))
    seen: list[Any] = []
    cache.put("a", 1)
    cache.put("b", 2)
    assert seen == [None] and keys(cache) == ["b"]


def test_bounds_follow_their_options() -> None:
    cache = computation_cache()
    with config.override(lazy_compilation_cache_size=2):
        for key in range(4):
            cache.put(key, key)
        assert keys(cache) == [2, 3]
        config.lazy_compilation_cache_size = 1
        cache.trim()
        assert keys(cache) == [3]
    with config.override(lazy_compilation_cache_megabytes=1):
        cache.put("a", 1, nbytes=1 << 20)
        cache.put("b", 1, nbytes=1)
        assert keys(cache) == ["b"]


def test_of_two_threads_that_make_one_value_the_first_wins() -> None:
    cache = bounded(4)
    meet = threading.Barrier(2)
    found: list[Any] = []

    def make() -> object:
        meet.wait()
        return object()

    threads = [
        threading.Thread(target=lambda: found.append(cache.get_or_make("k", make, lambda _: 1)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] and cache.nbytes == 1


def nan(bits: int) -> float:
    return float(numpy.array([bits], numpy.uint64).view(numpy.float64)[0])


@pytest.mark.parametrize(
    ("left", "right"),
    [(0.0, -0.0), (1, 1.0), (1, True), (0, False), (1.0, 1 + 0j),
     (nan(0x7FF8000000000000), nan(0xFFF8000000000000)),
     (nan(0x7FF8000000000000), nan(0x7FF8000000000001)),
     (complex(0.0, -0.0), complex(0.0, 0.0)),
     (numpy.zeros(2), -numpy.zeros(2)), (numpy.zeros(2), numpy.zeros((1, 2))),
     (numpy.zeros(2, "f4"), numpy.zeros(1, "f8")), (numpy.zeros(2, "i4"), numpy.zeros(2, "u4"))],
)  # fmt: skip
def test_constants_that_differ_in_a_bit_are_two(left: Any, right: Any) -> None:
    assert bits_of(left) != bits_of(right)


@pytest.mark.parametrize(
    "value", [0.0, float("nan"), float("inf"), 3, True, 2j, complex(float("nan"), 1)]
)
def test_constants_with_equal_bits_are_one(value: Any) -> None:
    array = numpy.array([value, value])
    assert bits_of(value) == bits_of(value) and bits_of(array) == bits_of(array.copy())


def test_what_is_no_constant_is_refused() -> None:
    with pytest.raises(TypeError, match="got str"):
        bits_of("1")


def test_constants_are_made_once() -> None:
    metrics.reset()
    cache = DeviceDataCache()

    def get(value: Any, element: Any = float32) -> Any:
        return cache.get(value, element, lambda: numpy.asarray(value))

    first = get(float("nan"))
    assert get(float("nan")) is first
    assert get(0.0) is not get(-0.0)
    assert get(1.0) is not get(1.0, float64)
    assert get(numpy.arange(3)) is get(numpy.arange(3))
    assert metrics.counter_value("DeviceDataCacheMiss") == 6
    assert (cache.entries.hits, cache.entries.misses) == (2, 6)
    cache.entries.clear()
    assert get(float("nan")) is not first
    metrics.reset()


@pytest.mark.parametrize(
    "options", [{"lazy_enable_device_data_cache": False}, {"lazy_device_data_cache_size": 0}]
)
def test_without_a_cache_constants_are_made_each_time(options: dict[str, Any]) -> None:
    metrics.reset()
    cache = DeviceDataCache()
    with config.override(**options):
        found = [cache.get(2.0, float32, object) for _ in range(3)]
    assert len(set(map(id, found))) == 3 and len(cache.entries) == 0
    assert metrics.counter_value("DeviceDataCacheMiss") == 3
    metrics.reset()


def test_large_arrays_are_not_kept() -> None:
    cache = DeviceDataCache()
    array = numpy.zeros(LARGEST_CONSTANT + 1, numpy.uint8)
    assert cache.get(array, float32, lambda: "made") == "made"
    assert len(cache.entries) == 0
