"""Enters: losses and an optimizer. Leaves: steps on gradients that did not underflow.

Invariant: an optimizer never steps on gradients that are infinite or NaN; its scale shrinks then.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase

_LIVE = ("cpu", "lazy")


class OptState(Enum):
    """Where an optimizer is between two updates of the scale."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@dataclass
class _Progress:
    """What happened to one optimizer since the last `update`."""

    stage: OptState = OptState.READY
    finite: Any = None  # a tensor: whether every gradient was; None before any was looked at


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, and adapts it.

    Float16 gradients of a small loss underflow to zero; scaled, they do not. With bfloat16 it is
    not needed, and `enabled=False` makes every method pass its argument through.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda":
            warnings.warn(
                "GradScaler: torch.cuda.amp.GradScaler is enabled, but CUDA is not available. "
                "Disabling.",
                UserWarning,
                stacklevel=2,
            )
        self._device = device
        self._enabled = bool(enabled) and device in _LIVE
        if self._enabled and not (growth_factor > 1.0 and 0.0 < backoff_factor < 1.0):
            raise AssertionError(
                "GradScaler: expected a growth factor above 1 and a backoff factor below 1, got "
                f"{growth_factor} and {backoff_factor}"
            )
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._progress: dict[int, _Progress] = {}

    def scale(self, outputs: Any) -> Any:
        """A loss, or losses in containers, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            return t.mul(outputs, self._scale)
        if isinstance(outputs, Iterable):
            made = [self.scale(each) for each in outputs]
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError(
            f"scale: expected a tensor or an iterable of Tensors, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to clip them say."""
        if not self._enabled:
            return
        progress = self._of(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = 1.0 / self._scale
        finite: Any = None
        for gradient in _gradients(optimizer):
            gradient.mul_(inverse)
            here = t.all(t.isfinite(gradient))
            finite = here if finite is None else t.logical_and(finite, here)
        progress.finite = finite
        progress.stage = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale if that was not done, then step unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        progress = self._of(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if progress.finite is None:
            raise AssertionError(
                "step: expected gradients, got No inf checks were recorded for this optimizer.; "
                "call backward() first"
            )
        progress.stage = OptState.STEPPED
        return optimizer.step(*args, **kwargs) if bool(progress.finite) else None

    def update(self, new_scale: Any = None) -> None:
        """Shrink the scale after a step that was skipped, grow it after many that were not."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
            self._progress.clear()
            return
        checks = [each.finite for each in self._progress.values() if each.finite is not None]
        if not checks:
            raise AssertionError(
                "update: expected a step, got No inf checks were recorded prior to update.; "
                "call step(optimizer) first"
            )
        if all(bool(each) for each in checks):
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        else:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        self._progress.clear()

    def _of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress())

    def get_scale(self) -> float:
        """The scale; 1 if disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By how much the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Change by how much the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By how much the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Change by how much the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Change after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it adapts, for a checkpoint."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "load_state_dict: expected a state, got The source state dict is empty, possibly "
                "because it was saved from a disabled instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _gradients(optimizer: Any) -> list[Any]:
    found = [
        parameter.grad
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]
    if any(str(each.dtype) == "torch.float16" for each in found):
        raise ValueError("Attempting to unscale FP16 gradients.")
    return found
