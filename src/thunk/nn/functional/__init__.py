"""The functions of neural networks: every operator whose home is `nn`, and PyTorch's wrappers.

A name that a module of wrappers lists is public here; the operators declared with `module="nn"`
follow from their declarations.
"""

from typing import Any

from thunk.nn.functional import (
    activation,
    attention,
    conv,
    distance,
    dropout,
    embedding,
    likelihood,
    loss,
    norm,
    pooling,
    resample,
    softmax,
)
from thunk.tensor.public import publish_module

# A new module of wrappers is one line here.
WRAPPERS = (
    activation, attention, conv, distance, dropout, embedding, likelihood, loss, norm, pooling,
    resample, softmax,
)


def _publish(names: dict[str, Any]) -> None:
    for module in WRAPPERS:
        names.update({name: getattr(module, name) for name in module.__all__})
    written = [name for module in WRAPPERS for name in module.__all__]
    publish_module("nn", names)
    names["__all__"] = sorted({*written, *names.get("__all__", ())})


_publish(globals())
