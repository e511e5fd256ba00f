"""The layers of transformers; `transformer` is where users find them.

Enters: sequences of (length, sample, features), samples first with `batch_first`, or one sample.
Leaves: sequences of the same shape. Invariant: every block adds to its input; norms stand before
the blocks with `norm_first`, behind the sums otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.nn import functional as F
from thunk.nn.functional.attention_inputs import _canonical_mask, _none_or_dtype
from thunk.nn.modules.activation import GELU, MultiheadAttention, ReLU
from thunk.nn.modules.dropout import Dropout
from thunk.nn.modules.linear import Linear
from thunk.nn.modules.module import Module
from thunk.nn.modules.normalization import LayerNorm

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]


def _get_activation_fn(activation: str) -> Callable[[Any], Any]:
    """The function of an activation's name."""
    found: dict[str, Any] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in found:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    function: Callable[[Any], Any] = found[activation]
    return function


class _Layer(Module):
    """What both kinds of layers have."""

    activation: Any

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": F.relu, **state})


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then two linear maps."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = F.relu, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        function = _get_activation_fn(activation) if isinstance(activation, str) else activation
        self.activation_relu_or_gelu = 0
        if function is F.relu or isinstance(function, ReLU):
            self.activation_relu_or_gelu = 1
        elif function is F.gelu or isinstance(function, GELU):
            self.activation_relu_or_gelu = 2
        self.activation = function

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """The source with what each element attended to."""
        padding = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(src_mask), "src_mask",
            src.dtype,
        )  # fmt: skip
        mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        masks = (mask, padding, is_causal)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *masks))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        mixed, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )  # fmt: skip
        return self.dropout1(mixed)

    def _ff_block(self, x: Any) -> Any:
        inner = self.dropout(self.activation(self.linear1(x)))
        return self.dropout2(self.linear2(inner))


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, to a memory, then two linear maps."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = F.relu, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        place: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **place
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        if isinstance(activation, str):
            self.activation = _get_activation_fn(activation)
        else:
            self.activation = activation

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """The target with what each element attended to, in itself and in the memory."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(
        self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        mixed, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
            need_weights=False,
        )  # fmt: skip
        return self.dropout1(mixed)

    def _mha_block(
        self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        mixed, _ = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
            is_causal=is_causal, need_weights=False,
        )  # fmt: skip
        return self.dropout2(mixed)

    def _ff_block(self, x: Any) -> Any:
        inner = self.dropout(self.activation(self.linear1(x)))
        return self.dropout3(self.linear2(inner))
