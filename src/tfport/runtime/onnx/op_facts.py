"""What kind of op an ONNX op is, for the ONNX builder and the passes over its nodes."""

from __future__ import annotations

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu "
    "HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink "
    "Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
)
"""Elementwise ops with one tensor; further inputs are scalars."""
TOGETHER = (
    "Add Sub Mul Div Mod Pow Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Where Max Min Sum Mean "
    "BitShift BitwiseAnd BitwiseOr BitwiseXor PRelu"
)
"""Elementwise ops that broadcast their inputs."""
REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)
MOVES = (
    "Concat DepthToSpace Expand Flatten Gather GatherND Identity Pad Reshape Slice SpaceToDepth Split "
    "Squeeze Tile Transpose Unsqueeze"
)
"""Ops whose output consists of elements of their inputs."""
