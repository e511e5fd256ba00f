"""Order: sorting, the largest few, distinct values, search in what is sorted."""

from thunk.ops.sort import distinct, membership, search, sorting

__all__ = ["distinct", "membership", "search", "sorting"]
