"""Every module of NumPy rules, imported for its registrations. A new module is one line here."""

from thunk.backends.reference import conv, conv_columns, copy, creation, matmul, pointwise, reduce

RULES = (conv, conv_columns, copy, creation, matmul, pointwise, reduce)
