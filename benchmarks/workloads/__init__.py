"""The workloads of `benchmarks/compare.py`, by name: one module each.

Invariant: a model is written once against PyTorch's names, for any library that has them, and
once as plain functions of jax; both read the same weights and the same data.
"""

from workloads import (
    chain,
    decode,
    digits,
    lengths,
    perceptron,
    residual,
    skipping,
    transformer,
    writer,
)
from workloads.workload import Workload

WORKLOADS: dict[str, Workload] = {
    each.name: each
    for each in (
        perceptron.workload,
        digits.workload,
        residual.training,
        transformer.workload,
        writer.workload,
        chain.workload,
        residual.inference,
        decode.workload,
        lengths.workload,
        skipping.workload,
    )
}
