"""One module with one set of arguments, in torch and in the subject, from one seed.

In: a `Config`. Out: nothing, or an assertion that says what differs. Compared are the state dict
bit for bit, the text, results, gradients of inputs and parameters, and buffers after the call.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from tests.torch.oracle.compare import Comparison
from tests.torch.oracle.convert import convert, dtype_name, to_array
from tests.torch.oracle.subject import Subject, reference

# Tensors this small gain nothing from threads, and tests share their machine.
torch.set_num_threads(1)

SEED = 1234
# Gradients are sums over the whole result, so they may miss by a little more than values do.
TOLERANCE = {"float32": (1e-5, 2e-5), "float64": (1e-9, 1e-9)}


@dataclass
class Config:
    """How a module is made and called; everything over torch."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    named_inputs: dict[str, Any] = field(default_factory=dict)
    about: str = ""


def subject() -> Subject:
    """The library under judgement."""
    return Subject("thunk")


def seed_torch(seed: int = SEED) -> None:
    """What `torch.manual_seed` does for the CPU; it also walks the stack for other devices."""
    torch.default_generator.manual_seed(seed)


def seed_everywhere(library: Subject, seed: int = SEED) -> None:
    seed_torch(seed)
    library.module.manual_seed(seed)


def over(library: Subject, value: Any) -> Any:
    """A copy of a nest of torch values over a library; modules among them are built anew."""
    if isinstance(value, torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer):
        return layer_over(library, value)
    if isinstance(value, torch.nn.Module) and not isinstance(value, torch.nn.PairwiseDistance):
        return module_over(library, value)
    if isinstance(value, tuple) and not hasattr(value, "_fields") and _holds_modules(value):
        return tuple(over(library, each) for each in value)
    if isinstance(value, dict) and _holds_modules(tuple(value.values())):
        return {name: over(library, each) for name, each in value.items()}
    return convert(library, value)


def _holds_modules(values: tuple[Any, ...]) -> bool:
    return any(isinstance(each, torch.nn.Module) for each in values)


def layer_over(library: Subject, layer: Any) -> Any:
    """A layer of a transformer with the same arguments and parameters."""
    made = library.resolve(f"nn.{type(layer).__name__}")(
        layer.linear1.in_features, layer.self_attn.num_heads, layer.linear1.out_features,
        layer.dropout.p, library.rebind(layer.activation), layer.norm1.eps,
        layer.self_attn.batch_first, layer.norm_first, layer.linear1.bias is not None,
        dtype=over(library, layer.linear1.weight.dtype),
    )  # fmt: skip
    made.load_state_dict(convert(library, dict(layer.state_dict())))
    return made


def module_over(library: Subject, module: Any) -> Any:
    """A module that is made without arguments, or a LayerNorm."""
    kind = library.resolve(f"nn.{type(module).__name__}")
    if isinstance(module, torch.nn.LayerNorm):
        return kind(module.normalized_shape, module.eps)
    return kind()


def make(library: Subject, config: Config) -> Any:
    """The module of a config over a library; warnings are judged elsewhere."""
    kind = library.resolve(f"nn.{config.name}")
    args, kwargs = over(library, config.args), over(library, config.kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(*args, **kwargs)


def same_state(library: Subject, theirs: Any, ours: Any) -> None:
    """Both state dicts have the same names, dtypes, shapes and bits."""
    expected, actual = theirs.state_dict(), ours.state_dict()
    assert list(expected) == list(actual)
    for name, value in expected.items():
        found = actual[name]
        assert dtype_name(value.dtype) == dtype_name(found.dtype), name
        assert tuple(value.shape) == tuple(found.shape), name
        left, right = to_array(library, value), to_array(library, found)
        assert left.tobytes() == right.tobytes(), f"{name} differs in bits"
    named = [name for name, _ in theirs.named_parameters()]
    assert named == [name for name, _ in ours.named_parameters()]


def run(library: Subject, module: Any, config: Config) -> tuple[Any, list[Any]]:
    """The result of a call, and the inputs that want gradients."""
    inputs, named = over(library, (config.inputs, config.named_inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = module(*inputs, **named)
    leaves: list[Any] = []
    _collect(library, (inputs, named), leaves)
    return result, [leaf for leaf in leaves if leaf.requires_grad]


def _collect(library: Subject, value: Any, found: list[Any]) -> None:
    if isinstance(value, library.module.Tensor):
        if not any(value is each for each in found):
            found.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            _collect(library, each, found)
    elif isinstance(value, list | tuple):
        for each in value:
            _collect(library, each, found)


def backward(library: Subject, result: Any) -> bool:
    """Gradients of a weighted sum of all results; False if none of them has any."""
    outputs: list[Any] = []
    _collect(library, result, outputs)
    outputs = [each for each in outputs if each.requires_grad]
    random = np.random.default_rng(SEED)
    total: Any = None
    for each in outputs:
        weights = torch.from_numpy(np.asarray(random.uniform(0.5, 1.5, tuple(each.shape))))
        part = (each * convert(library, weights).to(each.dtype)).sum()
        total = part if total is None else total + part
    if total is None:
        return False
    total.backward()
    return True


def gradients(module: Any, leaves: list[Any]) -> dict[str, Any]:
    found = {f"input {number}": leaf.grad for number, leaf in enumerate(leaves)}
    found.update({name: each.grad for name, each in module.named_parameters()})
    return found


def judge(config: Config, dtype: torch.dtype, training: bool) -> None:
    """Compare a module of torch and of the subject in all that a user can see of it."""
    library, torch_itself = subject(), reference()
    seed_everywhere(library)
    theirs, ours = make(torch_itself, config), make(library, config)
    same_state(library, theirs, ours)
    assert repr(theirs) == repr(ours)
    theirs, ours = theirs.to(dtype), ours.to(over(library, dtype))
    theirs.train(training)
    ours.train(training)
    seed_everywhere(library)
    expected, their_leaves = run(torch_itself, theirs, config)
    actual, our_leaves = run(library, ours, config)
    precise = Precise(config, training)
    Comparison(library, TOLERANCE, arbiter=precise.result).check(expected, actual)
    if backward(torch_itself, expected):
        assert backward(library, actual)
        comparison = Comparison(library, TOLERANCE, arbiter=precise.gradients)
        comparison.check(gradients(theirs, their_leaves), gradients(ours, our_leaves))
    Comparison(library, TOLERANCE).check(dict(theirs.state_dict()), dict(ours.state_dict()))


class Precise:
    """torch's answer in double precision, made when single precision is in doubt."""

    def __init__(self, config: Config, training: bool) -> None:
        self.config = replace(
            config, inputs=widened(config.inputs), named_inputs=widened(config.named_inputs)
        )
        self.training = training

    def _run(self) -> tuple[Any, Any, list[Any]]:
        seed_torch()
        module = make(reference(), self.config).double().train(self.training)
        result, leaves = run(reference(), module, self.config)
        return module, result, leaves

    def result(self) -> Any:
        return self._run()[1]

    def gradients(self) -> dict[str, Any]:
        module, result, leaves = self._run()
        backward(reference(), result)
        return gradients(module, leaves)


def widened(value: Any) -> Any:
    """A nest with its single-precision tensors in double precision."""
    if isinstance(value, torch.Tensor) and value.dtype is torch.float32:
        return value.detach().double().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {name: widened(each) for name, each in value.items()}
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(widened(each) for each in value)
    return value


def judge_inference(config: Config, dtype: torch.dtype) -> None:
    """Compare results without gradients, where torch may take other ways than in training."""
    library, torch_itself = subject(), reference()
    seed_everywhere(library)
    theirs, ours = make(torch_itself, config), make(library, config)
    theirs, ours = theirs.to(dtype).eval(), ours.to(over(library, dtype)).eval()
    with torch.no_grad(), library.module.no_grad():
        expected, _ = run(torch_itself, theirs, config)
        actual, _ = run(library, ours, config)
    Comparison(library, TOLERANCE).check(expected, actual)
