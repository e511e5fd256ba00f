"""Matrix products and what is made of them."""

from thunk.ops.matmul import products

__all__ = ["products"]
