"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.gamma import Gamma


class Chi2(Gamma):
    """Sums of `df` squares of normal numbers."""

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The number of squares."""
        return self.concentration * 2
