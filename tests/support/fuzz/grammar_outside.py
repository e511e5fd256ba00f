"""Statements that reach outside: foreign memory, values that Python reads, names that go away."""

from __future__ import annotations

from typing import Any

import numpy

from fuzz.kinds import statement
from fuzz.scene import NoCandidate, Scene, can_write, is_float, is_integer, is_wide_float


@statement("from_numpy", 1.2)
def from_numpy(scene: Scene) -> str:
    array, name = scene.fresh("a"), scene.fresh()
    shape = scene.shape(1, 2)
    maker = scene.choose(
        "torch.from_numpy({a})",
        "torch.from_numpy({a})",
        "torch.as_tensor({a})",
        "torch.from_dlpack({a})",
    )
    dtype = scene.choose("float64", "float64", "float32")
    view = scene.choose("", "", ".T", "[::-1].copy()")
    return (
        f"{array} = numpy.array({scene.floats(shape)}, dtype='{dtype}'){view}\n"
        f"{name} = {maker.format(a=array)}"
    )


def exportable(each: Any) -> bool:
    return is_wide_float(each) or is_integer(each)


@statement("to_numpy", 1.0)
def to_numpy(scene: Scene) -> str:
    x = scene.pick(exportable)
    form = scene.choose(
        "{x}.detach().numpy()",
        "{x}.data.numpy()",
        "numpy.asarray({x}.detach())",
        "numpy.from_dlpack({x}.detach())",
        "{x}.numpy()",
    )
    if "detach" not in form:
        scene.exported.append(scene.of(x))
    return f"{scene.fresh('a')} = " + form.format(x=x)


def arrays(scene: Scene, accept: Any = None) -> list[str]:
    return [
        each
        for each in scene.names("a")
        if scene.of(each).size and (accept is None or accept(scene.of(each)))
    ]


@statement("foreign_write", 2.6)
def foreign_write(scene: Scene) -> str:
    def owned(each: Any) -> bool:
        return bool(each.flags.writeable and each.dtype.kind == "f")

    # PyTorch hands backward what was written meanwhile; nobody counts on that.
    kept = scene.kept_for_backward()
    array = scene.among(
        [
            name
            for name in arrays(scene, owned)
            if not any(numpy.may_share_memory(scene.of(name), each) for each in kept)
        ]
    )
    value = scene.number()
    forms = [f"{array}[...] = {value}", f"{array} += {value}", f"{array} *= {value}"]
    if scene.of(array).ndim:
        forms += [f"{array}[0] = {value}", f"{array}[-1:] -= {value}"]
    return str(scene.choose(*forms))


@statement("dlpack", 0.9)
def dlpack(scene: Scene) -> str:
    x = scene.pick(lambda each: exportable(each) and not each.requires_grad)
    scene.exported.append(scene.of(x))
    if scene.chance(0.5):
        return f"{scene.fresh()} = torch.from_dlpack({x})"
    return f"{scene.fresh()} = torch.from_dlpack(numpy.from_dlpack({x}))"


@statement("barrier", 1.4)
def barrier(scene: Scene) -> str:
    x = scene.pick(lambda each: each.numel() > 0)
    tensor = scene.of(x)
    forms = [
        f"log.append({x}.tolist())",
        f"log.append({x}.sum().item())",
        f"log.append(bool(({x} != 0.13).any()))",
        f"repr({x})",
        f"log.append(len(str({x}.shape)))",
        f"log.append({x}.cpu().tolist())",
    ]
    if tensor.numel() == 1 and is_float(tensor):
        forms += [f"log.append({x}.item())", f"log.append(float({x}))"]
    if tensor.dim():
        forms.append(f"log.append([each.sum().item() for each in {x}])")
    return str(scene.choose(*forms))


@statement("inspect", 0.9)
def inspect(scene: Scene) -> str:
    x = scene.pick()
    form = scene.choose(
        "log.append(({x}.storage_offset(), {x}.is_contiguous()))",
        "log.append(({x}.requires_grad, {x}.is_leaf, {x}.grad_fn is None))",
        "log.append((tuple({x}.shape), {x}.numel()))",
        "log.append({x}._version > 0)" if not scene.has_inference else "log.append({x}.dim())",
    )
    return str(form).format(x=x)


@statement("control", 1.2)
def control(scene: Scene) -> str:
    """A branch or a loop that depends on a value."""
    x = scene.pick(lambda each: is_float(each) and each.numel() > 0)
    name = scene.fresh()
    condition = scene.choose(
        f"{x}.sum().item() > {scene.edge()}",
        f"({x} > {scene.edge()}).any()",
        f"{x}.sum() > {scene.edge()}",
    )
    if scene.chance(0.25):
        return (
            f"{name} = {x}\nfor _ in range(int({x}.sum().item() > {scene.edge()}) + 1):\n"
            f"    {name} = {name} * {scene.number()}"
        )
    if scene.chance(0.3) and can_write(scene.of(x)):
        return f"if {condition}:\n    {x}.mul_({scene.number()})\n{name} = {x} + 1"
    return f"if {condition}:\n    {name} = {x} * 2\nelse:\n    {name} = {x} - {scene.number()}"


@statement("drop", 1.4)
def drop(scene: Scene) -> str:
    held = scene.names("t") + arrays(scene)
    if len(held) < 6:
        raise NoCandidate
    return f"del {scene.random.choice(held)}"


@statement("rebind", 0.9)
def rebind(scene: Scene) -> str:
    """The same name for a new value, as loops do."""
    x = scene.pick(is_float)
    form = scene.choose(
        "{x} = {x} * {k}", "{x} = {x}.detach()", "{x} = {x}.tanh()", "{x} = {x}.clone()"
    )
    return str(form).format(x=x, k=scene.number())
