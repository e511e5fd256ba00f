"""Distances and bilinear maps under the names of `torch.nn.functional`."""

from __future__ import annotations

from thunk.ops import families
from thunk.ops.registry import t

__all__ = ["bilinear", "cosine_similarity", "pairwise_distance", "pdist"]

DECLARED = families.FAMILIES

bilinear = t.bilinear
cosine_similarity = t.cosine_similarity
pairwise_distance = t.pairwise_distance
pdist = t.pdist
