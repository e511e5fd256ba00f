"""The functions of neural networks: every operator whose home is `nn`, and PyTorch's wrappers.

A name that a module of wrappers lists is public here; the operators declared with `module="nn"`
follow from their declarations.
"""

from typing import TYPE_CHECKING, Any

from thunk.nn.functional import (
    activation,
    attention,
    conv,
    distance,
    grouped,
    likelihood,
    loss,
    norm,
    pooling,
    resample,
)
from thunk.nn.functional import dropout as _dropout
from thunk.nn.functional import embedding as _embedding
from thunk.nn.functional import softmax as _softmax
from thunk.tensor.public import publish_module

if TYPE_CHECKING:
    # Functions of the same name as their file, which they stand for.
    from thunk.nn.functional.dropout import dropout as dropout
    from thunk.nn.functional.embedding import embedding as embedding
    from thunk.nn.functional.softmax import softmax as softmax

    def __getattr__(name: str) -> Any:
        """Operators' functions are entered when the module is made."""


# A new module of wrappers is one line here.
WRAPPERS = (
    activation, attention, conv, distance, _dropout, _embedding, grouped, likelihood, loss, norm,
    pooling, resample, _softmax,
)


def _publish(names: dict[str, Any]) -> None:
    for module in WRAPPERS:
        names.update({name: getattr(module, name) for name in module.__all__})
    written = [name for module in WRAPPERS for name in module.__all__]
    publish_module("nn", names)
    names["__all__"] = sorted({*written, *names.get("__all__", ())})


_publish(globals())
