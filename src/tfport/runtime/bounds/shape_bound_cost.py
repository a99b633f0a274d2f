"""Whether only the shapes of the inputs decide how much is computed, and not their values."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.runtime.operand import Operand
from tfport.runtime.program import Step

_STEADY = """
    _FusedConv2D _FusedDepthwiseConv2dNative _FusedMatMul Abs Add AddN AddV2 ArgMax ArgMin AvgPool
    BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchNormWithGlobalNormalization BiasAdd BiasAddV1 Cast Ceil
    ConcatV2 Const Conv2D Conv3D DepthwiseConv2dNative DivNoNan Einsum Elu Equal Erf Exp ExpandDims
    Expm1 Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Gather GatherV2
    Greater GreaterEqual Identity IdentityN LRN LeakyRelu Less LessEqual Log Log1p LogSoftmax LogicalAnd
    LogicalNot LogicalOr MatMul Max MaxPool MaxPoolV2 Maximum Mean Min Minimum Mul MulNoNan Neg NoOp
    NotEqual Pack PartitionedCall Placeholder Pow Prod ReadVariableOp RealDiv Reciprocal Relu Relu6
    Reshape Round Rsqrt Select SelectV2 Selu Shape Sigmoid Sign Snapshot Softmax Softplus Softsign Split
    SplitV Sqrt Square SquaredDifference Squeeze StatefulPartitionedCall StopGradient StridedSlice Sub
    Sum Tanh TopKV2 Transpose Unpack VarHandleOp VariableV2
"""
STEADY_OPS = frozenset(_STEADY.split())
"""Ops whose work does not depend on values, which a client chooses; not `Tile`, `Range` or `While`."""
_RECURRENT = """
    All Any Cumsum GRU GatherNd LSTM OnesLike RNN ResourceGather ReverseV2 TensorListStack ZerosLike
"""
_STEADY_STEPS = STEADY_OPS | frozenset(_RECURRENT.split())
"""And those of recurrent layers, which were loops."""
_SIZE_OPS = """
    AddV2 Cast ConcatV2 ExpandDims GatherV2 Maximum Minimum Mul Pack Prod Squeeze StridedSlice Sub
"""
_SIZES = frozenset(_SIZE_OPS.split())
"""Ops that make sizes of others."""


def has_steady_work(steps: Iterable[Step]) -> bool:
    """Whether the values of the inputs do not matter to how much the steps of a program compute."""
    sizes: set[Operand] = set()
    """What is computed of shapes only."""
    for step in steps:
        of_shapes = [operand.is_constant or operand in sizes for operand in step.inputs]
        if step.op == "Shape" or (step.op in _SIZES and all(of_shapes)):
            sizes.update(step.outputs)
        if step.op not in _STEADY_STEPS and not (step.op == "Fill" and of_shapes[0]):
            return False
    return True
