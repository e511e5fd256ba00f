"""Operators that may call back, and samples that are known to be wrong when compiled, with reasons.

In: an operator's full name, or an entry and a check. Out: the reason, or None.
"""

from __future__ import annotations

import re

from thunk.ops.registry import find_op

from .known import KNOWN

# By name; operators with complex operands, of random numbers and of shapes that depend on data
# are recognised by what they are.
CALLS_BACK = {
    r"_linalg_(svd|eigh|eigvals|lstsq)|linalg_(eig|pinv|matrix_exp|ldl_.*)":
        "spectra, and what is solved by them",
    r"_fft_.*|_conj_physical|complex|polar|view_as_.*": "complex numbers",
    r"_ctc_loss.*": "rows of tables that depend on each other",
    r"as_strided_scatter": "a copy with gaps, which no result of a program has",
    r"fractional_max_pool.*": "windows that depend on random numbers",
}

# (pattern of entries, pattern of checks): why.
WRONG: dict[tuple[str, str], str] = {
    (r"nn\.functional\.linear_cross_entropy\.chunked", "gradgrad"):
        "the recorded second gradient of the input is a tensor where torch has none",
    ("masked.prod", "gradgrad"): "over a dimension of one element torch's is a rounding error, "
                                 "and zero here",
    ("polar", "gradgrad"): "a sum that cancels, within torch's own error in float64",
    ("cov", ".*"): "weights in float32 are summed in another order, and the correction cancels",
}


def excuse(name: str) -> str | None:
    """Why an operator may call back or run at once."""
    if name.endswith(" of complex numbers"):
        return "complex numbers"
    if name == "aten::copy_":
        return "writes to memory that is shared with NumPy go through at once"
    op = find_op(name)
    if op is not None and op.random:
        return "random numbers are drawn when the call is recorded"
    if op is not None and op.needs_values:
        return "the shape, or whether it raises, depends on data"
    for pattern, reason in CALLS_BACK.items():
        if re.fullmatch(pattern, name.removeprefix("aten::").split(".")[0]):
            return reason
    return None


def known_reason(entry: str, check: str) -> str | None:
    """Why wrong samples of an entry are accepted."""
    for known in KNOWN:
        if known.entry == entry and known.check == check:
            return known.reason
    for (entries, checks), reason in WRONG.items():
        if re.fullmatch(entries, entry) and re.fullmatch(checks, check):
            return reason
    return None
