"""How the CPU computes each primitive: one module a family, imported here for its entries."""

from thunk.backends.cpu.lowering import (
    activation,
    arithmetic,
    comparison,
    functions,
    smooth,
)

TABLES = (activation, arithmetic, comparison, functions, smooth)
