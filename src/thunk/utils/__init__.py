"""Utilities with PyTorch's names that belong to no other layer."""

from thunk.utils import data

__all__ = ["data"]
