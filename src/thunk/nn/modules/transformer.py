"""Transformers: an encoder and a decoder of layers; the layers have a file of their own.

Enters: sequences of (length, sample, features), samples first with `batch_first`, or one sample.
Leaves: sequences of the same shape as the target. Invariant: whether a mask is causal is never read
from its values; `is_causal=True` says so.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from thunk.autograd import is_grad_enabled
from thunk.nn import functional as F
from thunk.nn.functional.attention_inputs import _canonical_mask, _none_or_dtype
from thunk.nn.init import xavier_uniform_
from thunk.nn.modules.container import ModuleList
from thunk.nn.modules.module import Module
from thunk.nn.modules.normalization import LayerNorm
from thunk.nn.modules.transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from thunk.nn.modules.transformer_layers import _get_activation_fn as _get_activation_fn
from thunk.nn.modules.utils import at_home
from thunk.ops.registry import t

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

at_home(__name__, TransformerDecoderLayer, TransformerEncoderLayer)


def _generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Any:
    """Minus infinity for every later element, zero for the others."""
    later = t.full((size, size), float("-inf"), dtype=dtype, device=device)
    return t.triu(later, 1)


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _why_not_nested(layer: Any) -> str:
    """Why inference cannot leave padding out for layers like this one, or nothing."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, f"{name}.norm_first was True"),
        (
            not attention.batch_first,
            f"{name}.self_attn.batch_first was not True"
            "(use batch_first for better inference performance)",
        ),
        (
            not attention._qkv_same_embed_dim,
            f"{name}.self_attn._qkv_same_embed_dim was not True",
        ),
        (attention.in_proj_bias is None, f"{name}.self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, f"{name}.activation_relu_or_gelu was not True"),
        (
            layer.norm1.eps != layer.norm2.eps,
            f"{name}.norm1.eps was not equal to {name}.norm2.eps",
        ),
        (attention.num_heads % 2 == 1, f"{name}.self_attn.num_heads is odd"),
    )
    return next((reason for holds, reason in reasons if holds), "")


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other."""

    def __init__(
        self, encoder_layer: Any, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{reason}",
                stacklevel=2,
            )
            self.use_nested_tensor = False

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:  # fmt: skip
        """The source encoded by every layer in turn."""
        padding = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        output = src
        for layer in self.layers:
            output = layer(
                output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=padding
            )
        if padding is not None and self._leaves_padding_out(src, mask):
            output = _without_padding(output, padding)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Any, mask: Any) -> bool:
        """Whether PyTorch would run on nested tensors, whose padding comes back as zeros."""
        first: Any = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or mask is not None:
            return False
        tensors = [src, *first.parameters()]
        return not (is_grad_enabled() and any(each.requires_grad for each in tensors))


def _without_padding(output: Any, padding: Any) -> Any:
    """Zeros where there was padding, if it is at the end of every sequence."""
    hidden = t.lt(padding, 0)
    at_end = t.all(t.ge(hidden[:, 1:], hidden[:, :-1]))
    return t.masked_fill(output, (hidden & at_end).unsqueeze(-1), 0.0)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other."""

    def __init__(
        self, decoder_layer: Any, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """The target decoded by every layer in turn."""
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of sources and a decoder of targets that attends to them."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = F.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        layer = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        norm: dict[str, Any] = {
            "eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype,
        }  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            encoder_layer = TransformerEncoderLayer(*layer)
            self.encoder = TransformerEncoder(
                encoder_layer, num_encoder_layers, LayerNorm(d_model, **norm)
            )
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            decoder_layer = TransformerDecoderLayer(*layer)
            self.decoder = TransformerDecoder(
                decoder_layer, num_decoder_layers, LayerNorm(d_model, **norm)
            )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None,
        memory_mask: Any = None, src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """The target decoded from the encoded source."""
        place = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(place) != tgt.size(place):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """A mask that hides later elements: minus infinity above the diagonal."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
