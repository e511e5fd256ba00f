"""Enters: a module and tensors by path. Leaves: what the module computes with those in place.

Invariant: the module has its own tensors again afterwards, whatever happened inside.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from thunk.nn.modules.tables import MISSING
from thunk.types.tensor_base import TensorBase

__all__ = ["functional_call"]


def _swapped(module: Any, path: str, tensor: Any) -> Any:
    """Put `tensor` at `path` and return what was there; MISSING stands for nothing."""
    if tensor is not MISSING and tensor is not None and not isinstance(tensor, TensorBase):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    holder, _, name = path.rpartition(".")
    owner = module.get_submodule(holder)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            old = table[name]
            if tensor is MISSING:
                del table[name]
            else:
                table[name] = tensor
            return old
    old = getattr(owner, name, MISSING)
    if old is not MISSING and old is not None and not isinstance(old, TensorBase):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is not MISSING:
        setattr(owner, name, tensor)
    elif old is not MISSING:
        delattr(owner, name)
    return old


def _swap_all(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """What was at the paths before; on an error everything is put back."""
    before: dict[str, Any] = {}
    try:
        for path, tensor in tensors.items():
            before[path] = _swapped(module, path, tensor)
    except BaseException:
        for path, tensor in reversed(before.items()):
            _swapped(module, path, tensor)
        raise
    return before


def _named_tensors(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """`tensors`, given under every path of a tensor that the module holds under several."""
    paths_of: dict[Any, list[str]] = {}
    for path, tensor in _named_tensors(module).items():
        paths_of.setdefault(tensor, []).append(path)
    result = dict(tensors)
    for paths in paths_of.values():
        given = [path for path in paths if path in tensors]
        if len(paths) == 1 or not given:
            continue
        if len({id(tensors[path]) for path in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(paths)}, which are tied. "
                "Consider using tie_weights=False"
            )
        result.update(dict.fromkeys(paths, tensors[given[0]]))
    return result


def _check_strictly(module: Any, tensors: dict[str, Any]) -> None:
    own = _named_tensors(module)
    lines = []
    unexpected = [repr(path) for path in sorted(tensors.keys() - own.keys())]
    missing = [repr(path) for path in sorted(own.keys() - tensors.keys())]
    if unexpected:
        lines.append(f"Unexpected key(s): {', '.join(unexpected)}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join(missing)}.")
    if lines:
        raise RuntimeError(
            "Error(s) in reparametrizing for {}:\n\t{}".format(
                module._get_name(), "\n\t".join(lines)
            )
        )


@contextlib.contextmanager
def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Any], tie_weights: bool = False,
    strict: bool = False,
) -> Iterator[None]:  # fmt: skip
    """Inside the block the module holds the given tensors; `parameters_and_buffers` receives those
    that its forward put in their place."""
    tensors = parameters_and_buffers
    if tie_weights:
        tensors = _with_tied(module, tensors)
    if strict:
        _check_strictly(module, tensors)
    before = _swap_all(module, tensors)
    try:
        yield
    finally:
        after = _swap_all(module, dict(reversed(before.items())))
        parameters_and_buffers.update(
            {path: after[path] for path in parameters_and_buffers if path in after}
        )


def _functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call `module` with other tensors in the place of its own."""
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


def functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """The older home of `func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated; use "
        "`torch.func.functional_call`, which takes the same arguments",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
