"""Enters: the option that names operators. Leaves: whether an operator must run by reference rules.

Invariant: a change of the option advances the version of the dispatch tables, so that nothing that
was decided under other names is used again.
"""

from __future__ import annotations

from functools import lru_cache

from thunk.base.config import config
from thunk.dispatch.registry import registry


def is_fallback_forced(full_name: str) -> bool:
    """Whether `aten::sub.Tensor` was named, by itself or as `aten::sub`."""
    text = config.lazy_force_fallback
    if not text:
        return False
    names = _listed(text)
    return full_name in names or full_name.partition(".")[0] in names


@lru_cache(maxsize=8)
def _listed(text: str) -> frozenset[str]:
    return frozenset(each.strip() for each in text.split(",") if each.strip())


config.watch("lazy_force_fallback", registry.bump)
