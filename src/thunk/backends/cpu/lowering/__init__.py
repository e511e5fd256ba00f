"""How the CPU computes each primitive: one module a family, imported here for its entries."""

from thunk.backends.cpu.lowering import (
    activation,
    arithmetic,
    attention,
    batch,
    comparison,
    convolution,
    counter,
    functions,
    index,
    loss,
    memory,
    pool,
    product,
    reduction,
    rows,
    smooth,
    update,
)

TABLES = (
    activation, arithmetic, attention, batch, comparison, convolution, counter, functions, index,
    loss, memory, pool, product, reduction, rows, smooth, update,
)  # fmt: skip
