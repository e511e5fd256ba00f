"""Enters: specs of calls. Leaves: primitives, with the layout of each of their arguments.

Invariant: scratch memory is the caller's, so a primitive holds no memory that grows with its size.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from thunk.backends.cpu.calls.layout import Layout, plain, split_groups
from thunk.backends.cpu.calls.specs import (
    Accumulate,
    AddOperand,
    CallSpec,
    Convolution,
    Matmul,
    PostOp,
    Relu,
    Reorder,
)
from thunk.backends.cpu.onednn import api
from thunk.backends.cpu.onednn.codes import (
    DIRECT_CONVOLUTION,
    POST_STEP,
    USER_SCRATCHPAD,
    Algorithm,
    Argument,
    Propagation,
    Query,
)
from thunk.backends.cpu.onednn.descriptors import descriptor, layout_of
from thunk.backends.cpu.onednn.handles import Handle, engine, made


@dataclass(frozen=True, slots=True)
class Described:
    """A primitive's descriptor, and which argument each named operand is."""

    handle: Handle
    arguments: dict[str, int]

    def memory(self, argument: int) -> int:
        """The descriptor of an argument's memory; it belongs to this object."""
        query = Query.EXECUTION_ARGUMENT
        found = api.function("primitive_desc_query_md")(self.handle, query, argument)
        if not found:
            raise api.LibraryError(f"oneDNN: expected argument {argument}, the primitive has none")
        return int(found)

    def layout(self, argument: int) -> Layout:
        return layout_of(self.memory(argument))

    @property
    def scratchpad(self) -> int:
        """Bytes of scratch memory."""
        query = api.function("primitive_desc_query_md")
        found = query(self.handle, Query.EXECUTION_ARGUMENT, Argument.SCRATCHPAD)
        return int(api.function("memory_desc_get_size")(found)) if found else 0

    @property
    def implementation(self) -> str:
        """What the library calls the code that it chose."""
        name = ctypes.c_char_p()
        query = Query.IMPLEMENTATION
        api.call("primitive_desc_query", self.handle, query, 0, ctypes.byref(name))
        return (name.value or b"").decode()

    def primitive(self) -> Handle:
        return made("primitive", "primitive_create", self.handle)


def describe(spec: CallSpec) -> Described:
    """The primitive's descriptor for a spec; raises `LibraryError` if there is none."""
    if isinstance(spec, Matmul):
        return _matmul(spec)
    if isinstance(spec, Reorder):
        return _reorder(spec)
    if spec.direction == "forward":
        return _forward(spec)
    return _image(spec) if spec.direction == "image" else _weight(spec)


def _attributes(post: tuple[PostOp, ...]) -> tuple[Handle, dict[str, int]]:
    """Attributes with these post-ops, and the arguments that are their operands."""
    attributes = made("primitive_attr", "primitive_attr_create")
    api.call("primitive_attr_set_scratchpad_mode", attributes, USER_SCRATCHPAD)
    arguments: dict[str, int] = {}
    if not post:
        return attributes, arguments
    chain = made("post_ops", "post_ops_create")
    length = 0
    for each in post:
        if isinstance(each, Relu):
            # The library's own relu turns NaN into zero; an ELU of height zero keeps it, and the
            # addition of zero takes the sign off the zeros that it makes.
            api.call("post_ops_append_eltwise", chain, Algorithm.ELU, 0.0, 0.0)
            api.call("post_ops_append_eltwise", chain, Algorithm.LINEAR, 1.0, 0.0)
            length += 2
        elif isinstance(each, Accumulate):
            api.call("post_ops_append_sum", chain, 1.0, 0, 0)
            length += 1
        else:
            other = descriptor(each.layout)
            api.call("post_ops_append_binary", chain, Algorithm.ADD, other)
            arguments[f"added{len(arguments)}"] = Argument.FIRST_POST_OPERAND + POST_STEP * length
            length += 1
    api.call("primitive_attr_set_post_ops", attributes, chain)
    return attributes, arguments


def _matmul(spec: Matmul) -> Described:
    left, right, out = map(descriptor, (spec.left, spec.right, spec.out))
    arguments: dict[str, int] = {
        "left": Argument.SOURCE,
        "right": Argument.WEIGHT,
        "out": Argument.RESULT,
    }
    bias = None
    if spec.bias is not None:
        arguments["bias"] = Argument.BIAS
        row = (1,) * (len(spec.out.shape) - 1) + spec.bias.shape
        bias = descriptor(plain(row, spec.bias.dtype))
    attributes, added = _attributes(spec.post)
    operands = (engine(), left, right, bias, out, attributes)
    maker = "matmul_primitive_desc_create"
    handle = made("primitive_desc", maker, *operands, about=str(spec))
    return Described(handle, arguments | added)


def _reorder(spec: Reorder) -> Described:
    source, result = descriptor(spec.source), descriptor(spec.result)
    attributes, _ = _attributes(())
    operands = (source, engine(), result, engine(), attributes)
    handle = made("primitive_desc", "reorder_primitive_desc_create", *operands, about=str(spec))
    return Described(handle, {"source": Argument.SOURCE, "result": Argument.RESULT})


def _tensors(spec: Convolution) -> tuple[Handle, Handle, Handle]:
    weight = split_groups(spec.weight, spec.groups)
    return descriptor(spec.image), descriptor(weight), descriptor(spec.result)


def _places(spec: Convolution) -> tuple[object, ...]:
    dense = tuple(gap - 1 for gap in spec.dilation)
    values = (spec.stride, dense, spec.padding_before, spec.padding_after)
    return tuple(api.extents(each) for each in values)


def _hint(
    spec: Convolution, kind: Propagation, post: tuple[PostOp, ...]
) -> tuple[Handle, dict[str, int]]:
    """The forward form, which is also what the backward forms ask for as a hint."""
    image, weight, result = _tensors(spec)
    bias = descriptor(spec.bias) if spec.bias is not None else None
    attributes, added = _attributes(post)
    handle = made(
        "primitive_desc", "convolution_forward_primitive_desc_create",
        engine(), kind, DIRECT_CONVOLUTION, image, weight, bias, result, *_places(spec), attributes,
        about=str(spec),
    )  # fmt: skip
    return handle, added


def _forward(spec: Convolution) -> Described:
    inference = Propagation.FORWARD_INFERENCE
    kind = inference if spec.inference else Propagation.FORWARD_TRAINING
    handle, added = _hint(spec, kind, spec.post)
    arguments: dict[str, int] = {
        "image": Argument.SOURCE,
        "weight": Argument.WEIGHT,
        "result": Argument.RESULT,
    }
    if spec.bias is not None:
        arguments["bias"] = Argument.BIAS
    return Described(handle, arguments | added)


def _image(spec: Convolution) -> Described:
    image, weight, result = _tensors(spec)
    forward, _ = _hint(spec, Propagation.FORWARD_TRAINING, ())
    attributes, added = _attributes(spec.post)
    handle = made(
        "primitive_desc", "convolution_backward_data_primitive_desc_create",
        engine(), DIRECT_CONVOLUTION, image, weight, result, *_places(spec), forward, attributes,
        about=str(spec),
    )  # fmt: skip
    arguments: dict[str, int] = {
        "result": Argument.GRAD_RESULT,
        "weight": Argument.WEIGHT,
        "image": Argument.GRAD_SOURCE,
    }
    return Described(handle, arguments | added)


def _weight(spec: Convolution) -> Described:
    image, weight, result = _tensors(spec)
    bias = descriptor(spec.bias) if spec.bias is not None else None
    forward, _ = _hint(spec, Propagation.FORWARD_TRAINING, ())
    attributes, added = _attributes(spec.post)
    handle = made(
        "primitive_desc", "convolution_backward_weights_primitive_desc_create",
        engine(), DIRECT_CONVOLUTION, image, weight, bias, result, *_places(spec), forward,
        attributes, about=str(spec),
    )  # fmt: skip
    arguments: dict[str, int] = {
        "image": Argument.SOURCE,
        "result": Argument.GRAD_RESULT,
        "weight": Argument.GRAD_WEIGHT,
    }
    if spec.bias is not None:
        arguments["bias"] = Argument.GRAD_BIAS
    return Described(handle, arguments | added)


def written(spec: CallSpec) -> frozenset[str]:
    """Which operands a call writes."""
    if isinstance(spec, Matmul):
        return frozenset({"out"})
    if isinstance(spec, Reorder) or spec.direction == "forward":
        return frozenset({"result"})
    return frozenset({"image"} if spec.direction == "image" else {"weight", "bias"})


def added_layouts(spec: CallSpec) -> list[Layout]:
    """Layouts of the post-ops' operands."""
    if isinstance(spec, Reorder):
        return []
    return [each.layout for each in spec.post if isinstance(each, AddOperand)]
