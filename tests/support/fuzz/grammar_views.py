"""Statements that make views, and those that write to tensors and views of them."""

from __future__ import annotations

from typing import Any

import torch

from fuzz.kinds import statement
from fuzz.scene import (
    NoCandidate,
    Scene,
    can_write,
    is_bool,
    is_float,
    is_integer,
    is_number,
    is_plain,
    shares_memory,
)


def dimensional(each: Any) -> bool:
    return bool(each.dim() > 0 and each.numel() > 0)


@statement("view_slice", 1.5)
def view_slice(scene: Scene) -> str:
    x = scene.pick(dimensional)
    tensor = scene.of(x)
    axis = scene.axis(tensor)
    size = tensor.shape[axis]
    place = scene.random.randrange(size)
    name = scene.fresh()
    if tensor.dim() > 1 and scene.chance(0.3):
        return f"{name} = {x}[:, {scene.choose('0', '-1', '1:', '::2', 'None', ':1')}]"
    form = scene.choose(
        "{x}.select({d}, {p})",
        "{x}[{q}]",
        "{x}[1:]",
        "{x}[::2]",
        "{x}.narrow({d}, {p}, {n})",
        "{x}[:1]",
        "{x}[...]",
        "{x}[..., 0]",
        "{x}[-1]",
    )
    return f"{name} = " + form.format(
        x=x, d=axis, p=place, n=size - place, q=scene.random.randrange(tensor.shape[0])
    )


@statement("view_shape", 1.5)
def view_shape(scene: Scene) -> str:
    x = scene.pick()
    tensor = scene.of(x)
    forms = [
        "{x}.unsqueeze({u})",
        "{x}.squeeze()",
        "{x}.view_as({x})",
        "{x}[None]",
        "{x}.reshape(-1)",
        "{x}.flatten()",
    ]
    if tensor.dim() > 0:
        order = list(range(tensor.dim()))
        scene.random.shuffle(order)
        forms += [
            "{x}.transpose(0, -1)",
            f"{{x}}.permute({order})",
            "{x}.squeeze(0)",
            "{x}.movedim(0, -1)",
            "{x}.transpose(0, -1)",
        ]
    if tensor.dim() == 2:
        forms += ["{x}.t()", "{x}.T"]
    if tensor.is_contiguous() or scene.chance(0.2):
        forms += ["{x}.view(-1)", f"{{x}}.view({(*tensor.shape, 1)})"] * 2
    return f"{scene.fresh()} = " + scene.choose(*forms).format(
        x=x, u=scene.random.randint(-1, tensor.dim())
    )


@statement("view_expand")
def view_expand(scene: Scene) -> str:
    x = scene.pick(lambda each: each.numel() <= 12 and each.dim() < 4)
    tensor = scene.of(x)
    form = scene.choose(
        "{x}.expand(2, *{x}.shape)",
        f"{{x}}.broadcast_to({(2, *tensor.shape)})",
        "{x}.unsqueeze(-1).expand(*{x}.shape, 2)",
        "{x}.expand_as({x})",
    )
    return f"{scene.fresh()} = " + form.format(x=x)


@statement("view_strided")
def view_strided(scene: Scene) -> str:
    x = scene.pick(dimensional)
    tensor = scene.of(x)
    name = scene.fresh()
    if tensor.dim() == 2 and scene.chance(0.5):
        return f"{name} = {x}.diagonal({scene.choose(0, 0, 1, -1)})"
    if scene.chance(0.25):
        return f"{name} = {x}.unfold({scene.axis(tensor)}, 1, 1)"
    rest = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    if rest >= 4 and scene.chance(0.6):
        size, stride = scene.choose(
            ((2, 2), (2, 1)), ((2, 2), (1, 2)), ((2,), (2,)), ((2, 1), (3, 1))
        )
        return f"{name} = {x}.as_strided({size}, {stride})"
    return f"{name} = torch.as_strided({x}, (1,), (1,), {tensor.storage_offset()})"


@statement("view_many")
def view_many(scene: Scene) -> str:
    x = scene.pick(lambda each: dimensional(each) and each.shape[0] > 1)
    tensor = scene.of(x)
    one, two = scene.fresh(), scene.fresh()
    if tensor.shape[0] == 2:
        form = scene.choose("unbind(0)", "chunk(2)", "split(1)", "tensor_split(2)")
    else:
        form = scene.choose(
            "chunk(2)", "split(2)", "tensor_split(2)", "split([1, 2])", "hsplit([1])"
        )
        if form == "hsplit([1])" and tensor.dim() != 1:
            form = "chunk(2)"
    return f"{one}, {two} = {x}.{form}"


@statement("view_dtype", 0.8)
def view_dtype(scene: Scene) -> str:
    x = scene.pick(lambda each: is_plain(each) and each.element_size() in (4, 8))
    name = scene.fresh()
    if scene.of(x).element_size() == 4:
        return f"{name} = {x}.view(torch.{scene.choose('int32', 'float32', 'int32')})"
    return f"{name} = {x}.view(torch.{scene.choose('int64', 'float64', 'int64')})"


@statement("write_number", 1.3)
def write_number(scene: Scene) -> str:
    x = scene.writable()
    form = scene.choose(
        "{x}.add_({k})",
        "{x}.mul_({k})",
        "{x}.fill_({k})",
        "{x}.zero_()",
        "{x}.sub_(1)",
        "{x}.clamp_(-1.5, 1.5)",
        "{x}.div_(2)",
        "{x}.mul_(2)",
        "{x}.pow_(2)",
        "{x}.add_(1)",
    )
    return form.format(x=x, k=scene.number())


@statement("write_unary")
def write_unary(scene: Scene) -> str:
    x = scene.pick(lambda each: is_float(each) and can_write(each))
    return f"{x}.{scene.choose('neg_', 'tanh_', 'sigmoid_', 'relu_', 'square_', 'sin_')}()"


def operand(scene: Scene, x: str) -> str:
    """Something to write into a target."""
    y = scene.source(scene.of(x))
    one, two = scene.of(x), scene.of(y)
    same = one.shape == two.shape and one.stride() == two.stride()
    if shares_memory(one, two) and (x == y or 1 in two.shape or not same):
        # PyTorch skips its checks, or checks the strides of dimensions that take no step.
        raise NoCandidate
    return y


@statement("write_tensor", 1.9)
def write_tensor(scene: Scene) -> str:
    x = scene.writable()
    y = operand(scene, x)
    form = scene.choose(
        "{x}.add_({y})",
        "{x}.mul_({y})",
        "{x}.copy_({y})",
        "{x}.sub_({y})",
        "{x}.copy_({y})",
        "{x}.add_({y}, alpha={k})",
        "{x}.lerp_({y}, 0.25)",
        "{x}.addcmul_({y}, {y}, value={k})",
        "{x}.maximum({y})",
    )
    return form.format(x=x, y=y, k=scene.number())


@statement("augmented")
def augmented(scene: Scene) -> str:
    x = scene.writable()
    tensor = scene.of(x)
    if dimensional(tensor) and scene.chance(0.5):
        key = scene.choose("0", ":1", "-1", "...")
        return f"{x}[{key}] {scene.choose('+=', '*=')} {scene.number()}"
    y = operand(scene, x) if scene.chance(0.6) else repr(scene.number())
    return f"{x} {scene.choose('+=', '*=', '-=')} {y}"


def shell(shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor that has a shape alone."""
    return torch.empty(shape, device="meta")


def _value(scene: Scene, shape: tuple[int, ...], target: torch.Tensor) -> str:
    """Something to assign to a place of some shape: a number or a tensor."""
    if scene.chance(0.4):
        return repr(scene.choose(scene.number(), 1, True))
    return scene.source(
        shell(tuple(shape)),
        lambda each: (
            (target.dtype.is_floating_point or not each.requires_grad)
            and not shares_memory(each, target)
        ),
    )


@statement("set_int")
def set_int(scene: Scene) -> str:
    x = scene.pick(lambda each: can_write(each) and dimensional(each))
    tensor = scene.of(x)
    place = scene.random.randrange(-tensor.shape[0], tensor.shape[0])
    return f"{x}[{place}] = {_value(scene, tuple(tensor.shape[1:]), tensor)}"


@statement("set_slice")
def set_slice(scene: Scene) -> str:
    x = scene.pick(lambda each: can_write(each) and dimensional(each))
    tensor = scene.of(x)
    key = scene.choose("1:", "::2", ":1", "...", ":")
    if tensor.dim() > 1:
        key = scene.choose(key, ":, 0", ":, 1:", "..., -1", ":, ::2")
    shape = tuple(eval(f"shell[{key}]", {"shell": shell(tuple(tensor.shape))}).shape)
    return f"{x}[{key}] = {_value(scene, shape, tensor)}"


@statement("set_mask")
def set_mask(scene: Scene) -> str:
    x = scene.pick(lambda each: can_write(each) and dimensional(each) and is_number(each))
    tensor = scene.of(x)
    masks = scene.tensors(lambda each: is_bool(each) and each.shape == tensor.shape)
    mask = scene.among(masks) if masks and scene.chance(0.6) else f"{x} > {scene.edge()}"
    if scene.chance(0.25):
        return f"{x}.masked_fill_({mask}, {scene.number()})"
    if scene.chance(0.3):
        return f"{x}[{mask}] *= {scene.number()}"
    return f"{x}[{mask}] = {_value(scene, (), tensor)}"


@statement("set_array")
def set_array(scene: Scene) -> str:
    x = scene.pick(lambda each: can_write(each) and dimensional(each))
    tensor = scene.of(x)
    rows = tensor.shape[0]
    distinct = scene.random.sample(range(rows), scene.random.randint(1, rows))
    shape = (len(distinct), *tensor.shape[1:])
    key = scene.choose(f"{distinct}", f"torch.tensor({distinct})")
    if tensor.dim() == 2 and scene.chance(0.3):
        columns = [scene.random.randrange(tensor.shape[1]) for _ in distinct]
        key, shape = f"{distinct}, {columns}", (len(distinct),)
    return f"{x}[{key}] = {_value(scene, shape, tensor)}"


@statement("write_indexed")
def write_indexed(scene: Scene) -> str:
    x = scene.pick(lambda each: can_write(each) and dimensional(each))
    tensor = scene.of(x)
    axis = scene.axis(tensor)
    size = tensor.shape[axis]
    places = scene.random.sample(range(size), scene.random.randint(1, size))
    shape = list(tensor.shape)
    shape[axis] = len(places)
    rows = f"torch.tensor({places})"
    values = f"torch.ones({tuple(shape)}, dtype={tensor.dtype})"
    mates = scene.tensors(
        lambda each: (
            tuple(each.shape) == tuple(shape)
            and each.dtype is tensor.dtype
            and not shares_memory(each, tensor)
        )
    )
    if mates and scene.chance(0.6):
        values = scene.among(mates)
    form = scene.choose(
        f"{x}.index_fill_({axis}, {rows}, {scene.number()})",
        f"{x}.index_add_({axis}, {rows}, {values})",
        f"{x}.index_copy_({axis}, {rows}, {values})",
        f"{x}.scatter_({axis}, {rows}.reshape({_column(shape, axis)}), {scene.choose(1, 2)})",
    )
    return str(form)


def _column(shape: list[int], axis: int) -> tuple[int, ...]:
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return tuple(sizes)


@statement("integer_write", 2.4)
def integer_write(scene: Scene) -> str:
    x = scene.pick(is_integer)
    return scene.choose("{x}.add_(1)", "{x} += 2", "{x}.mul_(-1)", "{x}.clamp_(-3, 3)").format(x=x)
