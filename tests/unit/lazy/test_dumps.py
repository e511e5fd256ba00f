"""Graphs as text and as pictures, and saved to a file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

from graphs import Recorder
from thunk.base.config import config
from thunk.ir.dot import graph_to_dot
from thunk.ir.graph import Graph
from thunk.lazy.dumps import graph_hash, graph_text, save_graph


def example(scale: float = 0.5) -> Graph:
    """Two results of one operation, an operand used twice, a list, a number."""
    recorder = Recorder()
    x = recorder.input(numpy.ones((2, 3), "f4"))
    doubled = recorder.call("mul.Tensor", x, recorder.number(scale))
    values, places = recorder.call("max.dim", doubled, 1)
    joined = recorder.call("cat", (values, values), 0)
    return recorder.outputs(joined, places)


def edges(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^  (\w+) -> (\w+)", text, re.MULTILINE)


def test_a_picture_holds_every_node_and_edge() -> None:
    text = graph_to_dot(example())
    assert text.startswith('digraph "graph" {\n') and text.endswith("}\n")
    assert 'in0 [shape=ellipse, label="input 0\\nfloat32[2, 3]"];' in text
    assert 's0 [shape=ellipse, style=dashed, label="s0: float"];' in text
    assert 'n1 [label="aten::max.dim\\ndim=1\\nkeepdim=False\\nfloat32[2]\\nint64[2]' in text
    assert edges(text) == [
        ("in0", "n0"), ("s0", "n0"), ("n0", "n1"), ("n1", "n2"), ("n1", "n2"), ("n2", "out0"),
        ("n1", "out1"),
    ]  # fmt: skip
    assert 'n1 -> out1 [label="[1]"];' in text
    assert 'n1 -> n2 [label="tensors[0]"];' in text


def test_equal_graphs_give_equal_text_and_hashes() -> None:
    assert graph_to_dot(example()) == graph_to_dot(example(0.25))  # numbers are inputs
    assert graph_hash(example()) == graph_hash(example(0.25))
    recorder = Recorder()
    x = recorder.input(numpy.ones((2, 3), "f4"))
    assert graph_hash(recorder.outputs(recorder.call("neg", x))) != graph_hash(example())


def test_a_hash_does_not_depend_on_lines() -> None:
    graph = example()
    before = graph_hash(graph)
    for node in graph.nodes:
        node.where = "elsewhere.py:1"
    assert graph_hash(graph) == before
    assert "elsewhere.py:1" in graph_to_dot(graph)


def test_labels_are_escaped() -> None:
    graph = example()
    graph.nodes[0].where = 'C:\\new "file".py:1'
    assert '\\nC:\\\\new \\"file\\".py:1"];' in graph_to_dot(graph, 'a "name"')
    assert graph_to_dot(graph, 'a "name"').startswith('digraph "a \\"name\\"" {')


def test_forms() -> None:
    graph = example()
    assert graph_text(graph, "text").startswith("def graph(a0, s0):")
    assert graph_text(graph, "dot") == graph_to_dot(graph)
    assert graph_text(graph, "backend", lambda: "program") == "program"
    with pytest.raises(RuntimeError, match="expected a compiled graph"):
        graph_text(graph, "backend")
    with pytest.raises(RuntimeError, match="got 'pdf'"):
        graph_text(graph, "pdf")


def test_graphs_are_saved_where_the_option_says(tmp_path: Path) -> None:
    path = tmp_path / "graphs.txt"
    graph = example()
    save_graph(graph, "nobody asked")
    assert not path.exists()
    with config.override(lazy_save_graphs_file=str(path)):
        save_graph(graph, "item() at user.py:3\nsecond line")
        with config.override(lazy_save_graphs_format="dot"):
            save_graph(graph)
        with config.override(lazy_save_graphs_format="backend"):
            save_graph(graph, backend_text=lambda: "; native code")
    text = path.read_text()
    heads = re.findall(r"^# graph (\d+) of process \d+, (\w{64})$", text, re.MULTILINE)
    assert len(heads) == 3 and {each[1] for each in heads} == {graph_hash(graph)}
    first = int(heads[0][0])
    assert [int(each[0]) for each in heads] == [first, first + 1, first + 2]
    assert "# item() at user.py:3\n# second line\ndef graph(a0, s0):" in text
    assert 'digraph "graph" {' in text and "; native code" in text
