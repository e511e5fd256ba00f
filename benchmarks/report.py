"""Enters: the results of a comparison. Leaves: a table, JSON and a picture as SVG.

Invariant: the JSON holds everything that the table and the picture show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from peers import PEERS, TITLES

COLOURS = {"torch": "#d62728", "compile": "#ff7f0e", "jax": "#2ca02c", "thunk": "#1f77b4"}
NAMES, WIDTH, BAR = 330, 460, 14


def table(results: list[Mapping[str, Any]]) -> str:
    """Milliseconds a step, and how many times Thunk is faster, as Markdown."""
    shown = [peer for peer in PEERS if any(peer in each["milliseconds"] for each in results)]
    others = [peer for peer in shown if peer != "thunk"]
    heads = [f"{TITLES[peer]} ms" for peer in shown]
    if "thunk" in shown:
        heads += [f"vs {TITLES[peer]}" for peer in others]
    lines = [f"| workload | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for each in results:
        cells = [_time(each["milliseconds"].get(peer)) for peer in shown]
        if "thunk" in shown:
            cells += [_ratio(each, peer) for peer in others]
        lines.append(f"| {each['title']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _time(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.3g}"


def _ratio(each: Mapping[str, Any], peer: str) -> str:
    found, wanted = each["ratios"].get(peer), each["wanted"].get(peer)
    if found is None:
        return "-"
    goal = "" if wanted is None else f" (goal {wanted:g}{'' if found >= wanted else ', missed'})"
    return f"{found:.2f}{goal}"


def cold_table(results: list[Mapping[str, Any]]) -> str:
    """Seconds of first steps and the most memory, as Markdown."""
    lines = [
        "| workload | peer | import s | first step s | same, second process s | step ms "
        "| memory MB | of it by the workload |",
        "|---" * 8 + "|",
    ]
    for each in results:
        for peer, kinds in each.get("alone", {}).items():
            cold, warm = kinds["cold"], kinds["warm"]
            error = cold.get("error") or warm.get("error")
            if error:
                lines.append(f"| {each['title']} | {TITLES[peer]} | {error} | | | | | |")
                continue
            lines.append(
                f"| {each['title']} | {TITLES[peer]} | {warm['import']:.2f} "
                f"| {cold['first']:.2f} | {warm['first']:.2f} | {warm['steady'] * 1e3:.3g} "
                f"| {warm['peak_megabytes']:.0f} | {warm['grown_megabytes']:.0f} |"
            )
    return "\n".join(lines)


def picture(results: list[Mapping[str, Any]], title: str) -> str:
    """Bars: the time of each peer for a step, as a multiple of torch eager's."""
    parts: list[str] = []
    y = 40.0
    for each in results:
        times = each["milliseconds"]
        if "torch" not in times:
            continue
        parts.append(f'<text x="8" y="{y + BAR}">{escape(each["title"])}</text>')
        for peer in PEERS:
            if peer in times:
                parts += _bar(y, peer, times[peer], times[peer] / times["torch"])
                y += BAR + 2
        y += 12
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{NAMES + WIDTH + 160}" height="{y:.0f}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="8" y="20" font-size="14">{escape(title)}</text>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _bar(y: float, peer: str, milliseconds: float, share: float) -> list[str]:
    width = WIDTH * min(share, 2.0) / 2.0
    text = f"{TITLES[peer]} {milliseconds:.3g} ms ({1 / share:.2f}x)"
    return [
        f'<rect x="{NAMES}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" '
        f'fill="{COLOURS[peer]}"/>',
        f'<text x="{NAMES + width + 6:.1f}" y="{y + BAR - 3:.1f}">{escape(text)}</text>',
    ]
