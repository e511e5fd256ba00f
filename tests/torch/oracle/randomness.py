"""Entries whose values cannot be compared bit by bit, each with its reason.

`UNINITIALISED` is compared by structure, shape and dtype, `GAUGE` after the database's own
processing. `OWN_STREAM` is compared by distribution, and only on samples that are random in torch;
every other random entry must give torch's very numbers for torch's seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compare import Mismatch

UNINITIALISED = {
    "empty": "uninitialised memory",
    "empty_like": "uninitialised memory",
    "empty_strided": "uninitialised memory",
    "empty_permuted": "uninitialised memory",
    "new_empty": "uninitialised memory",
    "new_empty_strided": "uninitialised memory",
    "resize_": "uninitialised memory past the old size",
    "resize_as_": "uninitialised memory past the old size",
}

GAUGE = {
    "linalg.eig": "eigenvectors up to a phase",
    "linalg.eigh": "eigenvectors up to a phase",
    "linalg.svd": "singular vectors up to a phase",
    "svd": "singular vectors up to a phase",
    "svd_lowrank": "singular vectors up to a sign",
    "pca_lowrank": "singular vectors up to a sign",
}

STEP = "random inside a step: a counter-based stream of its own"
SAMPLER = "only uniform, normal, integer and Bernoulli draws promise torch's numbers"
OWN_STREAM = {
    "nn.functional.dropout": STEP,
    "nn.functional.dropout2d": STEP,
    "nn.functional.dropout3d": STEP,
    "nn.functional.alpha_dropout": STEP,
    "nn.functional.feature_alpha_dropout.with_train": STEP,
    "nn.functional.rrelu": STEP,
    "nn.functional.scaled_dot_product_attention": STEP,
    "nn.functional.multi_head_attention_forward": STEP,
    "multinomial": SAMPLER,
    "cauchy": SAMPLER,
    "exponential": SAMPLER,
    "geometric": SAMPLER,
    "log_normal": SAMPLER,
}
RUNS = 40
# Standard errors between the two libraries' averages that chance will not produce.
MOST_DEVIATIONS = 6.0


def compare_distributions(expected: Callable[[int], Any], actual: Callable[[int], Any]) -> None:
    """Averages over many seeds agree; each callable draws the values of one seed."""
    left = [np.asarray(expected(seed), dtype=np.float64).ravel() for seed in range(RUNS)]
    right = [np.asarray(actual(seed), dtype=np.float64).ravel() for seed in range(RUNS)]
    if all(np.array_equal(right[0], other, equal_nan=True) for other in right[1:]):
        raise Mismatch(f"expected a result that depends on the seed, got {RUNS} equal ones")
    pool = np.concatenate(left)
    sizes = np.abs(pool[np.isfinite(pool) & (pool != 0)])
    scale = float(np.median(sizes)) if sizes.size else 1.0
    for name, feature in features(scale).items():
        ours = np.array([feature(values) for values in right])
        theirs = np.array([feature(values) for values in left])
        spread = np.sqrt((ours.var() + theirs.var()) / RUNS) + 1e-9
        deviations = abs(ours.mean() - theirs.mean()) / spread
        if deviations > MOST_DEVIATIONS:
            raise Mismatch(f"over {RUNS} seeds the mean of {name} is {theirs.mean():.4g} in torch, "
                           f"got {ours.mean():.4g} ({deviations:.1f} standard errors)")


def features(scale: float) -> dict[str, Callable[[Any], float]]:
    """Bounded averages of one draw: they have a variance even where the values have none."""
    return {
        "tanh(x)": lambda values: float(np.nanmean(np.tanh(values / scale))),
        "tanh(x)**2": lambda values: float(np.nanmean(np.tanh(values / scale) ** 2)),
        "x == 0": lambda values: float(np.mean(values == 0)),
        "x is finite": lambda values: float(np.mean(np.isfinite(values))),
    }
