"""Optimizers, schedules of their learning rates, and averages of the parameters."""

from thunk.optim.adadelta import Adadelta
from thunk.optim.adagrad import Adagrad
from thunk.optim.adam import Adam
from thunk.optim.adamax import Adamax
from thunk.optim.adamw import AdamW
from thunk.optim.asgd import ASGD
from thunk.optim.nadam import NAdam
from thunk.optim.optimizer import Optimizer
from thunk.optim.radam import RAdam
from thunk.optim.rmsprop import RMSprop
from thunk.optim.rprop import Rprop
from thunk.optim.sgd import SGD

__all__ = [
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop",
]  # fmt: skip
