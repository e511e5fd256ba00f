"""Enters: a dataset, a number of processes and a rank. Leaves: the indices of that rank's share.

Invariant: the shares of all ranks have one length and together cover the dataset, except for what
`drop_last` drops; seed and epoch alone decide the order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from thunk.data.dataset import size_of
from thunk.data.sampler import Sampler
from thunk.ops.registry import t
from thunk.tensor.generator import Generator


class DistributedSampler(Sampler[int]):
    """The share of the samples that one of several processes reads.

    Without `num_replicas` and `rank` there is one process, which reads all of them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        replicas = 1 if num_replicas is None else num_replicas
        place = 0 if rank is None else rank
        if not 0 <= place < replicas:
            raise ValueError(
                f"DistributedSampler: Invalid rank {place}, rank should be in the interval "
                f"[0, {replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = replicas
        self.rank = place
        self.epoch = 0
        self.drop_last = drop_last
        count = size_of(dataset)
        self.num_samples = count // replicas if drop_last else math.ceil(count / replicas)
        self.total_size = self.num_samples * replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = size_of(self.dataset)
        order: list[int] = list(range(count))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = t.randperm(count, generator=generator).tolist()
        padded = itertools.islice(itertools.cycle(order), self.total_size)
        return itertools.islice(padded, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order: call it with a new number before every pass."""
        self.epoch = epoch
