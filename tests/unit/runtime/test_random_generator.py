"""The generator: seeds, states, copies, threads, and the stream of single numbers behind it."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from typing import Any

import numpy
import pytest

from thunk.runtime import random
from thunk.runtime.random import DEFAULT_SEED, Generator, default_generator
from thunk.runtime.random.scalar_stream import ScalarStream
from thunk.runtime.random.uniforms import standard_uniform_double


def words(generator: Generator, count: int = 5) -> list[int]:
    return generator.draw32(count).tolist()


def test_a_generator_that_nobody_seeded() -> None:
    assert Generator().initial_seed() == DEFAULT_SEED == 67280421310721
    assert Generator().device == "cpu"
    assert words(Generator()) == words(Generator())


def test_the_shared_generator_differs_from_process_to_process() -> None:
    assert isinstance(default_generator, Generator)
    assert default_generator.initial_seed() != DEFAULT_SEED


def test_seeds() -> None:
    generator = Generator()
    assert generator.manual_seed(7) is generator
    assert generator.initial_seed() == 7
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    # Only the low half reaches the twister.
    assert words(generator.manual_seed(7)) == words(generator.manual_seed(7 + 2**32))
    first, second = generator.seed(), generator.seed()
    assert first != second
    assert generator.initial_seed() == second
    assert words(generator) == words(Generator().manual_seed(second))


@pytest.mark.parametrize(
    "seed, error, message",
    [
        (1.5, RuntimeError, "manual_seed: expected an int, got float"),
        (True, RuntimeError, "manual_seed: expected an int, got bool"),
        (numpy.int64(3), TypeError, "manual_seed: expected a Python int, got int64"),
        (2**64, ValueError, "manual_seed: expected a seed in [-2**63, 2**64), got 18446744"),
        (-(2**63) - 1, ValueError, "manual_seed: expected a seed in [-2**63, 2**64), got -92233"),
    ],
)
def test_bad_seeds(seed: Any, error: type[Exception], message: str) -> None:
    generator = Generator().manual_seed(1)
    with pytest.raises(error, match=re.escape(message)):
        generator.manual_seed(seed)
    assert generator.initial_seed() == 1


@pytest.mark.parametrize("device", ["cuda", "meta", "lazy", "cpu:x", ""])
def test_other_devices_have_no_generator_here(device: str) -> None:
    with pytest.raises(RuntimeError, match="Generator: expected device 'cpu', got"):
        Generator(device)


def test_offsets_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Generator\.get_offset: expected a counter-based"):
        Generator().get_offset()
    with pytest.raises(RuntimeError, match=r"Generator\.set_offset: expected a counter-based"):
        Generator().set_offset(0)


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 1248, 5000])
@pytest.mark.parametrize("way", ["state", "clone", "pickle", "deepcopy", "copy"])
def test_a_copy_goes_on_where_the_original_stands(way: str, drawn: int) -> None:
    generator = Generator().manual_seed(3)
    generator.draw32(drawn)
    random.normal(generator, (3,), numpy.float64)  # leaves a number for the next call
    other = {
        "state": lambda: Generator().set_state(generator.get_state()),
        "clone": generator.clone_state,
        "pickle": lambda: pickle.loads(pickle.dumps(generator)),
        "deepcopy": lambda: copy.deepcopy(generator),
        "copy": lambda: copy.copy(generator),
    }[way]()
    assert other is not generator
    assert other.initial_seed() == 3
    numpy.testing.assert_array_equal(other.get_state(), generator.get_state())
    for shape in [(1,), (700,), (3,)]:
        numpy.testing.assert_array_equal(
            random.normal(other, shape, numpy.float64),
            random.normal(generator, shape, numpy.float64),
        )


def test_reading_a_state_changes_nothing() -> None:
    generator = Generator().manual_seed(0)
    words(generator)
    state = generator.get_state()
    state[:] = 0  # a copy: the generator is not touched
    assert words(generator) == words(Generator().manual_seed(0), 10)[5:]


def test_a_fresh_state_is_kept_byte_for_byte() -> None:
    state = Generator().manual_seed(5).get_state()
    numpy.testing.assert_array_equal(Generator().set_state(state).get_state(), state)


@pytest.mark.parametrize(
    "damage, error, message",
    [
        (lambda state: [1, 2], TypeError, "set_state: expected a uint8 array, got list"),
        (lambda state: state.view("i1"), TypeError, "set_state: expected a uint8 array, got int8"),
        (lambda state: state[1:], RuntimeError, "set_state: expected 5056 bytes, got 5055"),
        (lambda state: state * 0, RuntimeError, "expected a seeded Mersenne twister, got seeded=0"),
        (lambda state: numpy.repeat(state, 2)[::2], RuntimeError, "expected contiguous bytes"),
    ],
)
def test_bad_states(damage: Any, error: type[Exception], message: str) -> None:
    generator = Generator().manual_seed(0)
    with pytest.raises(error, match=re.escape(message)):
        generator.set_state(damage(generator.get_state()))
    assert words(generator) == words(Generator().manual_seed(0))


def test_a_state_out_of_step_is_refused() -> None:
    """PyTorch would read beyond its table; no generator saves such a state."""
    generator = Generator().manual_seed(0)
    words(generator)
    state = generator.get_state()
    state[16] += 1
    with pytest.raises(RuntimeError, match="expected a seeded Mersenne twister, got seeded=1"):
        generator.set_state(state)


def test_two_words_make_a_pair() -> None:
    high, low = words(Generator().manual_seed(0), 2)
    assert Generator().manual_seed(0).draw64(1).tolist() == [(high << 32) | low]
    assert Generator().draw32(0).tolist() == Generator().draw64(0).tolist() == []


def test_threads_share_a_generator_without_splitting_a_call() -> None:
    generator = Generator().manual_seed(0)
    pieces: list[list[float]] = []

    def work() -> None:
        for _ in range(50):
            pieces.append(random.normal(generator, (15,), numpy.float64).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Generator().manual_seed(0)
    expected = [random.normal(alone, (15,), numpy.float64).tolist() for _ in range(200)]
    assert sorted(pieces) == sorted(expected)


@pytest.mark.parametrize("taken", [0, 1, 63, 64, 65, 191, 192, 193, 1000])
def test_a_stream_of_single_numbers_gives_back_what_it_drew_ahead(taken: int) -> None:
    generator, reference = Generator().manual_seed(1), Generator().manual_seed(1)
    with ScalarStream(generator) as stream:
        got = [stream.uniform() for _ in range(taken)]
    assert got == standard_uniform_double(reference, taken).tolist()
    numpy.testing.assert_array_equal(generator.get_state(), reference.get_state())


@pytest.mark.parametrize("taken", [0, 1, 2, 3, 64, 65, 1001])
def test_normals_of_a_stream_share_the_cached_number(taken: int) -> None:
    generator, reference = Generator().manual_seed(1), Generator().manual_seed(1)
    random.normal(generator, (1,), numpy.float64)
    random.normal(reference, (1,), numpy.float64)
    with ScalarStream(generator) as stream:
        got = [stream.normal() for _ in range(taken)]
    expected = random.normal(reference, (taken,), numpy.float64, contiguous=False)
    assert got == expected.tolist()
    numpy.testing.assert_array_equal(generator.get_state(), reference.get_state())


def test_an_error_inside_a_stream_releases_the_generator() -> None:
    generator, reference = Generator().manual_seed(1), Generator().manual_seed(1)
    with pytest.raises(ZeroDivisionError), ScalarStream(generator) as stream:
        stream.uniform()
        raise ZeroDivisionError
    reference.draw64(1)
    numpy.testing.assert_array_equal(generator.get_state(), reference.get_state())
    thread = threading.Thread(target=lambda: words(generator))
    thread.start()
    thread.join(timeout=10)
    assert not thread.is_alive()
