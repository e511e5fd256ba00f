"""Enters: the loss and the speed of a training, step by step. Leaves: a picture of both, as SVG.

Invariant: a file of text that any browser shows; no library is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 640, 220, 60, 30, 50


def svg(title: str, curves: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> str:
    """Diagrams below each other: each with its name, its places and its values."""
    height = len(curves) * (_HEIGHT + _GAP) + _TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEFT + 20}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{escape(title)}</text>',
    ]
    for number, (name, places, values) in enumerate(curves):
        parts += _diagram(name, places, values, _TOP + number * (_HEIGHT + _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _diagram(name: str, places: Sequence[float], values: Sequence[float], top: float) -> list[str]:
    if not values:
        return []
    low, high = min(0.0, *values), max(values)
    span = high - low or 1.0
    first, last = places[0], places[-1]
    width = last - first or 1.0

    def x(place: float) -> float:
        return _LEFT + _WIDTH * (place - first) / width

    def y(value: float) -> float:
        return top + _HEIGHT * (1 - (value - low) / span)

    points = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in zip(places, values))
    ticks = [low + span * part / 4 for part in range(5)]
    lines = [
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
        'stroke="#ddd"/>'
        f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,.4g}</text>'
        for tick in ticks
    ]
    bottom = top + _HEIGHT + 16
    return [
        *lines,
        f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>',
        f'<text x="{_LEFT}" y="{bottom}">{first:g}</text>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom}" text-anchor="end">{last:g}</text>',
        f'<text x="{_LEFT + _WIDTH / 2}" y="{bottom}" text-anchor="middle">{escape(name)}</text>',
    ]
