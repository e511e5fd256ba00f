"""Enters: nothing. Leaves: every module class and what is registered for all modules.

One line a file, in alphabetical order; what a file offers is what its `__all__` names, or every
`Module` class that it defines.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from thunk.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    lazy_normalization,
    linear,
    linear_cross_entropy_options,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from thunk.nn.modules.module import Module

if TYPE_CHECKING:
    # The same names for type checkers and editors, which do not run `_publish`.
    from thunk.nn.modules.activation import *  # noqa: F403
    from thunk.nn.modules.adaptive import *  # noqa: F403
    from thunk.nn.modules.batchnorm import *  # noqa: F403
    from thunk.nn.modules.channelshuffle import *  # noqa: F403
    from thunk.nn.modules.container import *  # noqa: F403
    from thunk.nn.modules.conv import *  # noqa: F403
    from thunk.nn.modules.distance import *  # noqa: F403
    from thunk.nn.modules.dropout import *  # noqa: F403
    from thunk.nn.modules.flatten import *  # noqa: F403
    from thunk.nn.modules.fold import *  # noqa: F403
    from thunk.nn.modules.instancenorm import *  # noqa: F403
    from thunk.nn.modules.lazy import *  # noqa: F403
    from thunk.nn.modules.lazy_conv import *  # noqa: F403
    from thunk.nn.modules.lazy_linear import *  # noqa: F403
    from thunk.nn.modules.lazy_norm import *  # noqa: F403
    from thunk.nn.modules.lazy_normalization import *  # noqa: F403
    from thunk.nn.modules.linear import *  # noqa: F403
    from thunk.nn.modules.linear_cross_entropy_options import *  # noqa: F403
    from thunk.nn.modules.loss import *  # noqa: F403
    from thunk.nn.modules.module import *  # noqa: F403
    from thunk.nn.modules.normalization import *  # noqa: F403
    from thunk.nn.modules.padding import *  # noqa: F403
    from thunk.nn.modules.pixelshuffle import *  # noqa: F403
    from thunk.nn.modules.pooling import *  # noqa: F403
    from thunk.nn.modules.rnn import *  # noqa: F403
    from thunk.nn.modules.sparse import *  # noqa: F403
    from thunk.nn.modules.transformer import *  # noqa: F403
    from thunk.nn.modules.upsampling import *  # noqa: F403

FILES = (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    lazy_normalization,
    linear,
    linear_cross_entropy_options,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)


def offered(file: ModuleType) -> dict[str, Any]:
    """The public names of one file of modules."""
    names = getattr(file, "__all__", None)
    if names is not None:
        return {name: getattr(file, name) for name in names}
    return {
        name: value
        for name, value in vars(file).items()
        if not name.startswith("_")
        and isinstance(value, type)
        and issubclass(value, Module)
        and value.__module__ == file.__name__
    }


def _publish(names: dict[str, Any]) -> None:
    found = {name: value for file in FILES for name, value in offered(file).items()}
    for name, value in found.items():
        eager = getattr(value, "cls_to_become", None)
        if eager is not None:  # PyTorch defines lazy classes beside the eager ones
            setattr(sys.modules[eager.__module__], name, value)
    names.update(found)
    names["__all__"] = sorted(found)


_publish(globals())
