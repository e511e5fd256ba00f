"""Operators: one declaration each, in one folder a family; and all of them by namespace and name.

`thunk.ops.aten.add.Tensor` is reached through the module's attributes, user namespaces likewise.
"""

from thunk.ops.namespace import OpNamespace, has_namespace


def __getattr__(name: str) -> OpNamespace:
    # Names that are no namespace must fail here, so that folders of this package can be imported.
    if not has_namespace(name):
        raise AttributeError(
            f"thunk.ops: expected a namespace with operators, got {name!r}; define one with "
            f"thunk.library.Library({name!r}, 'DEF')"
        )
    return OpNamespace(name)
