"""Losses as modules, under PyTorch's file name; each group has a file of its own."""

from thunk.nn.modules.loss_base import _Loss, _WeightedLoss
from thunk.nn.modules.loss_distance import GaussianNLLLoss, HuberLoss, L1Loss, MSELoss, SmoothL1Loss
from thunk.nn.modules.loss_likelihood import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    CTCLoss,
    KLDivLoss,
    LinearCrossEntropyLoss,
    NLLLoss,
    NLLLoss2d,
    PoissonNLLLoss,
)
from thunk.nn.modules.loss_margin import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from thunk.nn.modules.utils import at_home

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip

at_home(__name__, _Loss, _WeightedLoss, *(globals()[name] for name in __all__))
