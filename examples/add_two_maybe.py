"""Control flow that depends on data, in lazy execution: what runs when, counted.

Operations are recorded, not run, until somebody needs a value. `if maybe:` needs one: everything
recorded so far runs there as one program, and recording goes on. What is recorded after the last
question is a program of its own.
"""

import thunk
from thunk.lazy import metrics
from thunk.lazy.eager import execution


def add_two_maybe(x: thunk.Tensor, maybe: thunk.Tensor) -> thunk.Tensor:
    """`x + 2` if `maybe` holds: the decision is Python's, so it must see the value."""
    if maybe:
        return x + 2
    return x


def add_two_always(x: thunk.Tensor, maybe: thunk.Tensor) -> thunk.Tensor:
    """The same without a decision: the value is only used, never looked at."""
    return thunk.where(maybe, x + 2, x)


def programs_run(function, x: thunk.Tensor, limit: float) -> tuple[list[float], int]:
    """What `function` makes of x twice in a row, and how many programs that took."""
    before = metrics.counter_value("Executions")
    for _ in range(2):
        x = function(x, x.sum() < limit)
    values = x.tolist()
    return values, metrics.counter_value("Executions") - before


def main() -> dict[str, int]:
    counts = {}
    with execution(lazy=True):
        for limit in (2, 6, 20):  # neither time, the first time only, both times
            x = thunk.ones(3)
            asked, asked_programs = programs_run(add_two_maybe, x, limit)
            used, used_programs = programs_run(add_two_always, thunk.ones(3), limit)
            assert asked == used
            print(f"Add two if the sum is below {limit}, and again: {asked}")
            print(f"    asked with `if`:   {asked_programs} programs run")
            print(f"    used by `where`:   {used_programs} program run")
            counts[f"if {limit}"], counts[f"where {limit}"] = asked_programs, used_programs
    return counts


if __name__ == "__main__":
    main()
