"""Enters: `reduction=` and the flags that came before it. Leaves: the operators' number for it."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def number_of(reduction: str) -> int:
    """The number of a reduction's name."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return _NUMBERS["mean"]
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def resolved(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction's name; the deprecated flags win, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        found = "none"
    else:
        found = "sum" if size_average is False else "mean"
    warnings.warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{found}' instead.",
        stacklevel=3,
    )
    return found
