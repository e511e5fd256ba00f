"""Every module of NumPy rules, imported for its registrations. A new module is one line here."""

from thunk.backends.reference import (
    conv,
    conv_columns,
    copy,
    creation,
    matmul,
    pointwise,
    pool_average,
    pool_largest,
    reduce,
    reduce_counting,
    reduce_extremes,
    reduce_selection,
    reduce_statistics,
    scan,
    sort,
    windows,
)

RULES = (
    conv,
    conv_columns,
    copy,
    creation,
    matmul,
    pointwise,
    pool_average,
    pool_largest,
    reduce,
    reduce_counting,
    reduce_extremes,
    reduce_selection,
    reduce_statistics,
    scan,
    sort,
    windows,
)
