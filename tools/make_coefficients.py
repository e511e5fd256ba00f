"""`make_coefficients.py --write | --check`: the polynomials of the vector mathematics.

Enters: functions and intervals, below. Leaves: `math/coefficients.py`. A polynomial is the least
squares fit on Chebyshev's points; each coefficient is rounded before the next is fitted.
"""

from __future__ import annotations

import struct
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/thunk/backends/cpu/llvm/math/coefficients.py"

Real = Any
Function = Callable[[Real], Real]


def constant_one(x: Real) -> Real:
    return mpf(1)


@dataclass(frozen=True)
class Fit:
    """A function of the polynomial's variable, with the weight of an error in it.

    `terms` says how many coefficients each precision (in bits) takes.
    """

    name: str
    meaning: str
    function: Function
    low: Real
    high: Real
    terms: dict[int, int]
    weight: Function = constant_one


def taylor_safe(function: Function, limit: Real) -> Function:
    """The function, with more digits where a quotient of small differences loses them."""

    def evaluate(x: Real) -> Real:
        with mp.workdps(40 if abs(x) > mpf(10) ** -6 else 120):
            return function(x if abs(x) > limit else limit)

    return evaluate


TINY = mpf(10) ** -30


def removable(function: Function) -> Function:
    return taylor_safe(function, TINY)


def exponential_tail(r: Real) -> Real:
    return (mp.expm1(r) - r) / r**2


def logarithm_tail(f: Real) -> Real:
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def of_root(function: Function) -> Function:
    return lambda s: function(mp.sqrt(s))


def erfcx(b: Real) -> Real:
    return mp.exp(b * b) * mp.erfc(b)


def scaled_complement(offset: Real) -> Function:
    """`erfcx(b) * (b + offset)` of `v = (b - offset) / (b + offset)`."""

    def evaluate(v: Real) -> Real:
        b = offset * (1 + v) / (1 - v)
        return erfcx(b) * (b + offset)

    return evaluate


def inverse_erf_center(w: Real) -> Real:
    """`erfinv(x) / x` of `w = -log(1 - x**2)`."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def inverse_erf_tail(root: Real) -> Real:
    """The same of the root of that `w`."""
    w = root**2
    # 1 - x loses no digits this way, and erfinv(1 - y) solves erfc(z) = y.
    y = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)
    z = mp.findroot(lambda z: mp.log(mp.erfc(z)) - mp.log(y), mp.sqrt(w) * mpf("0.95"))
    return z / (1 - y)


def log_gamma_between(z: Real) -> Real:
    """`lgamma(x) / ((x - 1) (x - 2))` of `z = x - 1.75`, continued at 1 and 2."""
    with mp.workdps(100):
        x = z + mpf("1.75")
        for zero in (1, 2):
            if abs(x - zero) < mpf(10) ** -40:
                x = zero + mpf(10) ** -40
        return mp.loggamma(x) / ((x - 1) * (x - 2))


def log_gamma_tail(t: Real) -> Real:
    """What Stirling's formula lacks, times x, of `t = 1 / x**2`."""
    with mp.workdps(120):
        x = 1 / mp.sqrt(t)
        stirling = (x - mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2
        return (mp.loggamma(x) - stirling) * x


def digamma_tail(t: Real) -> Real:
    """`(log(x) - 1 / (2 x) - digamma(x)) x**2` of the same."""
    with mp.workdps(120):
        x = 1 / mp.sqrt(t)
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def fits() -> Iterator[Fit]:
    half_ln2 = mp.log(2) / 2 * mpf("1.0001")
    quarter = (mp.pi / 4) ** 2 * mpf("1.0001")
    third = mpf(1) / 3
    yield Fit("exponential", "(exp(r) - 1 - r) / r**2", removable(exponential_tail),
              -half_ln2, half_ln2, {32: 5, 64: 10}, lambda r: r**2)
    yield Fit("power_of_two", "(2**r - 1) / r",
              removable(lambda r: mp.expm1(r * mp.log(2)) / r),
              mpf("-0.50001"), mpf("0.50001"), {32: 6, 48: 8, 64: 12}, abs)
    yield Fit("logarithm", "(log(1 + f) - f + f**2 / 2) / f**3", removable(logarithm_tail),
              -third, third, {32: 9, 48: 13, 64: 20}, lambda f: f**2 + mpf("1e-6"))
    yield Fit("odd_logarithm", "(log((1 + r) / (1 - r)) / (2 r) - 1 - r**2 / 3) / r**4 of r**2",
              removable(of_root(lambda r: (mp.atanh(r) / r - 1 - r**2 / 3) / r**4)),
              mpf(0), mpf("0.0401"), {64: 8}, lambda s: s + mpf("1e-6"))
    yield Fit("sine", "(sin(r) - r) / r**3 of r**2",
              removable(of_root(lambda r: (mp.sin(r) - r) / r**3)),
              mpf(0), quarter, {48: 3, 64: 7}, lambda s: s + mpf("1e-6"))
    yield Fit("cosine", "(cos(r) - 1 + r**2 / 2) / r**4 of r**2",
              removable(of_root(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4)),
              mpf(0), quarter, {48: 3, 64: 7}, lambda s: s**2 + mpf("1e-6"))
    yield Fit("arcsine", "(asin(x) - x) / x**3 of x**2",
              removable(of_root(lambda x: (mp.asin(x) - x) / x**3)),
              mpf(0), mpf("0.25001"), {32: 5, 64: 13}, lambda s: s + mpf("1e-6"))
    yield Fit("arctangent", "(atan(x) - x) / x**3 of x**2",
              removable(of_root(lambda x: (mp.atan(x) - x) / x**3)),
              mpf(0), mpf("1.00001"), {32: 9, 64: 21}, lambda s: s + mpf("1e-6"))
    yield Fit("tanh", "(tanh(x) - x) / x**3 of x**2",
              removable(of_root(lambda x: (mp.tanh(x) - x) / x**3)),
              mpf(0), mpf("0.3601"), {32: 5}, lambda s: s + mpf("1e-6"))
    yield Fit("error", "(erf(x) - x) / x of x**2",
              removable(of_root(lambda x: (mp.erf(x) - x) / x)),
              mpf(0), mpf("1.00001"), {32: 7, 64: 14})
    yield Fit("log_complement", "-log(erfc(x)) of x - 2.5, where its share of 1 matters",
              lambda x: -mp.log(mp.erfc(x + mpf("2.5"))), mpf("-1.501"), mpf("1.501"), {32: 8},
              lambda x: mp.erfc(x + mpf("2.5")))
    for bits, offset, largest, terms in (
        (32, mpf("1.5"), mpf("10.2"), 11),
        (64, mpf(2), mpf("27.5"), 26),
    ):
        yield Fit("scaled_complement", f"erfcx(b) * (b + c) of (b - c) / (b + c), c = {offset}",
                  scaled_complement(offset), mpf(-1), (largest - offset) / (largest + offset),
                  {bits: terms})
    yield Fit("log_gamma", "lgamma(x) / ((x - 1) (x - 2)) of x - 1.75", log_gamma_between,
              mpf(-1), mpf(1), {64: 34})
    yield Fit("log_gamma_tail", "what Stirling's formula lacks, times x, of 1 / x**2",
              log_gamma_tail, mpf(10) ** -12, mpf(1) / 64, {64: 9})
    yield Fit("digamma_tail", "(log(x) - 1 / (2 x) - digamma(x)) x**2 of 1 / x**2",
              digamma_tail, mpf(10) ** -12, mpf(1) / 100, {64: 9})
    yield Fit("inverse_error_center", "erfinv(x) / x of -log(1 - x**2) - 3.125",
              lambda w: inverse_erf_center(w + mpf("3.125")),
              mpf("-3.1249999999"), mpf("3.125"), {64: 14})
    yield Fit("inverse_error_tail", "erfinv(x) / x of sqrt(-log(1 - x**2)) - 4.25",
              lambda root: inverse_erf_tail(root + mpf("4.25")),
              mpf("-1.76"), mpf("1.9"), {64: 14})


def constants() -> Iterator[tuple[str, Real, dict[int, tuple[int, ...]]]]:
    """Name, value, and for each precision how many bits each part but the last one takes."""
    # Short first parts have exact products with exponents.
    yield "log(2)", mp.log(2), {32: (15,), 64: (42,)}
    yield "log10(2)", mp.log10(2), {32: (15,), 64: (42,)}
    yield "log2(e)", 1 / mp.log(2), {32: (24,), 64: (53,)}
    yield "log10(e)", mp.log10(mp.e), {32: (24,), 64: (53,)}
    yield "pi/2", mp.pi / 2, {32: (24,), 64: (53,)}
    yield "log(2 pi)/2", mp.log(2 * mp.pi) / 2, {64: (53,)}
    yield "log(pi)", mp.log(mp.pi), {64: (53,)}
    yield "pi", mp.pi, {32: (24,), 64: (53,)}
    yield "2 pi", 2 * mp.pi, {64: (53,)}
    yield "sqrt(1/2)", mp.sqrt(mpf(1) / 2), {32: (24,), 64: (53,)}
    yield "1/3", mpf(1) / 3, {64: (53,)}
    # Products of numbers of 24 bits with these parts are exact in double precision.
    yield "1/(2 pi)", 1 / (2 * mp.pi), {48: (29,) * 6}


def windows() -> list[float]:
    """The binary digits 10 i + 1 to 10 i + 50 of 1 / (2 pi), as fractions, for i = 0, 1, ..."""
    with mp.workprec(1500):
        value = 1 / (2 * mp.pi)
        digits = [mp.floor(mp.frac(value * mpf(2) ** (10 * i)) * 2**50) for i in range(114)]
        return [float(number / 2**50) for number in digits]


def parts(value: Real, lengths: tuple[int, ...], bits: int) -> list[float]:
    """The value as a sum: parts of so many bits, and the rest rounded to the format."""
    found = []
    for length in lengths:
        with mp.workprec(length):
            part = +value
        found.append(float(part))
        value -= part
    return [*found, rounded(value, bits)]


def rounded(number: Real, bits: int) -> float:
    """The nearest number of the format; 48 stands for a short polynomial in double precision."""
    if bits != 32:
        return float(number)
    return float(struct.unpack("<f", struct.pack("<f", float(number)))[0])


def points(low: Real, high: Real, count: int) -> list[Real]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def solve(basis: list[list[Real]], target: list[Real]) -> list[Real]:
    """The least squares solution, by normal equations in many digits."""
    n = len(basis)
    matrix = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for i in range(n):
        for j in range(i, n):
            matrix[i, j] = matrix[j, i] = mp.fdot(basis[i], basis[j])
        right[i] = mp.fdot(basis[i], target)
    return list(mp.lu_solve(matrix, right))


def coefficients(fit: Fit, bits: int) -> tuple[list[float], float]:
    """The coefficients, the lowest power's first, and the largest weighted error that is left."""
    terms = fit.terms[bits]
    places = points(fit.low, fit.high, 4 * terms + 9)
    weights = [fit.weight(x) for x in places]
    powers = [[w * x**k for x, w in zip(places, weights)] for k in range(terms)]
    left = [w * fit.function(x) for x, w in zip(places, weights)]
    chosen: list[float] = []
    for k in range(terms):
        number = rounded(solve(powers[k:], left)[0], bits)
        chosen.append(number)
        left = [rest - number * part for rest, part in zip(left, powers[k])]
    return chosen, float(max(abs(rest) for rest in left))


def table(numbers: list[float]) -> list[str]:
    """The numbers in lines of the file."""
    text = textwrap.fill(", ".join(map(repr, numbers)) + ",", 92)
    return [f"        {line}" for line in text.splitlines()]


@mp.workdps(60)  # type: ignore[untyped-decorator]
def page() -> str:
    """The whole file."""
    lines = [
        '"""Enters: nothing. Leaves: the polynomials that `tools/make_coefficients.py` computed.',
        "",
        "Invariant: by name and precision in bits (48: short, in double precision), the lowest",
        "power first; `PARTS` are constants as sums, the largest part first.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "COEFFICIENTS: dict[tuple[str, int], tuple[float, ...]] = {",
    ]
    for fit in fits():
        for bits in fit.terms:
            chosen, error = coefficients(fit, bits)
            print(f"{fit.name} {bits}: {error:.2e}", file=sys.stderr)
            lines.append(f"    # {fit.meaning}: off by {error:.1e}")
            lines.append(f'    ("{fit.name}", {bits}): (')
            lines += table(chosen)
            lines.append("    ),")
    lines += ["}", "", "PARTS: dict[tuple[str, int], tuple[float, ...]] = {"]
    for name, value, lengths in constants():
        for bits, some in lengths.items():
            lines.append(f'    ("{name}", {bits}): (')
            chosen = parts(value, some, bits)
            lines += table(chosen)
            lines.append("    ),")
    lines += ["}", "", "# Binary digits of 1 / (2 pi): 50 a number, beginning at every tenth."]
    lines.append("TURNS: tuple[float, ...] = (")
    lines += table(windows())
    return "\n".join([*lines, ")", ""])


def main() -> None:
    text = page()
    if "--write" in sys.argv:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET}: expected what this tool computes, got something else; use --write")


if __name__ == "__main__":
    main()
