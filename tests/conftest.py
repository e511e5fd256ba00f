"""Settings shared by every test: results are verified, hypothesis runs by profile.

`ci`, the default, tries the same examples on every machine; `HYPOTHESIS_PROFILE=long` searches
afresh, for longer.
"""

import os

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
