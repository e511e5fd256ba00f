"""Every family of operators, imported for its declarations. A new family is one line here."""

from thunk.ops import copy, creation, matmul, pointwise, reduce, view

FAMILIES = (copy, creation, matmul, pointwise, reduce, view)
