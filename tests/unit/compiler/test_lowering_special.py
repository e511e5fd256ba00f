"""Special functions compiled from their reference rules, against the rules themselves."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import thunk
from graphs import Recorder, agree
from thunk.backends.cpu.llvm.math.traced import name_and_edition, special_functions
from thunk.backends.reference.special_series import FUNCTIONS

random = numpy.random.default_rng(11)
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, 8.0, 0.5, -26.8, 1e-30, 1e30, -1e30, numpy.inf, -numpy.inf,
         numpy.nan]  # fmt: skip
SPREAD = numpy.concatenate([EDGES, random.normal(size=60), random.normal(size=60) * 12])


def operands(name: str, dtype: Any) -> list[numpy.ndarray]:
    count, _ = FUNCTIONS[name]
    if count == 1:
        return [SPREAD.astype(dtype)]
    if "polynomial" in name:
        known = [-1.0, 0, 1, 2, 3, 7, 8, 9, 40, 600, numpy.nan, numpy.inf, -numpy.inf]
        degrees = numpy.array(known)
        return [SPREAD[:, None].astype(dtype), degrees.astype(dtype)]
    other = numpy.concatenate([EDGES, numpy.abs(random.normal(size=20) * 9), [300.0, 320.0, 1e4]])
    return [numpy.concatenate([SPREAD, other])[:, None].astype(dtype), other.astype(dtype)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", special_functions)
def test_agrees_with_its_rule(name: str, dtype: Any) -> None:
    recorder = Recorder()
    recorder.outputs(recorder.call(name, *[recorder.input(each) for each in operands(name, dtype)]))
    program = agree(recorder, 2e-6 if dtype == "f4" else 1e-9)
    assert not program.schedule.fallbacks


def test_a_short_vector_and_one_element_are_computed_too() -> None:
    for size in (1, 3, 17):
        recorder = Recorder()
        place = recorder.input(numpy.linspace(0.5, 30, size))
        order = recorder.input(numpy.full(size, 2.5))
        recorder.outputs(recorder.call("igamma", order, place))
        assert not agree(recorder, 1e-9).schedule.fallbacks


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bits_are_read_at_every_edge(dtype: Any) -> None:
    limits = numpy.finfo(dtype)
    edges = [limits.max, limits.tiny, limits.smallest_subnormal, limits.tiny * 3 / 4, 0.75]
    column = numpy.concatenate([SPREAD, edges, numpy.negative(edges)]).astype(dtype)
    recorder = Recorder()
    value, other = recorder.input(column[:, None]), recorder.input(column)
    recorder.outputs(
        recorder.call("nextafter", value, other), recorder.call("signbit", value),
        *recorder.call("frexp.Tensor", value), recorder.call("angle", value),
        recorder.call("sinc", value), recorder.call("logaddexp2", value, other),
    )  # fmt: skip
    program = agree(recorder, 1e-6 if dtype == "f4" else 1e-13)
    assert not program.schedule.fallbacks


def test_a_kernel_is_known_by_the_edition_of_its_rules() -> None:
    """Code on disk must not outlive the rule that it was written from."""
    assert name_and_edition("exp") == "exp"
    name, edition = name_and_edition("special_erfcx").split()
    assert name == "special_erfcx" and len(edition) == 16


@pytest.mark.parametrize("dtype", [thunk.float32, thunk.float64, thunk.bfloat16])
def test_windows_and_triangles(dtype: Any) -> None:
    recorder = Recorder()
    outputs = []
    for length in (1, 2, 11):
        for periodic in (False, True):
            alpha, beta = recorder.number(0.4), recorder.number(0.7)
            outputs += [
                recorder.call("hamming_window.periodic_alpha_beta", length, periodic, alpha, beta,
                              dtype),
                recorder.call("kaiser_window.beta", length, periodic, recorder.number(9.0), dtype),
                recorder.call("bartlett_window.periodic", length, periodic, dtype),
                recorder.call("blackman_window.periodic", length, periodic, dtype),
            ]  # fmt: skip
    outputs += [recorder.call(f"{name}_indices", 4, 6, 1) for name in ("tril", "triu")]
    recorder.outputs(*outputs)
    assert not agree(recorder, 1e-6).schedule.fallbacks
