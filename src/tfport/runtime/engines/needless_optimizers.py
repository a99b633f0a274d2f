"""Which optimizers of ONNX Runtime cannot change a model, because it has none of the ops that they look for.

Each of about fifty optimizers visits every node, those of loops and branches too, several times. For a graph
of thousands of nodes this takes most of the time to open a session, and most optimizers are for quantized
models and transformers. The table names for each the ops without which it does nothing, together with those
from which an earlier optimizer makes such an op (a layer normalization is made of `ReduceMean`).
"""

from __future__ import annotations

from tfport.runtime.passes.islands.normalization import IS_SLOW as LAYER_NORM_IS_SLOW

_QUANTIZED = ("QuantizeLinear", "DequantizeLinear")
_NORMALIZED = (
    "ReduceMean", "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization",
    "RMSNormalization",
)  # fmt: skip
_PRODUCTS = ("MatMul", "FusedMatMul", "Gemm")
_OPS_OF_OPTIMIZERS: dict[str, tuple[str, ...]] = {
    "DoubleQDQPairsRemover": _QUANTIZED,
    "EnsureUniqueDQForNodeUnit": _QUANTIZED,
    "QDQFinalCleanupTransformer": _QUANTIZED,
    "QDQPropagationTransformer": _QUANTIZED,
    "QDQSelectorActionTransformer": _QUANTIZED,
    "WeightBiasQuantization": _QUANTIZED,
    "WhereDummyDq": _QUANTIZED,
    "MatMulNBitsFusion": (*_QUANTIZED, "MatMulNBits"),
    "DynamicQuantizeMatMulFusion": ("MatMulInteger", "MatMulIntegerToFloat"),
    "MatMulIntegerToFloatFusion": ("MatMulInteger",),
    "GeluFusionL1": ("Erf",),
    "GeluFusionL2": ("Erf",),
    "FastGeluFusion": ("Tanh",),
    "QuickGeluFusion": ("Sigmoid",),
    "BiasGeluFusion": ("Erf", "Tanh", "Gelu", "FastGelu"),
    "LayerNormFusionL1": ("ReduceMean",),
    "LayerNormFusionL2": ("ReduceMean",),
    "SimplifiedLayerNormFusion": ("ReduceMean",),
    "SkipLayerNormFusion": _NORMALIZED,
    "BiasSkipLayerNormFusion": _NORMALIZED,
    "EmbedLayerNormFusion": _NORMALIZED,
    "AttentionFusion": ("Softmax",),
    "BiasSoftmaxFusion": ("Softmax",),
    "BiasDropoutFusion": ("Dropout",),
    "GroupQueryAttentionFusion": ("GroupQueryAttention",),
    "GroupQueryAttentionPreNormFusion": ("GroupQueryAttention",),
    "MatMulAddFusion": ("MatMul",),
    "MatMulScaleFusion": _PRODUCTS,
    "MatmulTransposeFusion": _PRODUCTS,
    "MatMulActivationFusion": _PRODUCTS,
    "GemmActivationFusion": _PRODUCTS,
    "SliceConcatToSpaceToDepthFusion": ("Slice",),
    "GatherSliceToSplitFusion": ("Gather", "Slice"),
    "GatherToSliceFusion": ("Gather",),
}
_DONE = ("CommonSubexpressionElimination",)
"""What the pass `equal_nodes` has done."""
_SLOW = ("LayerNormFusionL1", "LayerNormFusionL2", "SimplifiedLayerNormFusion")
_HARMFUL = _SLOW if LAYER_NORM_IS_SLOW else ()
"""What would make slow nodes of those that the pass `fast_layer_norm` makes."""
_SCALED = "MatMulScaleFusion"
"""Makes the factor of a product a float32 attribute: a float64 product loses half of its digits."""
_FLOAT64_TENSOR = b"\x10\x0b\x42"
"""In a TensorProto: the field of the data type with DOUBLE, then that of the name."""
_GENERAL = ("ConstantFolding", "Level1_RuleBasedTransformer")
"""Optimizers of any nodes. tfport has done most of what they do; the little that is left is for each an
occasion to let all optimizers visit all nodes again."""
LARGE = 400_000
"""In bytes without weights, more than 2,000 nodes: the general optimizers take longer than what they save."""
_OP_TYPE = 0x22
"""Before the op of a NodeProto: field 4, of a given length."""


def needless_optimizers(model: bytes) -> list[str]:
    """The optimizers that would change nothing in a model, too little in a large one, or for the worse."""
    ops = {op for ops in _OPS_OF_OPTIMIZERS.values() for op in ops}
    present = {op for op in ops if bytes([_OP_TYPE, len(op)]) + op.encode() in model}
    needless = [name for name, ops_of_it in _OPS_OF_OPTIMIZERS.items() if present.isdisjoint(ops_of_it)]
    needless += [_SCALED] if _FLOAT64_TENSOR in model else []
    return [*_DONE, *{*needless, *_HARMFUL}, *(_GENERAL if len(model) > LARGE else ())]
