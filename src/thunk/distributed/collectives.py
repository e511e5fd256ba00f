"""Enters: tensors of this process. Leaves: what all processes would hold, which is the same.

Invariant: with `async_op=True` the result is a `Work` that is done.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from thunk.distributed.groups import ProcessGroup, ReduceOp, Work, world
from thunk.types.tensor_base import TensorBase


def _done(result: Any, async_op: bool) -> Work | None:
    return Work(result) if async_op else None


def _check(op: str, *tensors: Any) -> None:
    world()
    for each in tensors:
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"{op}: expected tensors, got Invalid function argument of type "
                f"{type(each).__name__}"
            )


def _only(op: str, values: Sequence[Any]) -> Any:
    if len(values) != 1:
        raise ValueError(f"{op}: expected a list of one, for each process, got {len(values)}")
    return values[0]


def _root(op: str, rank: int | None) -> None:
    if rank not in (0, None):
        raise ValueError(f"{op}: expected rank 0, got {rank}; there is one process")


def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Replace a tensor by the reduction of all processes' tensors."""
    _check("all_reduce", tensor)
    return _done([tensor], async_op)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The same, on one process only."""
    _check("reduce", tensor)
    _root("reduce", dst)
    return _done([tensor], async_op)


def broadcast(
    tensor: Any, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give all processes one process's tensor."""
    _check("broadcast", tensor)
    _root("broadcast", src)
    return _done([tensor], async_op)


def all_gather(
    tensor_list: list[Any], tensor: Any, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Fill a list with the tensors of all processes."""
    _check("all_gather", tensor, *tensor_list)
    _only("all_gather", tensor_list).copy_(tensor.detach())
    return _done(tensor_list, async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Fill one tensor with the tensors of all processes."""
    _check("all_gather_into_tensor", output_tensor, input_tensor)
    output_tensor.copy_(input_tensor.detach().reshape(output_tensor.shape))
    return _done([output_tensor], async_op)


def gather(
    tensor: Any,
    gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Fill a list on one process with the tensors of all."""
    _check("gather", tensor)
    _root("gather", dst)
    if gather_list is None:
        raise ValueError("gather: expected a gather_list on the destination, got None")
    _only("gather", gather_list).copy_(tensor.detach())
    return _done(gather_list, async_op)


def scatter(
    tensor: Any,
    scatter_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give each process its tensor of one process's list."""
    _check("scatter", tensor)
    _root("scatter", src)
    if scatter_list is None:
        raise ValueError("scatter: expected a scatter_list on the source, got None")
    tensor.copy_(_only("scatter", scatter_list).detach())
    return _done([tensor], async_op)


def reduce_scatter(
    output: Any,
    input_list: list[Any],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors, and give each process its part."""
    _check("reduce_scatter", output, *input_list)
    output.copy_(_only("reduce_scatter", input_list).detach())
    return _done([output], async_op)


def reduce_scatter_tensor(
    output: Any,
    input: Any,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce tensors, and give each process its part."""
    _check("reduce_scatter_tensor", output, input)
    output.copy_(input.detach().reshape(output.shape))
    return _done([output], async_op)


def all_to_all(
    output_tensor_list: list[Any],
    input_tensor_list: list[Any],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give each process its tensor of every process's list."""
    _check("all_to_all", *output_tensor_list, *input_tensor_list)
    _only("all_to_all", output_tensor_list).copy_(_only("all_to_all", input_tensor_list).detach())
    return _done(output_tensor_list, async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give each process its part of every process's tensor."""
    _check("all_to_all_single", output, input)
    output.copy_(input.detach())
    return _done([output], async_op)


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None
) -> Work | None:
    """Wait for all processes."""
    world()
    return _done(None, async_op)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all processes, and name those that are late."""
    world()


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Fill a list with objects of all processes."""
    world()
    _only("all_gather_object", object_list)
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
) -> None:
    """Fill a list on one process with objects of all."""
    world()
    _root("gather_object", dst)
    if object_gather_list is not None:
        object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
) -> None:
    """Give all processes one process's objects."""
    world()
    _root("broadcast_object_list", src)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
) -> None:
    """Give each process its object of one process's list."""
    world()
    _root("scatter_object_list", src)
    scatter_object_output_list[0] = copy.deepcopy(
        _only("scatter_object_list", scatter_object_input_list or [])
    )


def _nobody(op: str) -> NoReturn:
    world()
    raise ValueError(f"{op}: expected another process, got a group of one")


def send(tensor: Any, dst: int | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no other process."""
    _nobody("send")


def recv(tensor: Any, src: int | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no other process."""
    _nobody("recv")


def isend(tensor: Any, dst: int | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no other process."""
    _nobody("isend")


def irecv(tensor: Any, src: int | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no other process."""
    _nobody("irecv")
