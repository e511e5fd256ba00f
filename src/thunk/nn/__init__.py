"""Neural networks: what modules are made of."""

from thunk.nn import functional

__all__ = ["functional"]
