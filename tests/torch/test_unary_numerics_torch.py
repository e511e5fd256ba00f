"""Every unary function of torch's database, compiled: its error against float64 beside torch's.

In: float32 numbers: random bits, usual sizes, special ones. Out: at most two units in the last
place, or torch's own largest error where that is larger; NaN and infinities where torch has them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.oracle.catalog import Entry, entries
from tests.torch.oracle.compiled import in_new_thread
from tests.torch.oracle.subject import Subject
from torch.testing._internal.opinfo.core import UnaryUfuncInfo

from thunk.base.config import config
from thunk.lazy.eager import execution

MOST_UNITS = 2.0
# What the compiled functions are known to be worse at, each with its reason and bound.
WORSE = {
    "nn.functional.gelu": (4.0, "a product of two rounded factors"),
    "nn.functional.elu": (3.0, "a product of two rounded factors"),
    "nn.functional.selu": (3.0, "a product of two rounded factors"),
    "nn.functional.mish": (4.0, "a product of two rounded factors"),
}
OUTSIDE = {
    "special.ndtr": "torch's own float64 is no reference: it is 0 below -8.3",
    "special.airy_ai": "waves of huge arguments have no exact digits in float64",
    "special.bessel_j0": "waves of huge arguments have no exact digits in float64",
    "special.bessel_j1": "waves of huge arguments have no exact digits in float64",
    "special.bessel_y0": "waves of huge arguments have no exact digits in float64",
    "special.bessel_y1": "waves of huge arguments have no exact digits in float64",
    **{f"polygamma.polygamma_n_{n}": "torch's own float64 cancels left of zero"
       for n in range(1, 5)},
    "nn.functional.rrelu": "random slopes",
    "frexp": "two results", "fill": "not a function of one tensor",
    "nn.functional.prelu": "not a function of one tensor",
    "nn.functional.threshold": "not a function of one tensor",
}


def chosen() -> list[Entry]:
    """Entries that take float32 and give float32."""
    return [entry for entry in entries()
            if entry.outside is None and entry.full_name not in OUTSIDE
            and isinstance(entry.info, UnaryUfuncInfo)
            and torch.float32 in entry.info.dtypes and torch.float64 in entry.info.dtypes]


def numbers() -> np.ndarray[Any, Any]:
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 32, 6000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = np.concatenate([random.normal(size=6000) * scale for scale in (0.01, 1, 10)])
    limits = np.finfo(np.float32)
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, np.inf, -np.inf, np.nan, limits.max, limits.min,
               limits.tiny, limits.smallest_subnormal, 88.7, -87.3, 103.9, 1 - 2**-24]
    return np.concatenate([bits, usual, special]).astype(np.float32)


def units(values: Any, exact: Any) -> Any:
    """The distance from the exact result in units of its last place."""
    limits = np.finfo(np.float32)
    size = np.clip(np.abs(exact), limits.tiny * 1024, limits.max).astype(np.float32)
    return np.abs(values.astype(np.float64) - exact) / np.spacing(size).astype(np.float64)


def compiled(entry: Entry, subject: Subject, points: Any, options: dict[str, Any]) -> Any:
    def run() -> Any:
        with config.override(interpret_first=False), execution(True):
            value = subject.resolve("from_numpy")(points.copy())
            result = entry.function(subject)(value, **options)
        return np.array(result.numpy())

    return in_new_thread(run)


@pytest.mark.parametrize("entry", chosen(), ids=lambda entry: entry.full_name)
def test_error_is_small_or_torchs(entry: Entry) -> None:
    subject = Subject("thunk")
    points = numbers()
    options, _ = entry.info.sample_kwargs("cpu", torch.float32, None)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs = entry.info.op(torch.from_numpy(points.copy()), **options)
        if theirs.dtype is not torch.float32:
            pytest.skip("no floating point result")
        wide = torch.from_numpy(points.astype(np.float64))
        exact = entry.info.op(wide, **options).numpy()
        ours, theirs = compiled(entry, subject, points, options), theirs.numpy()
        finite = np.isfinite(exact) & (np.abs(exact) < np.finfo(np.float32).max)
        wrong = finite & ~np.isfinite(ours) & np.isfinite(theirs)
        assert not wrong.any(), f"not finite at {points[wrong][:5]}"
        nan = np.isnan(theirs) & np.isnan(exact)
        assert np.isnan(ours[nan]).all(), f"expected NaN at {points[nan & ~np.isnan(ours)][:5]}"
        both = finite & np.isfinite(ours) & np.isfinite(theirs)
        own, torchs = units(ours[both], exact[both]), units(theirs[both], exact[both])
    bound = max(WORSE.get(entry.full_name, (MOST_UNITS, ""))[0], float(torchs.max(initial=0)))
    worst = int(np.argmax(own)) if own.size else 0
    assert not own.size or own[worst] <= bound, (
        f"{own[worst]:.2f} units at {points[both][worst]}: got {ours[both][worst]}, exact "
        f"{exact[both][worst]}; torch's largest error is {torchs.max():.2f} units"
    )
