"""What one check of one entry in one dtype came to; plain data, free of torch.

In: what the checks found. Out: the same as JSON, for the processes of one test run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PASS, FAIL, MISS, SKIP = "pass", "fail", "miss", "skip"


@dataclass
class Outcome:
    """The verdict of one check: `miss` is an absent name or attribute, `skip` nothing to judge."""

    entry: str
    family: str
    dtype: str
    check: str
    status: str
    samples: int = 0
    detail: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
