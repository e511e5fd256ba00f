"""Hooks of modules against PyTorch: which are called, in which order, with what, and what they may
return.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


class Recorder:
    """A hook that notes its name and the kinds of its arguments, and returns `result`."""

    def __init__(self, log: Log, name: str, result: Any = None) -> None:
        self.log, self.name, self.result = log, name, result

    def __call__(self, *args: Any) -> Any:
        self.log(self.name, [type(each).__name__ for each in args], list(args[1:]))
        return self.result


def doubling(lib: Any) -> Any:
    class Doubling(lib.nn.Module):
        def forward(self, x: Any, *, times: int = 2) -> Any:
            if times == 0:
                raise ValueError("times")
            return x * times

    return Doubling()


def forward_order(lib: Any, log: Log) -> None:
    module, x = doubling(lib), lib.ones(2)
    module.register_forward_pre_hook(Recorder(log, "pre 1"))
    module.register_forward_pre_hook(Recorder(log, "pre 2", lib.full((2,), 3.0)))
    module.register_forward_pre_hook(Recorder(log, "pre 0"), prepend=True)
    module.register_forward_pre_hook(Recorder(log, "pre kwargs"), with_kwargs=True)
    module.register_forward_hook(Recorder(log, "post 1"))
    module.register_forward_hook(Recorder(log, "post 2", "replaced"))
    last = module.register_forward_hook(Recorder(log, "post 0"), prepend=True, with_kwargs=True)
    log(module(x), module(x, times=4))
    last.remove()
    last.remove()
    log(module(x), len(module._forward_hooks), len(module._forward_hooks_with_kwargs))
    with module.register_forward_hook(Recorder(log, "inside")):
        log(module(x))
    log(module(x))
    module._forward_hooks.clear()
    module._forward_pre_hooks.clear()
    log(module(x))


def keyword_hooks(lib: Any, log: Log) -> None:
    module, x = doubling(lib), lib.ones(1)
    handle = module.register_forward_pre_hook(
        lambda _, args, kwargs: (args, {"times": 5}), with_kwargs=True
    )
    log(module(x), len(module._forward_pre_hooks_with_kwargs))
    handle.remove()
    log(len(module._forward_pre_hooks_with_kwargs))
    module.register_forward_pre_hook(lambda *_: (1, 2, 3), with_kwargs=True)
    log.tries(lambda: module(x))


def always_called(lib: Any, log: Log) -> None:
    module, x = doubling(lib), lib.ones(1)
    module.register_forward_hook(Recorder(log, "always"), always_call=True)
    module.register_forward_hook(Recorder(log, "kwargs"), always_call=True, with_kwargs=True)
    module.register_forward_hook(Recorder(log, "normal"))
    log.tries(lambda: module(x, times=0))
    log(module(x))
    failing = doubling(lib)

    def fail(*args: Any) -> None:
        raise RuntimeError("in the hook")

    failing.register_forward_hook(fail, always_call=True)
    log.tries(lambda: failing(x, times=0))
    log.tries(lambda: failing(x))


def global_hooks(lib: Any, log: Log) -> None:
    registered = lib.nn.modules.module
    module, x = doubling(lib), lib.ones(1, requires_grad=True)
    module.register_forward_pre_hook(Recorder(log, "own pre"))
    module.register_forward_hook(Recorder(log, "own post"))
    module.register_full_backward_hook(Recorder(log, "own backward"))
    handles = [
        registered.register_module_forward_pre_hook(Recorder(log, "all pre")),
        registered.register_module_forward_hook(Recorder(log, "all post")),
        registered.register_module_forward_hook(
            Recorder(log, "all kwargs"), with_kwargs=True, always_call=True
        ),
        registered.register_module_full_backward_pre_hook(Recorder(log, "all backward pre")),
        registered.register_module_full_backward_hook(Recorder(log, "all backward")),
    ]
    log.tries(lambda: registered.register_module_backward_hook(print))
    module(x).sum().backward()
    lib.nn.Identity()(x)
    for handle in handles:
        handle.remove()
    log("removed")
    module(x).sum().backward()


def registration_hooks(lib: Any, log: Log) -> None:
    registered, nn = lib.nn.modules.module, lib.nn
    replacement = nn.Parameter(lib.zeros(1))
    handles = [
        registered.register_module_parameter_registration_hook(
            lambda module, name, value: replacement if name == "changed" else log(name)
        ),
        registered.register_module_buffer_registration_hook(lambda _, name, value: log(name)),
        registered.register_module_module_registration_hook(
            lambda _, name, value: nn.Identity() if name == "gone" else log(name)
        ),
    ]
    module = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    module.changed = nn.Parameter(lib.ones(1))
    module.gone = nn.Linear(1, 1)
    module[1].running_mean = lib.ones(1)
    for handle in handles:
        handle.remove()
    module.quiet = nn.Identity()
    log(module.changed, module)


def backward_hooks(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.Linear(2, 1)
    with lib.no_grad():
        module.weight.fill_(2.0)
        module.bias.zero_()
    module.register_full_backward_pre_hook(Recorder(log, "pre", (lib.full((1, 1), 3.0),)))
    module.register_full_backward_pre_hook(Recorder(log, "first"), prepend=True)
    module.register_full_backward_hook(Recorder(log, "after", (lib.full((1, 2), 7.0),)))
    module.register_full_backward_hook(Recorder(log, "before"), prepend=True)
    x = lib.ones(1, 2, requires_grad=True)
    module(x).sum().backward()
    log(x.grad, module.weight.grad, module.bias.grad)
    log.tries(lambda: module.register_backward_hook(print))
    log.tries(lambda: module(lib.ones(1, 2)).sum().backward())
    with lib.no_grad():
        log(module(x))


def backward_hook_mistakes(lib: Any, log: Log) -> None:
    x = lib.ones(2, requires_grad=True)
    for result in ((x, x), (None,)):
        module = doubling(lib)
        module.register_full_backward_hook(lambda *_, result=result: result)
        log.tries(lambda: module(x).sum().backward())  # noqa: B023
        other = doubling(lib)
        other.register_full_backward_pre_hook(lambda *_, result=result: (x, x))
        log.tries(lambda: other(x).sum().backward())  # noqa: B023
    constant = doubling(lib)
    constant.register_full_backward_hook(lambda *_: (x,))
    constant.register_forward_hook(lambda _, args, output: output * x)
    log.tries(lambda: constant(lib.ones(2)).sum().backward())
    listing = doubling(lib)
    listing.register_full_backward_hook(lambda *_: None)
    listing.register_forward_hook(lambda _, args, output: [output])
    log.tries(lambda: type(listing(x)).__name__)


def hooks_that_remove_themselves(lib: Any, log: Log) -> None:
    module, x = doubling(lib), lib.ones(1)
    handles: list[Any] = []

    def once(*args: Any) -> None:
        log("once", len(args))
        handles.pop().remove()

    handles += [module.register_forward_pre_hook(once), module.register_forward_hook(once)]
    handles.append(module.register_forward_pre_hook(once))
    log(len(handles[0].hooks_dict_ref()), module(x), len(module._forward_pre_hooks))
    log(module(x), len(handles))


def hooked_tensors_may_not_be_written(lib: Any, log: Log) -> None:
    class Writing(lib.nn.Module):
        def forward(self, x: Any, write: bool) -> Any:
            if write:
                x += 1
            return x.clone()

    module = Writing()
    module.register_full_backward_hook(Recorder(log, "backward"))
    x = lib.ones(2, requires_grad=True)
    module(x, False).sum().backward()
    with pytest.raises(RuntimeError, match="modified inplace"):
        module(x.clone(), True)
    result = module(x, False)
    with pytest.raises(RuntimeError, match="modified inplace"):
        result += 1


def results_without_tensors(lib: Any, log: Log) -> None:
    class Mapping(lib.nn.Module):
        def forward(self, mapping: Any) -> Any:
            return {"x": mapping["x"] * 2}

    module = Mapping()
    module.register_full_backward_hook(Recorder(log, "never"))
    module.register_full_backward_pre_hook(Recorder(log, "never"))
    x = lib.ones(2, requires_grad=True)
    module({"x": x})["x"].sum().backward()
    log(x.grad)
    loss = lib.nn.L1Loss()
    loss.register_full_backward_hook(Recorder(log, "loss"))
    loss(x.detach(), x).backward()


def several_tensors(lib: Any, log: Log) -> None:
    class Mixed(lib.nn.Module):
        def forward(self, x: Any, number: int, y: Any) -> Any:
            return x * number, "text", y + 1

    module = Mixed()
    module.register_full_backward_hook(Recorder(log, "backward"))
    x, y = lib.ones(2, requires_grad=True), lib.ones(2)
    first, text, second = module(x, 3, y)
    log(text, first.requires_grad, second.requires_grad)
    first.sum().backward()
    log(x.grad)


def old_backward_hooks(lib: Any, log: Log) -> None:
    module = doubling(lib)
    handle = module.register_backward_hook(
        lambda owner, inputs, outputs: log(type(owner).__name__, inputs[0], outputs)
    )
    x = lib.ones(2, requires_grad=True)
    module(x).sum().backward()
    handle.remove()
    log.tries(lambda: module.register_full_backward_hook(print))
    module(x).sum().backward()


def copied_hooks(lib: Any, log: Log) -> None:
    module = lib.nn.Linear(1, 1)
    module.register_forward_hook(shifted)
    module.register_state_dict_post_hook(noted)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        log(len(twin._forward_hooks), lib.equal(twin(lib.ones(1)), module(lib.ones(1))))
        twin.register_forward_hook(shifted)
        log(len(twin._forward_hooks), len(module._forward_hooks))
        twin._forward_hooks.clear()
        log(lib.equal(twin(lib.ones(1)) + 1, module(lib.ones(1))), list(twin.state_dict()))


def shifted(module: Any, args: Any, output: Any) -> Any:
    return output + 1


def noted(module: Any, state_dict: Any, prefix: str, metadata: Any) -> None:
    state_dict[f"{prefix}note"] = 1


def assigned_tables(lib: Any, log: Log) -> None:
    module, x = doubling(lib), lib.ones(1)
    module.register_forward_hook(shifted)
    log(module(x))
    module._forward_hooks = type(module._state_dict_hooks)()
    log(module(x))
    module._forward_hooks[99] = shifted
    log(module(x))
    del module._forward_hooks[99]
    log(module(x))
    module._compiled_call_impl = lambda x: "compiled"
    log(module(x))
    module._compiled_call_impl = None
    log(module(x))


SCENARIOS = [
    forward_order, keyword_hooks, always_called, global_hooks, registration_hooks, backward_hooks,
    backward_hook_mistakes, hooks_that_remove_themselves, hooked_tensors_may_not_be_written,
    results_without_tensors, several_tensors, old_backward_hooks, copied_hooks, assigned_tables,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    # A global hook marks all modules as using one kind of backward hook, for good.
    torch.nn.modules.module._global_is_full_backward_hook = None
    thunk.nn.modules.module_hooks.everywhere.full_backward = None
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
