"""Enters: a function along a direction. Leaves: a step that satisfies the strong Wolfe conditions.

Invariant: every evaluation is remembered whole (`Point`), so the search never repeats one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9


@dataclass(frozen=True, slots=True)
class Point:
    """What is known of one step along the direction."""

    step: Any
    loss: float
    grad: Any
    slope: Any  # the derivative along the direction


Evaluate = Callable[[Any], tuple[float, Any]]


class WolfeSearch:
    """Brackets a good step from `start` on, then narrows the bracket.

    `evaluate(step)` returns loss and gradient there and is called at most `budget` times besides
    the first.
    """

    def __init__(
        self, evaluate: Evaluate, direction: Any, start: Point, budget: int, tolerance: float
    ) -> None:
        self.evaluate = evaluate
        self.direction = direction
        self.start = start
        self.budget = budget
        self.tolerance = tolerance
        self.evaluations = 0

    def run(self, first_step: Any) -> Point:
        """The best point found."""
        bracket = self._bracket(first_step)
        return bracket[0] if len(bracket) == 1 else self._narrow(*bracket)

    def _at(self, step: Any) -> Point:
        loss, grad = self.evaluate(step)
        self.evaluations += 1
        return Point(step, loss, grad, grad.dot(self.direction))

    @property
    def _exhausted(self) -> bool:
        return self.evaluations - 1 >= self.budget

    def _too_high(self, point: Point) -> bool:
        line = self.start.loss + SUFFICIENT_DECREASE * point.step * self.start.slope
        return bool(point.loss > line)

    def _flat_enough(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -CURVATURE * self.start.slope)

    def _bracket(self, step: Any) -> tuple[Point, ...]:
        """Two points with a good one between them; or a good one alone."""
        last = self.start
        point = self._at(step)
        while not self._exhausted:
            rising = self.evaluations > 2 and point.loss >= last.loss
            if self._too_high(point) or rising:
                return last, point
            if self._flat_enough(point):
                return (point,)
            if point.slope >= 0:
                return last, point
            nearest = point.step + 0.01 * (point.step - last.step)
            step = lowest_between(last, point, nearest, point.step * 10)
            last, point = point, self._at(step)
        return self.start, point

    def _narrow(self, one: Point, other: Point) -> Point:
        """Move the ends of the bracket together; the lower end is the best point so far."""
        low, high = (one, other) if one.loss <= other.loss else (other, one)
        width = self.direction.abs().max()
        stalled = False
        while not self._exhausted:
            if abs(high.step - low.step) * width < self.tolerance:
                break
            step, stalled = _inside(low, high, lowest_between(low, high), stalled)
            point = self._at(step)
            if self._too_high(point) or point.loss >= low.loss:
                low, high = (low, point) if low.loss <= point.loss else (point, low)
                continue
            if self._flat_enough(point):
                return point
            if point.slope * (high.step - low.step) >= 0:
                high = low
            low = point
        return low


def _inside(low: Point, high: Point, step: Any, stalled: bool) -> tuple[Any, bool]:
    """`step` kept off the bracket's ends when it was close to one twice, or outside."""
    left, right = min(low.step, high.step), max(low.step, high.step)
    margin = 0.1 * (right - left)
    if not min(right - step, step - left) < margin:
        return step, False
    if not (stalled or step >= right or step <= left):
        return step, True
    return (right - margin if abs(step - right) < abs(step - left) else left + margin), False


def lowest_between(first: Point, second: Point, left: Any = None, right: Any = None) -> Any:
    """The lowest step of the cubic through both points with their slopes, within bounds."""
    if left is None:
        left, right = sorted((first.step, second.step), key=float)
    one, two = (first, second) if first.step <= second.step else (second, first)
    slopes = first.slope + second.slope
    bend = slopes - 3 * (first.loss - second.loss) / (first.step - second.step)
    square = bend**2 - first.slope * second.slope
    if not square >= 0:
        return (left + right) / 2.0
    root = square**0.5
    share = (two.slope + root - bend) / (two.slope - one.slope + 2 * root)
    return min(max(two.step - (two.step - one.step) * share, left), right)
