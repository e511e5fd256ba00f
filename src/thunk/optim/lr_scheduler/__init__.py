"""Schedules: they change an optimizer's learning rates from epoch to epoch."""

from thunk.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from thunk.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from thunk.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from thunk.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from thunk.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from thunk.optim.lr_scheduler.functions import LambdaLR, MultiplicativeLR
from thunk.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR", "_LRScheduler",
]  # fmt: skip
