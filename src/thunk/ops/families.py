"""Every family of operators, imported for its declarations. A new family is one line here."""

<<<<<<< Updated upstream
from thunk.ops import conv, copy, creation, matmul, pointwise, reduce, view

FAMILIES = (conv, copy, creation, matmul, pointwise, reduce, view)
=======
from thunk.ops import (
    conv,
    copy,
    creation,
    matmul,
    pointwise,
    pool,
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
    reduce,
    scan,
    sort,
    view,
)
>>>>>>> Stashed changes
