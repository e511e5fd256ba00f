"""Recurrent networks: single steps, layers of steps, and sequences packed one after the other."""

from thunk.ops.recurrent import cells, layers, packing

__all__ = ["cells", "layers", "packing"]
