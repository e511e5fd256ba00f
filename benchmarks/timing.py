"""Times several ways of doing one thing against each other.

In: functions by name. Out: the least time of each, in seconds. Invariant: the ways take turns
within every round, so a slow moment of the machine falls on all of them.
"""

import time
from collections.abc import Callable, Mapping

Way = Callable[[], object]
Clock = Callable[[], float]


def calls_lasting(way: Way, seconds: float, clock: Clock = time.perf_counter) -> int:
    """How many calls in a row take about that long."""
    calls = 1
    while True:
        start = clock()
        for _ in range(calls):
            way()
        spent = clock() - start
        if spent >= seconds:
            return calls
        calls = max(calls * 2, int(calls * seconds / max(spent, 1e-9)))


def interleaved(
    ways: Mapping[str, Way],
    rounds: int = 15,
    seconds: float = 0.01,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """Seconds a call of each way: the least over the rounds."""
    calls = {name: calls_lasting(way, seconds, clock) for name, way in ways.items()}
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = clock()
            for _ in range(calls[name]):
                way()
            least[name] = min(least[name], (clock() - start) / calls[name])
    return least
