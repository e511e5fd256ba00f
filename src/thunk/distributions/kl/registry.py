"""Enters: two distributions. Leaves: the divergence of Kullback and Leibler, by their types' rule.

Invariant: the rule of the most specific types is taken; where two are equally specific, a warning
says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from thunk.distributions.distribution import Distribution

Rule = Callable[[Any, Any], Any]

_KL_REGISTRY: dict[tuple[type[Any], type[Any]], Rule] = {}
_chosen: dict[tuple[type[Any], type[Any]], Rule | None] = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[Rule], Rule]:
    """Decorate `rule(p, q)` for distributions of these types and those derived from them."""
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise TypeError(
                f"register_kl: Expected {name} to be a Distribution subclass, got {given!r}"
            )

    def enter(rule: Rule) -> Rule:
        _KL_REGISTRY[type_p, type_q] = rule
        _chosen.clear()
        return rule

    return enter


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How much more than needed one tells of samples of `p` if one takes them for those of `q`."""
    key = type(p), type(q)
    if key not in _chosen:
        _chosen[key] = _choose(*key)
    rule = _chosen[key]
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {key[0].__name__} and q type "
            f"{key[1].__name__}; write one with register_kl"
        )
    return rule(p, q)


def _choose(type_p: type[Any], type_q: type[Any]) -> Rule | None:
    fitting = [
        (one, other)
        for one, other in _KL_REGISTRY
        if issubclass(type_p, one) and issubclass(type_q, other)
    ]
    if not fitting:
        return None
    distances = {
        pair: (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])) for pair in fitting
    }
    by_p = min(fitting, key=lambda pair: distances[pair])
    by_q = min(fitting, key=lambda pair: distances[pair][::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]
