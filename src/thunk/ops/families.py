"""Every family of operators, imported for its declarations. A new family is one line here."""

from thunk.ops import (
    conv,
    copy,
    creation,
    loss,
    matmul,
    norm,
    pointwise,
    pool,
    random,
    reduce,
    scan,
    softmax,
    sort,
    view,
)

FAMILIES = (
    conv,
    copy,
    creation,
    loss,
    matmul,
    norm,
    pointwise,
    pool,
    random,
    reduce,
    scan,
    softmax,
    sort,
    view,
)
