"""Normalisation by the mean and variance of batches, layers and groups."""

from thunk.ops.norm import batch, group, layer, rms

__all__ = ["batch", "group", "layer", "rms"]
