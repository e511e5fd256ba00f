"""Every family of operators, imported for its declarations. A new family is one line here."""

from thunk.ops import (
    conv,
    copy,
    creation,
    matmul,
    pointwise,
    pool,
    random,
    reduce,
    scan,
    sort,
    view,
)

FAMILIES = (
    conv,
    copy,
    creation,
    matmul,
    pointwise,
    pool,
    random,
    reduce,
    scan,
    sort,
    view,
)
