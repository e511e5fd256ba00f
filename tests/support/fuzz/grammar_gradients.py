"""Statements about gradients, and those that give one memory or one history several names."""

from __future__ import annotations

from typing import Any

from fuzz.kinds import statement
from fuzz.scene import (
    NoCandidate,
    Scene,
    can_write,
    has_history,
    is_float,
    is_leaf,
    is_leaf_with_grad,
    is_plain,
    is_wide_float,
    shares_memory,
    wants_grad,
)


def has_grad(each: Any) -> bool:
    return is_leaf(each) and each.grad is not None


@statement("detach")
def detach(scene: Scene) -> str:
    x = scene.pick()
    return f"{scene.fresh()} = " + scene.choose("{x}.detach()", "{x}.detach()[...]").format(x=x)


@statement("detach_inplace", 0.9)
def detach_inplace(scene: Scene) -> str:
    # A product of batches is no view for PyTorch, though it is made by one.
    name = scene.fresh()
    return f"{name} = {scene.pick(has_history)} * {scene.number()}\n{name}.detach_()"


@statement("data", 1.1)
def data(scene: Scene) -> str:
    # What inference tensors give counts writes, and is an inference tensor all the same.
    x = scene.pick(lambda each: not each.is_inference())
    if scene.chance(0.4):
        return f"{scene.fresh()} = {x}.data"
    tensor = scene.of(x)
    if scene.chance(0.4):
        return f"{x}.data.{scene.choose('add_(1)', 'mul_(2)', 'zero_()')}"
    # Of one shape, whole and dense: PyTorch's views of what had another size read wild memory.
    if tensor._is_view() or tensor.is_inference() or not whole(tensor):
        raise NoCandidate
    # What backward keeps is the tensor itself: it would read the other value.
    if scene.is_exported(tensor) or scene.is_kept(tensor):
        raise NoCandidate
    y = scene.pick(
        lambda each: (
            not each.is_inference()
            and each.dtype is tensor.dtype
            and each.shape == tensor.shape
            and whole(each)
        )
    )
    return f"{x}.data = {y}{scene.choose('', '.clone()', '.detach()')}"


def whole(each: Any) -> bool:
    """Laid out in row-major order over all of its memory."""
    size = each.numel() * each.element_size()
    return bool(each.is_contiguous() and each.untyped_storage().nbytes() == size)


@statement("set_", 0.8)
def set_storage(scene: Scene) -> str:
    x = scene.pick(
        lambda each: is_plain(each) and not each._is_view() and not scene.is_exported(each)
    )
    y = scene.pick(lambda each: is_plain(each) and each.dtype is scene.of(x).dtype)
    scene.moved.append(scene.of(x))
    return f"{x}.set_({y})"


@statement("share", 1.0)
def share(scene: Scene) -> str:
    x = scene.pick()
    name = scene.fresh()
    forms = [f"{name} = {x}", f"{name} = dict(w={x}.detach())['w']", f"{name} = {x}.view_as({x})"]
    if is_float(scene.of(x)) and not scene.of(x).is_inference():
        forms += [
            f"{name} = torch.nn.Parameter({x}.detach())",
            f"{name} = torch.nn.Parameter({x}.data)",
        ]
    others = [each for each in scene.tensors() if each != x]
    if others:
        forms.append("{x}, {y} = {y}, {x}".format(x=x, y=scene.among(others)))
    return str(scene.choose(*forms))


def has_relatives(scene: Scene, each: Any) -> bool:
    return any(
        scene.of(name) is not each and shares_memory(scene.of(name), each)
        for name in scene.tensors()
    )


def loss_of(scene: Scene, x: str) -> str:
    """A number made of a tensor."""
    if scene.of(x).dim() == 0 and scene.chance(0.6):
        return x
    return str(scene.choose("{x}.sum()", "{x}.sum()", "{x}.mean()", "({x} * {x}).sum()")).format(
        x=x
    )


@statement("backward", 3.2)
def backward(scene: Scene) -> str:
    x = scene.pick(has_history if scene.chance(0.85) else wants_grad)
    keep = scene.choose("", "", "retain_graph=True", "retain_graph=True", "create_graph=True")
    tensor = scene.of(x)
    if tensor.dim() and scene.chance(0.2):
        keep = f", {keep}" if keep else ""
        return f"{x}.backward(torch.ones_like({x}){keep})"
    if scene.chance(0.12):
        y = scene.pick(
            lambda each: is_leaf_with_grad(each) or (each is tensor and not each._is_view())
        )
        return f"{loss_of(scene, x)}.backward(inputs=[{y}])"
    return f"{loss_of(scene, x)}.backward({keep})"


@statement("losses", 1.5)
def losses(scene: Scene) -> str:
    x, y = scene.pick(has_history), scene.pick(wants_grad)
    one, two = loss_of(scene, x), loss_of(scene, y)
    return str(
        scene.choose(
            f"({one} + {two}).backward()",
            f"torch.autograd.backward([{one}, {two}])",
            f"{one}.backward(retain_graph=True)\n{two}.backward()",
            f"({one} * 2 - {two}).backward(retain_graph=True)",
        )
    )


@statement("grad", 1.4)
def grad(scene: Scene) -> str:
    x, y = scene.pick(has_history), scene.pick(wants_grad)
    name = scene.fresh()
    unused = ", allow_unused=True, materialize_grads=True" if scene.chance(0.8) else ""
    create = scene.choose(", create_graph=True", ", retain_graph=True", "")
    # The write count of a gradient is no contract; that of a product of it is.
    return f"{name} = torch.autograd.grad({loss_of(scene, x)}, [{y}]{create}{unused})[0] * 1"


@statement("double_backward", 1.0)
def double_backward(scene: Scene) -> str:
    x, y = scene.pick(has_history), scene.pick(is_leaf_with_grad)
    return (
        f"g = torch.autograd.grad({loss_of(scene, x)}, [{y}], create_graph=True, "
        f"allow_unused=True)[0]\n"
        f"if g is not None and g.requires_grad:\n    (g * g).sum().backward()\n"
        "del g"
    )


@statement("hook", 1.3)
def hook(scene: Scene) -> str:
    x = scene.pick(is_leaf_with_grad if scene.chance(0.4) else wants_grad)
    # PyTorch 2.13 crashes on a hook of a view written to unless its history was asked for.
    ask = f"{x}.grad_fn\n" if scene.of(x)._is_view() else ""
    what = scene.choose("kept", "doubled", "seen", "lambda g: g * 0.5")
    return f"{ask}{x}.register_hook({what})"


@statement("hook_accumulated", 1.0)
def hook_accumulated(scene: Scene) -> str:
    x = scene.pick(is_leaf_with_grad)
    return f"{x}.register_post_accumulate_grad_hook(halve_grad)"


@statement("retain_grad", 0.9)
def retain_grad(scene: Scene) -> str:
    # Of views and further results PyTorch loses the gradient once they are written to.
    x = scene.pick(lambda each: has_history(each) and not each._is_view() and each.output_nr == 0)
    return f"{x}.retain_grad()"


@statement("function", 1.1)
def function(scene: Scene) -> str:
    if scene.chance(0.3):
        x = scene.pick(
            lambda each: is_wide_float(each) and can_write(each) and not each.retains_grad
        )
        return f"{scene.fresh()} = Overwrite.apply({x})"
    x = scene.pick(is_wide_float)
    tensor = scene.of(x)
    y = scene.pick(lambda each: each.shape == tensor.shape and each.dtype is tensor.dtype)
    return f"{scene.fresh()}, {scene.fresh()} = Twice.apply({x}, {y})"


@statement("flip", 1.0)
def flip(scene: Scene) -> str:
    # PyTorch lets views made before take gradients, and forgets where they lead; of a tensor
    # that was set to other memory it forgets where its own gradients went before.
    x = scene.pick(
        lambda each: (
            is_float(each)
            and (is_leaf(each) or scene.chance(0.1))
            and not has_relatives(scene, each)
            and not scene.was_moved(each)
        )
    )
    return f"{x}.requires_grad_({not scene.of(x).requires_grad})"


REGIONS = ("no_grad", "no_grad", "enable_grad", "inference_mode")


@statement("region", 1.6)
def region(scene: Scene) -> str:
    """A few computations or writes without, or with, recording."""
    mode = scene.choose(*REGIONS)
    x = scene.pick(lambda each: is_float(each) and not each.is_inference())
    tensor = scene.of(x)
    name = scene.fresh()
    y = scene.source(tensor, lambda each: not shares_memory(each, tensor))
    lines = [
        f"{name} = {x} * {scene.number()}",
        f"{x}.mul_({scene.number()})",
        f"{x}.copy_({y})",
        f"{x}.sub_({y}, alpha=0.25)",
        f"{name} = {x}.view(-1)",
        f"{x}.zero_()",
        f"{name} = {x}[...]",
        f"{name} = ({x} + {y}).tanh()",
        f"{name} = {x}.detach()",
    ]
    if mode == "inference_mode":
        scene.has_inference = True
        lines = [
            f"{name} = {x} * {scene.number()}",
            f"{name} = ({x} + {y}).tanh()",
            f"{name} = {x}.sum()",
        ]
    chosen = scene.random.sample(lines, scene.random.randint(1, 2))
    return f"with torch.{mode}():\n    " + "\n    ".join(chosen)


@statement("grad_state", 2.0)
def grad_state(scene: Scene) -> str:
    x = scene.pick(has_grad if scene.chance(0.8) else is_leaf_with_grad)
    name = scene.fresh()
    forms = [f"{x}.grad = None"]
    if has_grad(scene.of(x)):
        forms += [
            f"{name} = {x}.grad * 1",
            f"{x}.grad.zero_()",
            f"{x}.grad.mul_(0.5)",
            f"{name} = {x}.grad.detach().clone()",
            f"{x}.grad = {x}.grad * 2",
        ]
    return str(scene.choose(*forms))


@statement("clip", 2.5)
def clip(scene: Scene) -> str:
    leaves = scene.tensors(has_grad)
    if not leaves:
        raise NoCandidate
    names = ", ".join(sorted({scene.among(leaves), scene.among(leaves)}))
    if scene.chance(0.3):
        first = names.split(",")[0]
        return f"if {first}.grad is not None:\n    torch.nn.utils.clip_grad_value_([{names}], 0.5)"
    return f"{scene.fresh()} = torch.nn.utils.clip_grad_norm_([{names}], {scene.choose(0.5, 1.0)})"


@statement("optimizer", 1.2)
def optimizer(scene: Scene) -> str:
    """Make one, or take a step of training with one."""
    made = scene.names("o")
    leaves = scene.tensors(lambda each: is_leaf_with_grad(each) and is_wide_float(each))
    if not leaves:
        raise NoCandidate
    # A parameter named twice is a mistake that PyTorch warns of.
    leaves = list({id(scene.of(name)): name for name in leaves}.values())
    if not made or scene.chance(0.2):
        names = sorted({scene.among(leaves), scene.among(leaves)})
        maker = scene.choose(
            "SGD({p}, lr=0.25)",
            "SGD({p}, lr=0.1, momentum=0.9)",
            "Adam({p}, lr=0.05)",
            "AdamW({p}, lr=0.05)",
            "SGD({p}, lr=0.1, momentum=0.5, nesterov=True, weight_decay=0.1)",
        )
        opt = scene.fresh("o")
        made_of = maker.format(p="[" + ", ".join(names) + "]")
        return f"{opt} = torch.optim.{made_of}\n{_train(scene, opt)}"
    return _train(scene, scene.among(made))


def _train(scene: Scene, opt: str) -> str:
    if scene.chance(0.3):
        return f"{opt}.step()"
    if scene.chance(0.2):
        rate = scene.choose(0.5, 0.125, 0.01)
        return f"{opt}.param_groups[0]['lr'] = {rate}\n{opt}.step()"
    x = scene.pick(wants_grad)
    lines = [
        f"{opt}.zero_grad({scene.choose('', '', 'set_to_none=False')})",
        f"{loss_of(scene, x)}.backward()",
        f"{opt}.step()",
    ]
    return "\n".join(lines)
