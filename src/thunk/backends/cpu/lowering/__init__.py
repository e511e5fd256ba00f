"""How the CPU computes each primitive: one module a family, imported here for its entries."""

from thunk.backends.cpu.lowering import (
    activation,
    arithmetic,
    attention,
    batch,
    bits,
    comparison,
    convolution,
    counter,
    distance,
    factors,
    functions,
    grid,
    index,
    loss,
    margins,
    memory,
    order,
    pool,
    pool_ranges,
    product,
    reduction,
    resample,
    rows,
    scan,
    scattering,
    smooth,
    special,
    triangles,
    update,
)

TABLES = (
    activation, arithmetic, attention, batch, bits, comparison, convolution, counter, distance,
    factors, functions, grid, index, loss, margins, memory, order, pool, pool_ranges, product,
    reduction, resample, rows, scan, scattering, smooth, special, triangles, update,
)  # fmt: skip
