"""Fits the Chebyshev tables of the special functions with mpmath (which comes with torch).

In: the list `FITS`. Out, when run: `src/thunk/backends/reference/special_tables.py`. A table holds
the coefficients of f on [-1, 1]; each entry says which function of which variable f is.

    PYTHONPATH=. python -m tests.torch.special_fits > special_tables.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 50
NODES = 96
SMALLEST = mp.mpf(2) ** -56  # relative to the largest coefficient

Function = Callable[[Any], Any]


def chebyshev(function: Function) -> list[float]:
    """Coefficients of `function` on [-1, 1], as many as double precision needs."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / NODES for k in range(NODES)]
    values = [function(mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / NODES
        for j in range(NODES)
    ]
    found[0] /= 2
    bound = SMALLEST * max(abs(each) for each in found)
    kept = max(j for j, each in enumerate(found) if abs(each) > bound) + 1
    if kept > NODES - 20:
        raise RuntimeError(f"expected a smooth function, got {kept} coefficients")
    return [float(each) for each in found[:kept]]


def over(low: float, high: float, function: Function) -> Function:
    """`function` of a variable that runs from `low` to `high`."""
    middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    return lambda t: function(middle + half * t)


def over_ray(scale: float, function: Function) -> Function:
    """`function` of x in [0, inf), where t is (x - scale) / (x + scale)."""
    return lambda t: function(mp.mpf(scale) * (1 + t) / (1 - t))


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def erfcinv_ratio(s: Any) -> Any:
    """erfcinv(exp(-s * s)) / s."""
    target = mp.exp(-s * s)
    guess = s * mp.mpf("0.9") if s > 1 else mp.mpf("0.6")
    for _ in range(200):
        step = (mp.erfc(guess) - target) * mp.sqrt(mp.pi) / 2 * mp.exp(guess * guess)
        step /= 1 - guess * step
        guess += step
        if abs(step) < mp.mpf(10) ** -45:
            return guess / s
    raise RuntimeError(f"erfcinv did not converge at {s}")


def hankel(order: int, z: Any) -> tuple[Any, Any]:
    """P and z * Q of the order's Bessel functions: J + iY = sqrt(2 / pi z) (P + iQ) e^(i phase)."""
    j, y = mp.besselj(order, z), mp.bessely(order, z)
    phase = z - (2 * order + 1) * mp.pi / 4
    size = mp.sqrt(mp.pi * z / 2)
    c, s = mp.cos(phase), mp.sin(phase)
    return size * (j * c + y * s), size * (y * c - j * s) * z


def airy_waves(zeta: Any) -> tuple[Any, Any]:
    """P and zeta * Q of Ai and Bi at a negative argument."""
    z = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
    a, b = mp.airyai(-z), mp.airybi(-z)
    phase = zeta - mp.pi / 4
    size = mp.sqrt(mp.pi) * z ** mp.mpf("0.25")
    c, s = mp.cos(phase), mp.sin(phase)
    return size * (a * c - b * s), size * (a * s + b * c) * zeta


def airy_decay(zeta: Any) -> Any:
    """Ai(z) * exp(zeta) * z ** 0.25 * 2 * sqrt(pi)."""
    z = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
    return mp.airyai(z) * mp.exp(zeta) * z ** mp.mpf("0.25") * 2 * mp.sqrt(mp.pi)


def of_square(low: float, high: float, function: Function) -> Function:
    """`function` of x, where x * x runs from `low` to `high`."""
    return over(low, high, lambda u: function(mp.sqrt(u)))


def of_inverse_square(scale: float, high: float, function: Function) -> Function:
    """`function` of scale / sqrt(u), where u runs from 0 to `high`."""
    return over(0, high, lambda u: function(scale / mp.sqrt(u)))


def log_part(order: int, x: Any) -> Any:
    """What is left of Y0 or Y1 without its logarithm and pole; of Y1, divided by x."""
    rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
    return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x


def decay_part(order: int, x: Any) -> Any:
    """What is left of K0 or K1 without its logarithm and pole; of K1, divided by x."""
    if order == 0:
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
    return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x


def scaled(order: int, growing: bool) -> Function:
    """sqrt(x) e^(-x) I or sqrt(x) e^x K, of 1 / x."""
    function, sign = (mp.besseli, -1) if growing else (mp.besselk, 1)

    def of_reciprocal(v: Any) -> Any:
        x = 1 / v if v > 0 else mp.mpf(10) ** 30
        if x > 10**4 * 5:
            return _asymptotic(order, x, growing)
        return mp.sqrt(x) * mp.exp(sign * x) * function(order, x)

    return of_reciprocal


def _asymptotic(order: int, x: Any, growing: bool) -> Any:
    total, term = mp.mpf(1), mp.mpf(1)
    for k in range(1, 12):
        term *= (4 * order * order - (2 * k - 1) ** 2) / (8 * x * k) * (-1 if growing else 1)
        total += term
    return total * (1 / mp.sqrt(2 * mp.pi) if growing else mp.sqrt(mp.pi / 2))


FITS: dict[str, tuple[str, Function]] = {
    "ERF": ("erf(x) / x of x * x in [0, 1]", of_square(0, 1, lambda x: mp.erf(x) / x)),
    "ERFCX": (
        "(x + 3) * erfcx(x), t = (x - 3) / (x + 3)",
        over_ray(3, lambda x: (x + 3) * (erfcx(x) if x < 100 else _erfcx_far(x))),
    ),
    "ERFINV": (
        "erfinv(y) / y of y * y in [0, 0.25]",
        of_square(0, 0.25, lambda y: mp.erfinv(y) / y),
    ),
    "ERFCINV_NEAR": ("erfcinv(exp(-s * s)) / s of s in [0.8, 2.5]", over(0.8, 2.5, erfcinv_ratio)),
    "ERFCINV_MIDDLE": ("the same of s in [2.5, 7]", over(2.5, 7, erfcinv_ratio)),
    "ERFCINV_FAR": ("the same of s in [7, 28]", over(7, 28, erfcinv_ratio)),
    "LGAMMA_1": (
        "lgamma(x) / (x - 1) of x in [0.5, 1.5]",
        over(0.5, 1.5, lambda x: mp.loggamma(x) / (x - 1) if x != 1 else -mp.euler),
    ),
    "LGAMMA_2": (
        "lgamma(x) / (x - 2) of x in [1.5, 3]",
        over(1.5, 3, lambda x: mp.loggamma(x) / (x - 2) if x != 2 else 1 - mp.euler),
    ),
    "LGAMMA_3": (
        "lgamma(x) / (x - 2) of x in [3, 8]",
        over(3, 8, lambda x: mp.loggamma(x) / (x - 2)),
    ),
    "J0": ("J0(x) of x * x in [0, 64]", of_square(0, 64, lambda x: mp.besselj(0, x))),
    "J1": ("J1(x) / x of x * x in [0, 64]", of_square(0, 64, lambda x: mp.besselj(1, x) / x)),
    "Y0": (
        "Y0 without its logarithm, of x * x in [0, 64]",
        of_square(0, 64, lambda x: log_part(0, x)),
    ),
    "Y1": (
        "Y1 without logarithm and pole, / x, of x * x in [0, 64]",
        of_square(0, 64, lambda x: log_part(1, x)),
    ),
    "P0": (
        "P of order 0, of 64 / (x * x) in [0, 1]",
        of_inverse_square(8, 1, lambda x: hankel(0, x)[0]),
    ),
    "Q0": ("x * Q of order 0, likewise", of_inverse_square(8, 1, lambda x: hankel(0, x)[1])),
    "P1": ("P of order 1, likewise", of_inverse_square(8, 1, lambda x: hankel(1, x)[0])),
    "Q1": ("x * Q of order 1, likewise", of_inverse_square(8, 1, lambda x: hankel(1, x)[1])),
    "I0_NEAR": (
        "exp(-x) * I0(x) of x in [0, 8]",
        over(0, 8, lambda x: mp.exp(-x) * mp.besseli(0, x)),
    ),
    "I0_FAR": ("sqrt(x) * exp(-x) * I0(x) of 1 / x in [0, 1 / 8]", over(0, 0.125, scaled(0, True))),
    "I1_NEAR": (
        "exp(-x) * I1(x) / x of x in [0, 8]",
        over(0, 8, lambda x: mp.exp(-x) * mp.besseli(1, x) / x),
    ),
    "I1_FAR": ("sqrt(x) * exp(-x) * I1(x) of 1 / x in [0, 1 / 8]", over(0, 0.125, scaled(1, True))),
    "K0_NEAR": (
        "K0(x) + log(x / 2) * I0(x) of x * x in [0, 4]",
        of_square(0, 4, lambda x: decay_part(0, x)),
    ),
    "K0_FAR": ("sqrt(x) * exp(x) * K0(x) of 1 / x in [0, 1 / 2]", over(0, 0.5, scaled(0, False))),
    "K1_NEAR": (
        "(K1(x) - log(x / 2) * I1(x) - 1 / x) / x of x * x in [0, 4]",
        of_square(0, 4, lambda x: decay_part(1, x)),
    ),
    "K1_FAR": ("sqrt(x) * exp(x) * K1(x) of 1 / x in [0, 1 / 2]", over(0, 0.5, scaled(1, False))),
    "AIRY_NEAR": ("Ai(x) of x in [-4, 1]", over(-4, 1, mp.airyai)),
    "AIRY_DECAY": (
        "Ai(z) * exp(zeta) * z ** 0.25 * 2 * sqrt(pi) of 1 / zeta in [0, 1.5]",
        over(0, 1.5, lambda v: airy_decay(1 / v)),
    ),
    "AIRY_P": (
        "P of Ai at negative arguments, of 1 / zeta ** 2 in [0, 0.0352]",
        of_inverse_square(1, 0.0352, lambda zeta: airy_waves(zeta)[0]),
    ),
    "AIRY_Q": (
        "zeta * Q, likewise",
        of_inverse_square(1, 0.0352, lambda zeta: airy_waves(zeta)[1]),
    ),
}


def _erfcx_far(x: Any) -> Any:
    total, term = mp.mpf(1), mp.mpf(1)
    for k in range(1, 20):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def temme(orders: int, terms: int) -> list[list[float]]:
    """Taylor coefficients in eta of Temme's expansion of the incomplete gamma functions."""
    count = terms + 2 * orders
    # eta ** 2 / 2 = mu - log(1 + mu); alpha are the coefficients of mu in powers of eta.
    alpha = [mp.mpf(0), mp.mpf(1), mp.mpf(1) / 3]
    for n in range(3, count + 2):
        inner = mp.fsum(k * alpha[k] * alpha[n + 1 - k] for k in range(2, n))
        alpha.append((alpha[n - 1] - inner) / (n + 1))
    first = [mp.mpf(-1) / 3] + [(n + 2) * alpha[n + 2] for n in range(1, count)]
    gamma = stirling(orders)
    table, row = [], first
    for order in range(1, orders + 1):
        table.append([float(each) for each in row[:terms]])
        sign = -1 if order % 2 else 1
        row = [
            sign * gamma[order] * first[n] + (n + 2) * row[n + 2] for n in range(len(row) - 2)
        ]
    return table


def stirling(count: int) -> list[Any]:
    """Coefficients of Stirling's series of gamma(a) in powers of 1 / a."""
    logarithm = [mp.mpf(0)] * (count + 1)
    for k in range(1, count + 1, 2):
        logarithm[k] = mp.bernoulli(k + 1) / (k * (k + 1))
    series = [mp.mpf(1)]
    for n in range(1, count + 1):
        series.append(mp.fsum(k * logarithm[k] * series[n - k] for k in range(1, n + 1)) / n)
    return series


HEADER = '''"""Chebyshev tables of the special functions on [-1, 1], and Temme's coefficients.

Written by `tests/torch/special_fits.py`, which computes them with 50 digits; a test compares.
"""

from __future__ import annotations

import numpy


def _table(*numbers: float) -> numpy.ndarray:
    return numpy.array(numbers)

'''


def rows(numbers: list[float], indent: str) -> str:
    """Numbers in lines of a hundred columns."""
    lines, line = [], indent
    for number in numbers:
        word = f"{number!r},"
        if len(line) + len(word) + 1 > 100:
            lines.append(line.rstrip())
            line = indent
        line += f"{word} "
    return "\n".join([*lines, line.rstrip()])


def module_text() -> str:
    """The source of the module of tables."""
    parts = [HEADER]
    for name, (meaning, function) in FITS.items():
        numbers = rows(chebyshev(function), "    ")
        parts.append(f"\n# {meaning}\n{name} = _table(\n{numbers}\n)  # fmt: skip\n")
    parts.append("\n# a row for each power of 1 / a, a column for each power of eta\nTEMME = [\n")
    for row in temme(6, 26):
        parts.append(f"    _table(\n{rows(row, '        ')}\n    ),\n")
    parts.append("]  # fmt: skip\n")
    return "".join(parts)


if __name__ == "__main__":
    print(module_text(), end="")
