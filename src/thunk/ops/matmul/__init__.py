"""Matrix products and what is made of them."""

from thunk.ops.matmul import added, broadcast, chain, einsum, products

__all__ = ["added", "broadcast", "chain", "einsum", "products"]
