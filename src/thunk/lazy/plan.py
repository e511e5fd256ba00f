"""Enters: the end of a walk and its layout. Leaves: the program that computes it, and its commit.

Invariant: a plan depends on the path and on the layout alone, so all that a cut has to look up is
looked up when the plan is made. A commit that was interrupted can be done again from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thunk.base.errors import Mismatch, recorded_at
from thunk.lazy.arguments import items_at
from thunk.lazy.compiled import Computation, computation_of
from thunk.lazy.kept import Kept, KeptLeaf
from thunk.lazy.layout import HOLDS, Layout, Residual
from thunk.lazy.node import LeafFact, TraceNode, leaf_fact
from thunk.lazy.program import GraphOfPath
from thunk.lazy.run import Run
from thunk.lazy.segment import Segment
from thunk.lazy.tally import Tally
from thunk.lazy.trace import Trace, has_history
from thunk.ops.rules.numbers import check_fits
from thunk.runtime.storage import Bytes, Storage
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import VersionCounter


class Result:
    """What is known of a result that was computed, until somebody asks for its storage."""

    __slots__ = ("node", "plain", "spec", "tracked")

    def __init__(self, node: TraceNode) -> None:
        spec = node.spec.fresh()
        self.node = node
        self.spec: TensorSpec = node.spec if spec == node.spec else spec
        self.plain: LeafFact = leaf_fact(self.spec, False, node.inference)
        self.tracked: LeafFact = leaf_fact(self.spec, True, node.inference)

    @property
    def derives_history(self) -> bool:
        """Whether the walk knows the history; a leaf has its own, and must not hold the walk."""
        return self.node.requires_grad and self.node.external < 0

    def storage(self, memory: Bytes, run: Run | None) -> Storage:
        """The storage over the result's memory."""
        storage = Storage(memory)
        storage.home, storage.plain, storage.tracked = self.spec, self.plain, self.tracked
        storage.launch = run
        return storage


class Contents:
    """What is known of the new contents of a storage."""

    __slots__ = ("plain", "spec", "tracked")

    def __init__(self, node: TraceNode) -> None:
        self.spec: TensorSpec = node.spec
        self.plain = leaf_fact(node.spec, False)
        self.tracked = leaf_fact(node.spec, True)


class Plan:
    """How to run a cut and where its results go."""

    __slots__ = (
        "computation", "constants", "differentiable", "empty", "graph", "guards", "inputs",
        "kept", "leaves", "moved", "numbers", "outputs", "residuals", "sharing", "spare",
        "storages", "stored", "tally", "undo", "written",
    )  # fmt: skip

    def __init__(self, trace: Trace, layout: Layout) -> None:
        outputs = _outputs(layout)
        built = GraphOfPath(trace.end.path(), outputs)
        self.graph = built.graph
        self.outputs = tuple(outputs)
        self.empty = not outputs
        self.leaves = tuple(built.inputs)
        self.inputs = items_at(built.inputs)
        self.numbers = items_at(built.numbers)
        self.guards = tuple(built.guards)
        first = len(layout.plain)
        self.stored = tuple(
            [(index, first + at, Contents(node)) for at, (index, node) in enumerate(layout.stored)]
        )
        self.undo = tuple([(index, at, _leaf_of(trace, index)) for index, at, _ in self.stored])
        self.computation = computation_of(self.graph, _donated(trace, built, self.undo))
        self.spare: Computation | None = None  # that takes no memory over
        places = {node: at for at, node in enumerate(outputs)}
        facts = [(index, at, Result(node)) for at, (index, node) in enumerate(layout.plain)]
        self.constants = tuple([each for each in facts if not each[2].derives_history])
        self.differentiable = tuple([each for each in facts if each[2].derives_history])
        self.moved = tuple(
            [(index, fact.spec) for index, _, fact in facts if fact.spec is not fact.node.spec]
        )
        self.sharing = layout.sharing
        self.written = layout.stored
        self.storages = len(trace.storages)
        self.residuals = tuple(
            [
                each._replace(output=places[each.node] if each.needs_output else -1)
                for each in layout.residuals
            ]
        )
        self.kept = tuple(
            [Result(each.node) if each.needs_output else None for each in self.residuals]
        )
        self.tally = Tally(trace.end.path(), len(trace.results), len(facts) + len(layout.sharing),
                           len(outputs))  # fmt: skip

    @property
    def donates(self) -> bool:
        """Whether memory of inputs becomes that of outputs."""
        return bool(self.computation.donated)

    def expect_numbers(self, numbers: Sequence[Any]) -> None:
        """Raise if a number does not fit the dtype that it becomes."""
        for guard in self.guards:
            try:
                check_fits(numbers[guard.place], guard.dtype)
            except Mismatch as mismatch:
                error = mismatch.named(guard.op)
                recorded_at(error, guard.where)
                raise error from None

    def without_donation(self) -> Computation:
        """The same computation for storages whose memory is shared with others."""
        found = self.spare
        if found is None:
            found = self.spare = computation_of(self.graph, {})
        return found

    def fits(self, trace: Trace) -> bool:
        """Whether the walk's lists hold what they held when the plan was made."""
        storages = trace.storages
        if len(storages) != self.storages:
            return False
        results = trace.results
        for index, _, fact in self.constants:
            if results[index]._node is not fact.node:
                return False
        for index, _, fact in self.differentiable:
            if results[index]._node is not fact.node:
                return False
        for index, node in self.written:
            if storages[index].node is not node:
                return False
        if not self.residuals:
            return True
        lists = (results, trace.registered, trace.foreign)
        return all(each.fits(lists) for each in self.residuals)

    def commit(
        self, results: list[Any], registered: list[Any], foreign: list[tuple[Any, TraceNode]],
        storages: list[Storage], known: list[Storage], segment: Segment,
        outputs: list[Bytes], run: Run | None,
    ) -> None:  # fmt: skip
        """Give every tensor of the walk its values; `run` is None if they are there already."""
        owners = None
        if self.residuals:
            owners = [
                None if each.owner is None else each.owner.of((results, registered, foreign))
                for each in self.residuals
            ]
        for index in self.sharing:
            tensor = results[index]
            if tensor._node is not None:
                _settle_fields(tensor, segment)
                tensor._node = None
        for index, at, fact in self.constants:
            tensor = results[index]
            tensor._origin = (None, fact, outputs[at], run)
            tensor._node = None
        for index, at, fact in self.differentiable:
            tensor = results[index]
            tensor._origin = (segment, fact, outputs[at], run)
            tensor._node = None
        for index, spec in self.moved:
            results[index]._spec = spec
        for index, at, contents in self.stored:
            storage = storages[index]
            if storage.foreign or storage.pinned or storage.plain is None:
                _receive(storage, outputs[at], contents, run)
            else:
                storage._data = outputs[at]
                storage.launch = run
        for tensor in registered:
            tensor._node = None
            storage = tensor._storage
            storage.trace = storage.node = None
            storage.users = 0
            storage.reader = run
        for storage in storages:
            storage.trace = storage.node = None
            storage.users = 0
        for storage in known:
            storage.trace = storage.node = None
            storage.users = 0
            storage.reader = run
        if segment.trace is not None:
            segment.finish({})
        if owners is not None:
            for residual, made, owner in zip(self.residuals, self.kept, owners, strict=True):
                segment.residuals[residual.node] = _kept(
                    segment, residual, made, owner, outputs, run
                )


def _settle_fields(tensor: Any, segment: Segment) -> None:
    """Find what follows from a tensor's node while it has one; the history waits if it can."""
    node: TraceNode = tensor._node
    tensor._spec, tensor._versions  # noqa: B018  (found while pending)
    follows = node.requires_grad and node.external < 0 and not has_history(tensor)
    if follows and tensor._origin is None:
        tensor._origin = (segment, node)
    else:
        tensor._history  # noqa: B018  (found while pending)


def _receive(storage: Storage, data: Bytes, contents: Contents, run: Run | None) -> None:
    if storage.home is None:
        storage.home = contents.spec
    if storage.plain is None:
        if storage.home is contents.spec:
            storage.plain, storage.tracked = contents.plain, contents.tracked
        else:
            storage.plain = leaf_fact(storage.home, False)
            storage.tracked = leaf_fact(storage.home, True)
    storage.receive(data, run)


def _outputs(layout: Layout) -> list[TraceNode]:
    """The program's outputs: what tensors and storages get, then residuals that nobody shows."""
    outputs = [node for _, node in layout.plain] + [node for _, node in layout.stored]
    known = set(outputs)
    return outputs + [
        each.node for each in layout.residuals if each.needs_output and each.node not in known
    ]


def _leaf_of(trace: Trace, index: int) -> int:
    """Which leaf of the walk is the memory that a storage had before, -1 if it had none."""
    memory = trace.storages[index]._data
    if memory is None:
        return -1
    return next((at for at, each in enumerate(trace.leaves) if each is memory), -1)


def _donated(
    trace: Trace, built: GraphOfPath, undo: Sequence[tuple[int, int, int]]
) -> dict[int, int]:
    """Inputs whose memory becomes that of their storage's new contents, and which output that is.

    Memory that several leaves show is nobody's to give.
    """
    times = Counter([id(each) for each in trace.leaves])
    places = {leaf: position for position, leaf in enumerate(built.inputs)}
    return {
        places[leaf]: output for index, output, leaf in undo
        if leaf in places and not trace.storages[index].foreign
        and times[id(trace.leaves[leaf])] == 1
    }  # fmt: skip


def _kept(
    segment: Segment, residual: Residual, fact: Result | None, owner: Any, outputs: list[Bytes],
    run: Run | None,
) -> Any:  # fmt: skip
    """What backward reads: the memory that still holds the value, watched for writes."""
    node, told = residual.node, residual.owner
    if fact is not None:
        storage, spec = fact.storage(outputs[residual.output], run), fact.spec
    else:
        storage, spec = owner._storage, owner._spec
        if told is not None and told.kind is not HOLDS:
            # The walk counts from the first element of what lies at another place each time.
            spec = replace(node.spec, offset=node.spec.offset + spec.offset - told.start)
    versions = VersionCounter() if owner is None else owner._versions
    counter = segment.memory.counter_of(node) or versions
    present = residual.present
    may_be_leaf = present.external >= 0 or not present.requires_grad
    shown = told is not None and told.kind is HOLDS and counter is versions
    if shown and may_be_leaf and _is_plain_leaf(owner):
        return KeptLeaf(owner)
    return Kept(present, new_tensor(storage, spec, counter))


def _is_plain_leaf(tensor: Any) -> bool:
    """Whether a tensor that is no view has no producer; of a view one must not ask in a commit."""
    history = tensor._history
    return history is None or (history.base is None and history.grad_fn is None)
