"""Pooling under the names and signatures of `torch.nn.functional`.

Enters: pictures and windows, as numbers or one a dimension. Leaves: what the operators return.
Invariant: a wrapper only fills in what the operators need: strides, sizes, random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.nn.functional.arguments import pair, single, spread, triple
from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

DECLARED = families.FAMILIES

avg_pool1d, adaptive_avg_pool1d = t.avg_pool1d, t.adaptive_avg_pool1d


# --- max pooling ----------------------------------------------------------------------------------


def _max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    operator = getattr(t, f"max_pool{dims}d_with_indices")

    def with_indices(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return operator(input, kernel_size, stride, padding, dilation, ceil_mode)

    def max_pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        found = operator(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    text = "The largest element of each window"
    _name(with_indices, f"max_pool{dims}d_with_indices", f"{text}, and its flat index.")
    _name(max_pool, f"max_pool{dims}d", f"{text}; with its flat index if asked for.")
    return with_indices, max_pool


def _name(function: Callable[..., Any], name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc


max_pool1d_with_indices, max_pool1d = _max_pool(1)
max_pool2d_with_indices, max_pool2d = _max_pool(2)
max_pool3d_with_indices, max_pool3d = _max_pool(3)


# --- adaptive pooling -----------------------------------------------------------------------------


def _size_or_input(output_size: Any, shape: Sequence[int]) -> Any:
    """A size whose None entries are the input's."""
    if not isinstance(output_size, (tuple, list)):
        return output_size
    if len(shape) <= len(output_size):
        raise ValueError(
            f"expected an input of at least {len(output_size) + 1} dimensions for "
            f"output_size {output_size}, got {len(shape)}"
        )
    own = shape[-len(output_size) :]
    return [size if wanted is None else wanted for wanted, size in zip(output_size, own)]


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The mean of each of as many windows as `output_size` says; None keeps the input's size."""
    return t.adaptive_avg_pool2d(input, _size_or_input(output_size, input.shape))


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The mean of each of as many windows as `output_size` says; None keeps the input's size."""
    return t.adaptive_avg_pool3d(input, _size_or_input(output_size, input.shape))


def _adaptive_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    operator = getattr(t, f"adaptive_max_pool{dims}d")

    def with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        size = output_size if dims == 1 else _size_or_input(output_size, input.shape)
        return operator(input, size)

    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    text = "The largest element of each of as many windows as `output_size` says"
    _name(with_indices, f"adaptive_max_pool{dims}d_with_indices", f"{text}, and its flat index.")
    _name(adaptive_max_pool, f"adaptive_max_pool{dims}d", f"{text}.")
    return with_indices, adaptive_max_pool


adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _adaptive_max_pool(1)
adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _adaptive_max_pool(2)
adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _adaptive_max_pool(3)


# --- fractional pooling ---------------------------------------------------------------------------


def _fractional_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{dims}d"
    operator = getattr(t, name)

    def with_indices(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name}: expected an output_size or an output_ratio, got neither")
        if output_size is None:
            ratios = spread(output_ratio, dims)
            if len(ratios) > dims:
                raise ValueError(f"{name}: expected {dims} ratios, got {ratios}")
            sizes = input.shape[-dims:]
            output_size = [int(size * ratio) for size, ratio in zip(sizes, ratios)]
        if _random_samples is None:
            batch = 1 if input.ndim == dims + 1 else input.shape[0]
            _random_samples = t.rand(
                (batch, input.shape[-dims - 1], dims), dtype=input.dtype, device=input.device
            )
        return operator(input, kernel_size, output_size, _random_samples)

    def fractional_max_pool(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        found = with_indices(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )
        return found if return_indices else found[0]

    text = "The largest element of each of the windows that random numbers place"
    _name(with_indices, f"{name}_with_indices", f"{text}, and its flat index.")
    _name(fractional_max_pool, name, f"{text}.")
    return with_indices, fractional_max_pool


fractional_max_pool2d_with_indices, fractional_max_pool2d = _fractional_max_pool(2)
fractional_max_pool3d_with_indices, fractional_max_pool3d = _fractional_max_pool(3)


# --- unpooling ------------------------------------------------------------------------------------


def _unpooled_size(
    name: str, input: Any, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    output_size: Any,
) -> list[int]:  # fmt: skip
    """The size that max pooling may have started from: a wish, or the smallest one."""
    dims = len(kernel)
    usual = [
        (size - 1) * step + window - 2 * pad
        for size, step, window, pad in zip(input.shape[-dims:], stride, kernel, padding)
    ]
    if output_size is None:
        sizes = usual
    else:
        sizes = list(output_size)[2:] if len(output_size) == dims + 2 else list(output_size)
        if len(sizes) != dims:
            raise ValueError(
                f"{name}: expected an output_size of {dims} or {dims + 2} elements, "
                f"got {len(output_size)}"
            )
        for d, (size, middle, step) in enumerate(zip(sizes, usual, stride)):
            if not middle - step < size < middle + step:
                raise ValueError(
                    f"{name}: expected output_size[{d}] between {middle - step} and "
                    f"{middle + step}, got invalid output_size {list(output_size)}"
                )
    if min(sizes) < 0:
        raise ValueError(f"{name}: expected an output_size that is not negative, got {sizes}")
    return sizes


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Elements put back where `max_pool1d` found them, zeros elsewhere."""
    kernel = single(kernel_size)
    step = kernel if stride is None else single(stride)
    size = _unpooled_size("max_unpool1d", input, kernel, step, single(padding), output_size)
    result = t.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1])
    return result.squeeze(-1)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Elements put back where `max_pool2d` found them, zeros elsewhere."""
    kernel = pair(kernel_size)
    step = kernel if stride is None else pair(stride)
    size = _unpooled_size("max_unpool2d", input, kernel, step, pair(padding), output_size)
    return t.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Elements put back where `max_pool3d` found them, zeros elsewhere."""
    kernel = triple(kernel_size)
    step = kernel if stride is None else triple(stride)
    pads = triple(padding)
    size = _unpooled_size("max_unpool3d", input, kernel, step, pads, output_size)
    return t.max_unpool3d(input, indices, size, step, pads)


# --- power-average pooling ------------------------------------------------------------------------


def _lp_pool(
    dims: int, input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Any:
    kernel = spread(kernel_size, dims)
    if norm_type in (float("inf"), -float("inf")):
        largest = getattr(t, f"max_pool{dims}d")
        if norm_type > 0:
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    mean = getattr(t, f"avg_pool{dims}d")(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for size in kernel:
        count *= size
    # The gradient of sign(x) relu(|x|) is zero at zero, where that of the root is infinite.
    return (t.sign(mean) * t.relu(t.abs(mean))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
