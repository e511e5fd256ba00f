"""Optimizers, schedules of their learning rates, and averages of the parameters."""

from thunk.optim import lr_scheduler, swa_utils
from thunk.optim._adafactor import Adafactor
from thunk.optim._muon import Muon
from thunk.optim.adadelta import Adadelta
from thunk.optim.adagrad import Adagrad
from thunk.optim.adam import Adam
from thunk.optim.adamax import Adamax
from thunk.optim.adamw import AdamW
from thunk.optim.asgd import ASGD
from thunk.optim.lbfgs import LBFGS
from thunk.optim.nadam import NAdam
from thunk.optim.optimizer import Optimizer
from thunk.optim.radam import RAdam
from thunk.optim.rmsprop import RMSprop
from thunk.optim.rprop import Rprop
from thunk.optim.sgd import SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon",
    "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler",
    "swa_utils",
]  # fmt: skip
