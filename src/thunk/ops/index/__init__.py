"""Operators that read and write elements at given places: indices, masks, gather and scatter."""

from thunk.ops.index import advanced, along, flat, gathering, masks, places, scattering

__all__ = ["advanced", "along", "flat", "gathering", "masks", "places", "scattering"]
