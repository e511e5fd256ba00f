"""Statements that compute: leaves, pointwise operators, reductions, products, choices, indices.

Each function takes a scene and leaves the text of one statement; values stay moderate, and
thresholds lie where rounding cannot move a value across them.
"""

from __future__ import annotations

from fuzz.kinds import statement
from fuzz.scene import (
    NoCandidate,
    Scene,
    is_bool,
    is_float,
    is_integer,
    is_number,
    is_plain,
    is_wide_float,
    shares_memory,
)

FLOATS = ("float64",) * 6 + ("float32", "float32", "bfloat16")
UNARY = (
    "neg",
    "tanh",
    "sigmoid",
    "relu",
    "sin",
    "cos",
    "square",
    "clone",
    "erf",
    "atan",
    "contiguous",
    "expm1",
)
SMOOTH = ("gelu", "silu", "softplus", "leaky_relu", "elu", "hardtanh")


@statement("leaf", 1.4)
def leaf(scene: Scene) -> str:
    name, shape = scene.fresh(), scene.shape()
    draw = scene.random.random()
    if draw < 0.12:
        return f"{name} = torch.tensor({scene.integers(shape)})"
    if draw < 0.2:
        return f"{name} = torch.tensor({scene.booleans(shape)})"
    if draw < 0.3:
        maker = scene.choose("zeros", "ones", "full")
        value = f", {scene.number()}" if maker == "full" else ""
        return f"{name} = torch.{maker}({shape}{value}, dtype=torch.float64)"
    dtype = scene.choose(*FLOATS)
    flag = ", requires_grad=True" if scene.chance(0.55) else ""
    return f"{name} = torch.tensor({scene.floats(shape)}, dtype=torch.{dtype}{flag})"


@statement("unary", 1.4)
def unary(scene: Scene) -> str:
    x = scene.pick(is_float)
    if scene.chance(0.25):
        call = f"torch.nn.functional.{scene.choose(*SMOOTH)}({x})"
    else:
        call = f"{x}.{scene.choose(*UNARY)}()"
    return f"{scene.fresh()} = {call}"


@statement("binary", 1.6)
def binary(scene: Scene) -> str:
    x = scene.pick()
    y = scene.mate(scene.of(x))
    form = scene.choose(
        "{x} + {y}",
        "{x} * {y}",
        "torch.add({x}, {y}, alpha={k})",
        "torch.sub({x}, {y})",
        "{x} - {y}",
        "torch.maximum({x}, {y})",
        "{x} / ({y} * {y} + 1.5)",
        "torch.lerp({x}, {y}, {k})",
        "torch.mul({x}, {y})",
        "torch.addcmul({x}, {x}, {y}, value={k})",
    )
    return f"{scene.fresh()} = " + form.format(x=x, y=y, k=scene.number())


@statement("number")
def number(scene: Scene) -> str:
    x = scene.pick()
    form = scene.choose(
        "{x} * {k}",
        "{x} + 1",
        "1 - {x}",
        "{x} * True",
        "{k} * {x}",
        "{x} ** 2",
        "{x} / 4",
        "{x} * 3",
        "-{x}",
        "{x} - {k}",
        "2.5 / ({x} * {x} + 2)",
        "{x} * -0.0",
        "{x}.clamp(-1, {k})",
        "{x} + {x}",
        "torch.add({x}, 2, alpha=3)",
        "{x} ** {k}" if scene.chance(0.2) else "{x} ** 3",
    )
    return f"{scene.fresh()} = " + form.format(x=x, k=scene.number())


@statement("reduce", 1.2)
def reduce(scene: Scene) -> str:
    x = scene.pick(is_number)
    tensor = scene.of(x)
    name = scene.fresh()
    if tensor.dim() == 0 or scene.chance(0.3):
        call = scene.choose("sum()", "sum()", "amax()", "amin()", "sum(dtype=torch.float64)")
        return f"{name} = {x}.{call}"
    axis, keep = scene.axis(tensor), scene.chance(0.4)
    if not is_float(tensor):
        return f"{name} = {x}.{scene.choose('sum', 'amax', 'amin')}({axis}, keepdim={keep})"
    form = scene.choose(
        "{x}.sum({d}, keepdim={k})",
        "{x}.mean({d}, keepdim={k})",
        "{x}.mean()",
        "{x}.sum({d})",
        "{x}.logsumexp({d}, keepdim={k})",
        "{x}.cumsum({d})",
        "{x}.var({d}, correction=0)",
        "torch.linalg.vector_norm({x} + 3)",
        "{x}.amax({d})",
    )
    return f"{name} = " + form.format(x=x, d=axis, k=keep)


@statement("matmul", 1.3)
def matmul(scene: Scene) -> str:
    x = scene.pick(lambda each: is_float(each) and each.dim() in (1, 2, 3))
    tensor = scene.of(x)
    inner = tensor.shape[-1]

    def fits(each: object) -> bool:
        if each.dtype is not tensor.dtype or each.dim() not in (1, 2):  # type: ignore[attr-defined]
            return False
        return each.shape[0] == inner  # type: ignore[attr-defined]

    choices = scene.tensors(fits)
    name = scene.fresh()
    if choices and scene.chance(0.7):
        # PyTorch counts a write to the product of a vector and a matrix; a sum has none.
        one = " + 0" if tensor.dim() == 1 else ""
        return f"{name} = {x} @ {scene.among(choices)}{one}"
    if tensor.dim() == 1:
        return f"{name} = torch.outer({x}, {x})"
    if tensor.dim() == 2 and scene.chance(0.4):
        return f"{name} = torch.einsum('ij,kj->ik', {x}, {x})"
    # A sum, since PyTorch's product of batches is no view, and made of one it would be.
    return f"{name} = torch.matmul({x}, {x}.mT) + 0"


@statement("softmax")
def softmax(scene: Scene) -> str:
    x = scene.pick(lambda each: is_float(each) and each.dim() > 0)
    tensor = scene.of(x)
    form = scene.choose(
        "{x}.softmax({d})",
        "{x}.log_softmax({d})",
        "torch.nn.functional.softmax({x}, dim={d})",
        "torch.nn.functional.layer_norm({x}, {x}.shape[-1:])",
        "torch.logsumexp({x}, {d})",
        "torch.nn.functional.dropout({x}, 0.5, training=False)",
    )
    return f"{scene.fresh()} = " + form.format(x=x, d=scene.axis(tensor))


@statement("dropout_off", 0.7)
def dropout_off(scene: Scene) -> str:
    x = scene.pick(is_float)
    form = scene.choose(
        "torch.nn.functional.dropout({x}, 0.5, training=False)",
        "torch.nn.functional.dropout({x}, 0.0)",
        "torch.nn.Dropout(0.25).eval()({x})",
        "torch.nn.functional.dropout({x}, 1.0)",
    )
    return f"{scene.fresh()} = " + form.format(x=x)


@statement("compare")
def compare(scene: Scene) -> str:
    x = scene.pick()
    if is_bool(scene.of(x)):
        call = scene.choose("~{x}", "{x} | {x}", "{x}.any()", "{x}.all()")
        return f"{scene.fresh()} = {call.format(x=x)}"
    if scene.chance(0.4):
        y = scene.mate(scene.of(x), is_number)
        sign = scene.choose(">", "<", ">=")
        return f"{scene.fresh()} = {x} {sign} ({y} + {scene.edge()})"
    sign = scene.choose(">", "<", "<=", "!=")
    return f"{scene.fresh()} = {x} {sign} {scene.edge()}"


@statement("where")
def where(scene: Scene) -> str:
    x = scene.pick(is_number)
    y = scene.mate(scene.of(x), is_number)
    masks = scene.tensors(
        lambda each: is_bool(each) and each.shape in (scene.of(x).shape, scene.of(y).shape)
    )
    mask = scene.among(masks) if masks and scene.chance(0.6) else f"{x} > {scene.edge()}"
    name = scene.fresh()
    if scene.chance(0.3):
        return f"{name} = {x}.masked_fill({mask}, {scene.number()})"
    if scene.chance(0.3):
        return f"{name} = torch.where({mask}, {x}, {scene.number()})"
    return f"{name} = torch.where({mask}, {x}, {y})"


@statement("cast", 0.9)
def cast(scene: Scene) -> str:
    x = scene.pick()
    tensor = scene.of(x)
    forms = ["{x}.to(torch.float64)", "{x}.double()", "{x}.to(torch.float32)", "{x}.float()"]
    if is_wide_float(tensor):
        forms += ["({x} * 2 + 0.13).clamp(-99, 99).long()", "{x}.to(torch.bfloat16)", "{x} > 0.13"]
    if is_integer(tensor):
        forms += ["{x}.bool()", "{x}.int()", "{x}.to(torch.int64)"]
    return f"{scene.fresh()} = " + scene.choose(*forms).format(x=x)


@statement("join")
def join(scene: Scene) -> str:
    x = scene.pick()
    tensor = scene.of(x)
    y = scene.among(scene.tensors(lambda each: each.shape == tensor.shape))
    if tensor.dim() == 0 or scene.chance(0.4):
        return f"{scene.fresh()} = torch.stack([{x}, {y}], {scene.choose(0, -1)})"
    return f"{scene.fresh()} = torch.cat([{x}, {y}], {scene.axis(tensor)})"


@statement("index", 1.2)
def index(scene: Scene) -> str:
    x = scene.pick(lambda each: each.dim() > 0 and 0 not in each.shape)
    tensor = scene.of(x)
    masks = scene.tensors(lambda each: is_bool(each) and each.shape == tensor.shape)
    name, rows = scene.fresh(), tensor.shape[0]
    places = scene.index_list(rows, scene.choose(1, 2, 3))
    axis = scene.axis(tensor)
    inside = [scene.random.randrange(tensor.shape[axis]) for _ in range(2)]
    forms = [
        f"{x}[{places}]",
        f"{x}[torch.tensor({places})]",
        f"{x}.index_select({axis}, torch.tensor({inside}))",
        f"{x}.flip({axis})",
        f"{x}.roll(1, {axis})",
    ]
    if not tensor.requires_grad:  # PyTorch watches what it gathered from, though it is not read
        forms.append(f"torch.take_along_dim({x}, {x}.argmax({axis}, keepdim=True), {axis})")
    if masks and not tensor.requires_grad:  # PyTorch watches the mask for writes
        forms += [f"{x}[{scene.among(masks)}]"] * 3
    if is_float(tensor):
        forms += [f"{x}[{x} > {scene.edge()}]"]
    return f"{name} = {scene.choose(*forms)}"


@statement("out", 0.9)
def out(scene: Scene) -> str:
    x = scene.pick(
        lambda each: is_wide_float(each) and (not each.requires_grad or scene.chance(0.1))
    )
    y = scene.source(scene.of(x), lambda each: is_wide_float(each) and not each.requires_grad)
    targets = scene.tensors(
        lambda each: (
            each.dtype is scene.of(x).dtype
            and is_plain(each)
            and not any(
                each is not scene.of(name) and shares_memory(each, scene.of(name))
                for name in (x, y)
            )
            and each.shape == scene.of(x).shape
        )
    )
    if not targets:
        raise NoCandidate
    call = scene.choose(
        "torch.add({x}, {y}, out={o})",
        "torch.mul({x}, {y}, out={o})",
        "torch.neg({x}, out={o})",
        "torch.tanh({x}, out={o})",
    )
    return call.format(x=x, y=y, o=scene.among(targets))
