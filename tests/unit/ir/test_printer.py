"""Graphs as text."""

from __future__ import annotations

import numpy

from graphs import Recorder
from thunk.ir.printer import print_graph


def test_results_that_nobody_asked_for_are_spelled_as_none() -> None:
    recorder = Recorder()
    images, weight = numpy.zeros((2, 3, 8, 8), "f"), numpy.zeros((4, 3, 3, 3), "f")
    grad = recorder.input(numpy.zeros((2, 4, 6, 6), "f"))
    found = recorder.call(
        "convolution_backward", grad, recorder.input(images), recorder.input(weight), None,
        (1, 1), (0, 0), (1, 1), False, (0, 0), 1, (False, True, False),
    )  # fmt: skip
    text = print_graph(recorder.outputs(found[1]))
    assert "# None, float32[4, 3, 3, 3], None" in text
