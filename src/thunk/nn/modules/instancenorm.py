"""Instance normalisation: the channels of each sample normalised on their own.

Enters: (sample, channel, places) or one sample of it. Leaves: the same. Invariant: running
statistics are kept only where asked for.
"""

from __future__ import annotations

import warnings
from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """Instance normalisation of any number of places."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = False, track_running_stats: bool = False, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        raise NotImplementedError(
            f"{type(self).__name__}: expected a subclass that defines _get_no_batch_dim, such as "
            "InstanceNorm2d"
        )

    def _check_input_dim(self, input: Any) -> None:
        count = self._get_no_batch_dim()
        if input.dim() not in (count, count + 1):
            raise ValueError(
                f"expected {count}D or {count + 1}D input (got {input.dim()}D input)"
            )

    def _apply_instance_norm(self, input: Any) -> Any:
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
        strict: bool, missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = [f"{prefix}{name}" for name in ("running_mean", "running_var")]
            names = [name for name in names if name in state_dict]
            if names:
                kind = type(self).__name__
                quoted = " and ".join(f'"{name}"' for name in names)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {quoted} for {kind} with "
                    "track_running_stats=False. Checkpoints from before version 0.4.0 have them; "
                    "remove these keys from the state dict, or set track_running_stats=True if "
                    "they are needed."
                )
            for name in names:
                state_dict.pop(name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Any) -> Any:
        """Each sample's channels with mean 0 and variance 1, scaled and shifted if asked for."""
        self._check_input_dim(input)
        batched = input.dim() > self._get_no_batch_dim()
        place = 1 if batched else 0
        if input.size(place) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={place} to match num_features "
                    f"({self.num_features}), but got: {input.size(place)}."
                )
            warnings.warn(
                f"input's size at dim={place} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if batched:
            return self._apply_instance_norm(input)
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of signals."""

    def _get_no_batch_dim(self) -> int:
        return 2


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of pictures."""

    def _get_no_batch_dim(self) -> int:
        return 3


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes."""

    def _get_no_batch_dim(self) -> int:
        return 4
