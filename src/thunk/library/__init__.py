"""Operators and kernels from user code: the public `thunk.library`."""

from thunk.library.custom import CustomOpDef, custom_op
from thunk.library.extend import (
    define,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
)
from thunk.library.infer import infer_schema
from thunk.library.library import Library, fallthrough_kernel

impl_abstract = register_fake

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "impl_abstract",
    "infer_schema", "register_autograd", "register_fake", "register_kernel",
]  # fmt: skip
