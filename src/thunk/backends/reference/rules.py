"""Every module of NumPy rules, imported for its registrations. A new module is one line here."""

<<<<<<< Updated upstream
from thunk.backends.reference import conv, conv_columns, copy, creation, matmul, pointwise, reduce

RULES = (conv, conv_columns, copy, creation, matmul, pointwise, reduce)
=======
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
)
>>>>>>> Stashed changes
