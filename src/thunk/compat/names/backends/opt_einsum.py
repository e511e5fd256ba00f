"""`torch.backends.opt_einsum`: a planner of contractions; `einsum` contracts from left to right."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether the planner is used: never."""
    return False
