"""Settings shared by every test: results are verified, hypothesis runs by profile.

`ci`, the default, tries the same examples on every machine; `HYPOTHESIS_PROFILE=long` searches
afresh, for longer. `--runs 2` runs each test again on the paths that it and all others of its
process have walked, which must not change what comes out.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

# Every kernel's result is compared with what its shape rule promised. Set before thunk is
# imported, and inherited by the processes that tests start.
os.environ.setdefault("THUNK_VERIFY", "1")

# Two cores shared by other processes make deadlines a coin toss; a derandomised run draws its
# examples from each test's own name, so every machine tries the same ones.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runs", type=int, default=1, help="how often tests without fixtures run")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """The runs before the one that counts; what a fixture made is for one run only."""
    chosen = getattr(pyfuncitem, "callspec", None)
    given = set() if chosen is None else set(chosen.params)
    fixtures = pyfuncitem._fixtureinfo.argnames
    if set(fixtures) <= given:
        for _ in range(pyfuncitem.config.getoption("--runs") - 1):
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in fixtures})
