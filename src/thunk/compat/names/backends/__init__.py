"""`torch.backends`: switches of libraries. Those of libraries that are absent change nothing."""

from thunk.compat.names.backends import (
    cpu,
    cuda,
    cudnn,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = [
    "cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized", "xnnpack",
]  # fmt: skip
