"""NumPy rules of table look-up and bags of rows.

Invariant: indices are checked before they read; sums of rows are formed in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.types.spec import TensorSpec

SUM, MEAN, MAX = range(3)


def _check_range(indices: Any, rows: int, kind: type[Exception], name: str) -> None:
    wrong = (indices < 0) | (indices >= rows)
    if wrong.any():
        raise kind(
            f"{name}: index out of range in self; expected indices from 0 to {rows - 1}, got "
            f"{indices[wrong][0]}"
        )


@rule("embedding")
def embedding(
    spec: TensorSpec, weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:  # fmt: skip
    _check_range(indices, len(weight), IndexError, "embedding")
    return weight[indices]


def _frequencies(indices: Any, rows: int) -> Any:
    """How often the index at each place occurs."""
    return numpy.bincount(indices, minlength=rows)[indices]


@rule("embedding_dense_backward", half="float32")
def embedding_backward(
    spec: TensorSpec, grad_output: Any, indices: Any, num_weights: int, padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:  # fmt: skip
    flat = indices.reshape(-1)
    kind = numpy.complex128 if grad_output.dtype.kind == "c" else numpy.float64
    grads = grad_output.reshape(flat.size, spec.shape[1]).astype(kind)
    if scale_grad_by_freq and flat.size:
        grads = grads / _frequencies(flat, num_weights)[:, None]
    kept = flat != padding_idx
    found = numpy.zeros(spec.shape, kind)
    numpy.add.at(found, flat[kept], grads[kept])
    return found


@rule("embedding_renorm", half="float32")
def embedding_renorm(
    spec: TensorSpec, self: Any, indices: Any, max_norm: float, norm_type: float
) -> Any:
    _check_range(indices, len(self), IndexError, "embedding_renorm")
    rows = numpy.unique(indices)
    found = self.copy()
    wide = self[rows].astype(numpy.float64)
    lengths = numpy.linalg.norm(wide, norm_type, 1) if wide.size else numpy.zeros(len(rows))
    # The small constant is PyTorch's: it keeps rounded rows within the norm.
    scale = numpy.where(lengths > max_norm, max_norm / (lengths + 1e-7), 1.0)
    found[rows] = (wide * scale[:, None]).astype(self.dtype)
    return found


# --- bags -----------------------------------------------------------------------------------------


def _bag_of_each(offsets: Any, count: int, include_last_offset: bool) -> Any:
    if len(offsets) and offsets[0] != 0:
        raise RuntimeError(
            f"embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch "
            f"has to start from position 0. However, got {offsets[0]}"
        )
    if len(offsets) and offsets[-1] > count:
        raise RuntimeError(
            f"embedding_bag: offsets[-1] can not be greater than input's length {count}, but got "
            f"offsets[-1] of {offsets[-1]}"
        )
    if not include_last_offset:
        return numpy.searchsorted(offsets, numpy.arange(count), "right") - 1
    bag = numpy.searchsorted(offsets[:-1], numpy.arange(count), "right") - 1
    bag[offsets[-1] :] = -1  # in no bag
    return bag


@rule("_embedding_bag", half="float32")
def embedding_bag(
    spec: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int,
    sparse: bool, per_sample_weights: Any, include_last_offset: bool, padding_idx: int,
) -> Any:  # fmt: skip
    flat = indices.reshape(-1)
    _check_range(flat, len(weight), RuntimeError, "embedding_bag")
    bag = _bag_of_each(offsets, flat.size, include_last_offset)
    kept = (flat != padding_idx) & (bag >= 0)
    bags = spec[0].shape[0]
    sizes = numpy.bincount(bag[kept], minlength=bags)
    rows = weight[flat].astype(numpy.float64)
    if mode == MAX:
        output, largest = _maxima(rows[kept], flat[kept], bag[kept], spec[0].shape)
        return output, bag, sizes, largest
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    output = numpy.zeros(spec[0].shape, numpy.float64)
    numpy.add.at(output, bag[kept], rows[kept])
    if mode == MEAN:
        output = output / numpy.maximum(sizes, 1)[:, None]
    return output, bag, sizes, numpy.zeros(bags, flat.dtype)


def _maxima(rows: Any, indices: Any, bag: Any, shape: Any) -> tuple[Any, Any]:
    """The largest element of every bag and feature, and the index of the row it stands in first."""
    output = numpy.full(shape, -numpy.inf)
    numpy.maximum.at(output, bag, rows)
    places = numpy.arange(len(rows))[:, None]
    first = numpy.full(shape, len(rows))
    numpy.minimum.at(first, bag, numpy.where(rows == output[bag], places, len(rows)))
    found = first < len(rows)
    known = numpy.append(indices, -1)
    return numpy.where(found, output, 0), numpy.where(found, known[first], 0)


@rule("_embedding_bag_dense_backward", half="float32")
def embedding_bag_backward(
    spec: TensorSpec, grad: Any, indices: Any, offset2bag: Any, bag_size: Any,
    maximum_indices: Any, num_weights: int, scale_grad_by_freq: bool, mode: int,
    per_sample_weights: Any, padding_idx: int,
) -> Any:  # fmt: skip
    found = numpy.zeros(spec.shape, numpy.float64)
    if mode == MAX:
        full = numpy.broadcast_to(bag_size[:, None] > 0, maximum_indices.shape)
        bags, features = numpy.nonzero(full)
        rows = maximum_indices[bags, features]
        numpy.add.at(found, (rows, features), grad[bags, features])
        return found
    flat = indices.reshape(-1)
    kept = (flat != padding_idx) & (offset2bag >= 0)
    grads = grad.astype(numpy.float64)[offset2bag]
    if mode == MEAN:
        grads = grads / numpy.maximum(bag_size, 1)[offset2bag][:, None]
    if per_sample_weights is not None:
        grads = grads * per_sample_weights.reshape(-1, 1)
    if scale_grad_by_freq and flat.size:
        grads = grads / _frequencies(flat, num_weights)[:, None]
    numpy.add.at(found, flat[kept], grads[kept])
    return found


@rule("_embedding_bag_per_sample_weights_backward", half="float32")
def per_sample_weights_backward(
    spec: TensorSpec, grad: Any, weight: Any, indices: Any, offsets: Any, offset2bag: Any,
    mode: int, padding_idx: int,
) -> Any:  # fmt: skip
    flat = indices.reshape(-1)
    found = (grad[offset2bag] * weight[flat]).sum(1)
    return numpy.where(flat != padding_idx, found, 0).reshape(spec.shape)
