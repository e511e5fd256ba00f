"""Dropout under the names and signatures of `torch.nn.functional`."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip

DECLARED = families.FAMILIES


def _run(name: str, input: Any, p: float, training: bool, inplace: bool) -> Any:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return getattr(t, f"{name}_" if inplace else name)(input, p, training)


def _run_channels(
    input: Any, p: float, training: bool, inplace: bool, batched: bool
) -> Any:
    """`feature_dropout` of an input that may lack the batch dimension."""
    if batched:
        return _run("feature_dropout", input, p, training, inplace)
    given = input.unsqueeze_(0) if inplace else t.unsqueeze(input, 0)
    found = _run("feature_dropout", given, p, training, inplace)
    return found.squeeze_(0) if inplace else t.squeeze(found, 0)


def _warn_of_dimensions(name: str, count: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {count}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def dropout(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """Elements set to zero with probability `p`, the rest divided by `1 - p`."""
    return _run("dropout", input, p, training, inplace)


def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Elements dropped so that a SELU network stays normalised."""
    return _run("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Whole channels dropped so that a SELU network stays normalised."""
    return _run("feature_alpha_dropout", input, p, training, inplace)


def dropout1d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """Whole channels of one spatial dimension set to zero."""
    count = input.dim()
    if 0 <= p <= 1 and count not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {count}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _run_channels(input, p, training, inplace, count == 3)


def dropout2d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """Whole channels of two spatial dimensions set to zero."""
    count = input.dim()
    if count not in (3, 4):
        _warn_of_dimensions("dropout2d", count, 2)
    if count == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. To maintain the 1D channel-wise dropout behavior, please switch to using "
            "dropout1d instead.",
            stacklevel=2,
        )
    return _run_channels(input, p, training, inplace, True)


def dropout3d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """Whole channels of three spatial dimensions set to zero."""
    count = input.dim()
    if count not in (4, 5):
        _warn_of_dimensions("dropout3d", count, 3)
    return _run_channels(input, p, training, inplace, count == 5)
