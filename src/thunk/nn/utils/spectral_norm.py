"""Enters: a module with a weight. Leaves: the weight divided by its largest stretch.

Invariant: the estimates of the singular vectors are buffers, improved in place by every forward in
training mode; the version that a state dict notes says that both vectors are in it.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.functional.norm import normalize
from thunk.nn.parameter import Parameter, UninitializedParameter
from thunk.ops.registry import t


def as_matrix(weight: Any, dim: int) -> Any:
    """The weight with `dim` as rows and everything else as columns."""
    if dim != 0:
        weight = weight.permute(dim, *[each for each in range(weight.dim()) if each != dim])
    return weight.reshape(weight.size(0), -1)


def default_dim(module: Any) -> int:
    """Where the outputs of a layer's weight are: transposed convolutions have them second."""
    names = {cls.__name__ for cls in type(module).__mro__}
    transposed = {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"}
    return 1 if names & transposed else 0


class SpectralNorm:
    """The forward pre-hook that computes one weight."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """The weight as a matrix whose rows are outputs."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight; with `do_power_iteration` the estimates are improved before."""
        weight = getattr(module, f"{self.name}_orig")
        left = getattr(module, f"{self.name}_u")
        right = getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad_recording():
                for _ in range(self.n_power_iterations):
                    right.copy_(normalize(t.mv(matrix.t(), left), dim=0, eps=self.eps))
                    left.copy_(normalize(t.mv(matrix, right), dim=0, eps=self.eps))
                # The next forward writes to the buffers; backward needs the values of this one.
                left, right = left.clone(), right.clone()
        return weight / t.dot(left, t.mv(matrix, right))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad_recording():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Any, left: Any, sigma: Any) -> Any:
        """The right vector for which `left @ matrix @ right` is `sigma`."""
        solved = (matrix.t().mm(matrix)).pinverse() @ (matrix.t() @ left)
        return solved.mul_(sigma / t.dot(left, t.mv(matrix, solved)))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Divide the weight called `name`."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad_recording():
            rows, columns = made.reshape_weight_to_matrix(weight).size()
            left, right = [
                normalize(weight.new_empty((size,)).normal_(0, 1), dim=0, eps=eps)
                for size in (rows, columns)
            ]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        # A plain attribute: code that reads it before the first forward finds a weight.
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", left)
        module.register_buffer(f"{name}_v", right)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Computes the right vector for state dicts from before it was stored."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        name = self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{name}.version")
        if version is not None and version >= 1:
            return
        key = prefix + name
        complete = all(f"{key}{suffix}" in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and complete and key not in state_dict:
            return
        absent = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if absent:
            missing_keys += absent if strict else []
            return
        with no_grad_recording():
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            left = state_dict[f"{key}_u"]
            state_dict[f"{key}_v"] = self.fn._solve_v_and_rescale(matrix, left, sigma)


class SpectralNormStateDictHook:
    """Notes the version in a state dict's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by an estimate of its largest singular value."""
    where = default_dim(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, where, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for table, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for number, hook in list(table.items()):
            inner = getattr(hook, "hook", hook)
            if isinstance(inner, kind) and inner.fn.name == name:
                del table[number]
    return module
