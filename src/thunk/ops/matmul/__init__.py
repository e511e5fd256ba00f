"""Matrix products and what is made of them."""

from thunk.ops.matmul import added, broadcast, chain, products

__all__ = ["added", "broadcast", "chain", "products"]
