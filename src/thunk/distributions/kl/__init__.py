"""Divergences of Kullback and Leibler, by the types of both distributions."""

from thunk.distributions.kl import alike, apart, gaussian
from thunk.distributions.kl.registry import _KL_REGISTRY, kl_divergence, register_kl

RULES = (alike, apart, gaussian)

__all__ = ["_KL_REGISTRY", "kl_divergence", "register_kl"]
