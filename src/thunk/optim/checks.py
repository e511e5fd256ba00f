"""Enters: the options of an optimizer. Leaves: nothing, or a complaint about the first bad one."""

from __future__ import annotations

from typing import Any

from thunk.types.tensor_base import TensorBase


def check_lr(name: str, lr: Any) -> None:
    """A learning rate is a number or a tensor of one, and not negative."""
    _check_single(name, "lr", lr)
    check_at_least_zero(name, lr=lr)


def _check_single(name: str, option: str, value: Any) -> None:
    if isinstance(value, TensorBase) and value._spec.numel != 1:
        raise ValueError(
            f"{name}: Tensor {option} must be 1-element: got shape {tuple(value._spec.shape)}"
        )


def check_at_least_zero(name: str, **options: Any) -> None:
    """Refuse the first option below zero."""
    for option, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"{name}: expected {option} of at least 0, got {value}")


def check_betas(name: str, betas: Any) -> None:
    """Decay rates are in [0, 1)."""
    for index, beta in enumerate(betas):
        _check_single(name, f"betas[{index}]", beta)
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{name}: expected betas[{index}] in [0, 1), got {beta}")


def check_modes(
    name: str, *, foreach: bool | None = None, fused: bool | None = None,
    differentiable: bool = False,
) -> None:  # fmt: skip
    """The ways in which PyTorch runs a step exclude each other."""
    if fused and differentiable:
        raise RuntimeError(f"{name}: `fused` does not support `differentiable`; choose one")
    if fused and foreach:
        raise RuntimeError(f"{name}: `fused` and `foreach` cannot be `True` together; choose one")


def check_no_tensor_with_foreach(
    name: str, option: str, value: Any, foreach: bool | None, capturable: bool
) -> None:
    """PyTorch's many-tensor kernels take plain numbers only."""
    if isinstance(value, TensorBase) and foreach and not capturable:
        raise ValueError(
            f"{name}: {option} as a Tensor is not supported for capturable=False and foreach=True; "
            "pass a number"
        )
