"""Enters: a recorded graph. Leaves: an equal graph that is smaller and easier to lower.

Invariant: a pass never changes what outputs hold, bit for bit, but for the order of long sums.
"""

from __future__ import annotations

from collections.abc import Callable

from thunk.compiler.passes.common import share_common
from thunk.compiler.passes.dead import drop_dead
from thunk.compiler.passes.products import turn_products
from thunk.compiler.passes.sums import join_sums
from thunk.ir.graph import Graph

Pass = Callable[[Graph], Graph]

# Name, function, why it runs where it runs.
PASSES: list[tuple[str, Pass, str]] = [
    ("sums", join_sums, "gradients of a weight used at every time step are sums of products"),
    ("dead", drop_dead, "recording keeps what nobody asked for"),
    ("common", share_common, "formulas of gradients repeat what the forward pass computed"),
    ("products", turn_products, "gradients of weights are products that are read transposed"),
]


def run_passes(graph: Graph, check: Callable[[str, Graph], None] | None = None) -> Graph:
    """Every pass in order; `check` sees the graph after each."""
    for name, function, _ in PASSES:
        graph = function(graph)
        if check is not None:
            check(name, graph)
    return graph
