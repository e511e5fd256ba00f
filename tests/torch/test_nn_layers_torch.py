"""Modules of `nn` against torch: the same seed gives the same weights, results and gradients.

The configs are those of torch's own database of modules and of `layers/table.py`.
"""

from __future__ import annotations

import functools

import pytest
import torch
from tests.torch.layers import database, table
from tests.torch.layers.judge import Config, judge, judge_inference

# What torch may compute in another way when no gradient is wanted.
FAST_PATHS = (
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerEncoder",
    "TransformerEncoderLayer",
)  # fmt: skip

# Modules of the table that compute something else in evaluation.
DIFFER_IN_EVALUATION = ("BatchNorm", "InstanceNorm", "RReLU", "SyncBatchNorm")

own_configs = functools.cache(table.configs)


def judge_all(configs: list[Config], dtype: torch.dtype, training: bool) -> None:
    for config in configs:
        try:
            judge(config, dtype, training)
        except Exception as error:
            about = f"{config.name}{config.args} {config.kwargs} {config.about} train={training}"
            raise AssertionError(f"{about}: {error}") from error


@pytest.mark.parametrize("dtype", database.DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(database.entries()))
def test_a_module_of_the_database_is_torchs(name: str, dtype: torch.dtype) -> None:
    info = database.entries()[name]
    for training in (True, False) if info.train_and_eval_differ else (True,):
        judge_all(database.configs(name, dtype, training), dtype, training)


@pytest.mark.parametrize("dtype", database.DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(own_configs(torch.float32)))
def test_a_module_of_the_table_is_torchs(name: str, dtype: torch.dtype) -> None:
    for training in (True, False) if name.startswith(DIFFER_IN_EVALUATION) else (True,):
        judge_all(own_configs(dtype)[name], dtype, training)


@pytest.mark.parametrize("name", FAST_PATHS)
def test_inference_is_torchs(name: str) -> None:
    configs = own_configs(torch.float64).get(name, [])
    if name in database.entries():
        configs = configs + database.configs(name, torch.float64, False)
    assert configs
    for config in configs:
        judge_inference(config, torch.float64)
