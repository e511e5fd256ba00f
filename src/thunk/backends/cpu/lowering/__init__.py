"""How the CPU computes each primitive: one module a family, imported here for its entries."""

from thunk.backends.cpu.lowering import (
    activation,
    arithmetic,
    batch,
    comparison,
    functions,
    memory,
    reduction,
    rows,
    smooth,
)

TABLES = (activation, arithmetic, batch, comparison, functions, memory, reduction, rows, smooth)
