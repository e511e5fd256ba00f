"""Which family an entry of the database belongs to, and which entries are outside the oracle.

In: an OpInfo. Out: a family's name as in `src/thunk/ops`, or the stated reason to leave it out.
"""

from __future__ import annotations

from typing import Any

# First match wins: a name listed here, then its namespace, then the class of its OpInfo.
NAMES: dict[str, str] = {
    "creation": """
        arange linspace logspace empty_like zeros_like ones_like full_like new_zeros new_ones ones
        zeros full new_empty new_empty_strided empty_strided empty eye empty_permuted
        scalar_tensor new_full triu_indices tril_indices cartesian_prod combinations
        item clone contiguous complex polar fill zero_ alias_copy""",
    "random": """
        cauchy exponential geometric log_normal normal uniform randn randn_like rand_like randint
        randint_like multinomial bernoulli nn.functional.dropout nn.functional.dropout2d
        nn.functional.dropout3d nn.functional.alpha_dropout
        nn.functional.feature_alpha_dropout native_dropout_backward""",
    "cast": "to bfloat16 bool byte char double float half int long short cdouble cfloat chalf",
    "matmul": """
        addmm addmv addbmm baddbmm dot vdot bmm mv addr mm matmul __rmatmul__ einsum inner outer
        tensordot kron nn.functional.linear nn.functional.bilinear cdist
        nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward""",
    "linalg": """
        cholesky cholesky_inverse cholesky_solve geqrf lu lu_solve lu_unpack matrix_exp ormqr qr
        triangular_solve svd svd_lowrank pca_lowrank pinverse logdet trace cov corrcoef cross""",
    "reduce": """
        max.reduction_with_dim max.reduction_no_dim min.reduction_with_dim min.reduction_no_dim
        median nanmedian var_mean std_mean quantile nanquantile aminmax mode logsumexp norm dist
        equal allclose cumsum cumprod cummax cummin logcumsumexp softmax log_softmax diff gradient
        trapz trapezoid cumulative_trapezoid renorm histc histogram histogramdd bincount
        nn.functional.softmin _segment_reduce""",
    "sort": """
        sort topk msort argsort kthvalue unique unique_consecutive isin bucketize searchsorted""",
    "pointwise": """
        addcmul addcdiv clamp lerp logaddexp2 where conj nn.functional.relu nn.functional.hardswish
        nn.functional.leaky_relu nn.functional.glu nn.functional.elu nn.functional.prelu
        nn.functional.celu nn.functional.rrelu nn.functional.selu nn.functional.silu
        nn.functional.hardsigmoid nn.functional.logsigmoid nn.functional.mish
        nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold
        nn.functional.softshrink nn.functional.hardshrink nn.functional.hardtanh
        nn.functional.gelu nn.functional.relu6 nn.functional.softplus""",
    "index": """
        gather index_fill index_copy index_select index_add index_reduce _unsafe_masked_index
        _unsafe_masked_index_put_accumulate __getitem__ index_put put take scatter scatter_add
        scatter_reduce masked_fill masked_scatter masked_select take_along_dim nonzero
        nonzero_static argwhere repeat_interleave unravel_index nn.functional.one_hot
        nn.functional.embedding nn.functional.embedding_bag tril triu""",
    "conv": """
        nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
        nn.functional.conv_transpose1d nn.functional.conv_transpose2d
        nn.functional.conv_transpose3d nn.functional.unfold nn.functional.fold""",
    "norm": """
        native_group_norm native_layer_norm native_batch_norm _native_batch_norm_legit
        _batch_norm_with_update nn.functional.group_norm nn.functional.instance_norm
        nn.functional.layer_norm nn.functional.rms_norm nn.functional.local_response_norm
        nn.functional.batch_norm nn.functional.normalize""",
    "pool": """
        max_pool2d_with_indices_backward nn.functional.interpolate nn.functional.upsample_bilinear
        nn.functional.upsample_nearest _upsample_bilinear2d_aa grid_sampler_2d grid_sampler_3d
        nn.functional.grid_sample nn.functional.pad constant_pad_nd nn.functional.pixel_shuffle
        nn.functional.pixel_unshuffle nn.functional.channel_shuffle""",
    "loss": """
        nn.functional.cross_entropy nn.functional.linear_cross_entropy
        nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
        nn.functional.ctc_loss nn.functional.kl_div nn.functional.cosine_similarity
        nn.functional.pdist nn.functional.pairwise_distance
        nn.functional.triplet_margin_with_distance_loss""",
    "fft": "stft istft",
}
NAMESPACES = {
    "linalg.": "linalg", "fft.": "fft", "special.": "special", "masked.": "masked",
    "signal.": "signal",
}
CLASSES = {
    "UnaryUfuncInfo": "pointwise", "BinaryUfuncInfo": "pointwise", "ReductionOpInfo": "reduce",
    "SpectralFuncInfo": "fft",
}
FAMILY_OF_NAME = {name: family for family, names in NAMES.items() for name in names.split()}
FAMILIES = sorted({*NAMES, *NAMESPACES.values(), "view", "outside"})

OUTSIDE_PREFIXES = {
    "jiterator_": "CUDA run-time kernels",
    "torch.ops.aten.": "internal kernels of torch.ops.aten without a public name",
    "torch._scaled_mm": "float8 matrix product of accelerators",
    "sparse.": "sparse layouts",
}
OUTSIDE = {
    "to_sparse": "sparse layouts",
    "chalf": "complex32",
    "hash_tensor": "a checksum of raw bits, private to torch",
    "_softmax_backward_data": "internal backward kernel without a public name",
    "max_pool2d_with_indices_backward": "internal kernel; public as the gradient of max_pool2d",
    "native_dropout_backward": "internal backward kernel without a public name",
    "_upsample_bilinear2d_aa": "internal kernel; public through interpolate(antialias=True)",
    "_batch_norm_with_update": "internal kernel; public through batch_norm",
    "_native_batch_norm_legit": "internal kernel; public through batch_norm",
    "_segment_reduce": "private prototype",
    "slice": "internal kernel; public through indexing",
    "_unsafe_masked_index": "private helper of torch's compiler",
    "_unsafe_masked_index_put_accumulate": "private helper of torch's compiler",
    "_chunk_cat": "private helper of torch's sharding",
    "bmm.triton_optimized": "CUDA only",
}


def family_of(info: Any) -> str:
    """The family of an OpInfo; `view` is what remains."""
    if outside_reason(info) is not None:
        return "outside"
    for name in (info.full_name, info.name):
        if name in FAMILY_OF_NAME:
            return FAMILY_OF_NAME[name]
    if info.name.endswith("_loss"):
        return "loss"
    if "_pool" in info.name or "_unpool" in info.name:
        return "pool"
    for prefix, family in NAMESPACES.items():
        if info.name.startswith(prefix):
            return family
    return CLASSES.get(type(info).__name__, "view")


def outside_reason(info: Any) -> str | None:
    """Why an entry is not judged here, or None."""
    for name in (info.full_name, info.name):
        if name in OUTSIDE:
            return OUTSIDE[name]
    for prefix, reason in OUTSIDE_PREFIXES.items():
        if info.name.startswith(prefix):
            return reason
    if not info.dtypes:
        return "no CPU dtype"
    return None
