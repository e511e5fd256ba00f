"""Convolutions of every rank, and pictures as columns of sliding blocks."""

from thunk.ops.conv import columns, convolution, forms

__all__ = ["columns", "convolution", "forms"]
