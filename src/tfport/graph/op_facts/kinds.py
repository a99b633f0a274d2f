"""What kind of op an op is: elementwise, broadcasting, reducing, passing its input on.

Everything that treats ops of a kind alike reads these names. The shape rules are beside this module, and
are found by `compared.shape_rule_of`.
"""

from __future__ import annotations

COMPARED_UNARY = (
    "Identity StopGradient PreventGradient Snapshot CheckNumerics ZerosLike OnesLike Cast Abs Acos Acosh "
    "Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv Invert IsFinite IsInf "
    "IsNan LeakyRelu Lgamma Log Log1p LogicalNot Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid "
    "Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh"
)
"""Ops of one tensor, each element by itself; all releases were compared with."""
OTHER_UNARY = (
    "Angle BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e "
    "BesselY0 BesselY1 Bucketize CheckNumericsV2 ClipByValue ComplexAbs Conj Dawsn Erfinv Expint "
    "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FresnelCos FresnelSin Imag Ndtri PopulationCount Real "
    "Spence AsString RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace StringLength "
    "StringLower StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong "
    "StringToNumber StringUpper UnicodeScript UnicodeTranscode Gelu Addons>Gelu Addons>Mish Addons>Lisht "
    "Addons>Tanhshrink Addons>Hardshrink Addons>Softshrink"
)
"""More of them; what they read beside the tensor are scalars."""
COMPARED_BROADCASTING = (
    "Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow Maximum Minimum "
    "SquaredDifference Atan2 Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr Complex DivNoNan "
    "MulNoNan Xdivy Xlogy"
)
"""Ops of several tensors, broadcast against each other; all releases were compared with."""
OTHER_BROADCASTING = (
    "Xlog1py NextAfter Igamma Igammac IgammaGradA RandomGammaGrad Betainc Zeta Polygamma ApproximateEqual "
    "SelectV2 LeftShift RightShift Prelu"
)
BITWISE = "BitwiseAnd BitwiseOr BitwiseXor"
COMPARISONS = "Equal NotEqual"
"""They may accept shapes that do not fit: then the answer is a scalar."""
MERGED_GRADIENTS = "ReluGrad Relu6Grad EluGrad SeluGrad"
OTHER_GRADIENTS = "SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad"
MORE_GRADIENTS = "LeakyReluGrad ReciprocalGrad SoftplusGrad SoftsignGrad"
SUMS = "AddN AccumulateNV2"
"""Of tensors of one shape, element by element."""
REDUCTIONS = "Sum Mean Prod Max Min All Any"
OTHER_REDUCTIONS = "EuclideanNorm"

UNARY = frozenset(f"{COMPARED_UNARY} {OTHER_UNARY}".split())
"""Each element of the output is a function of one element of the first input, and of scalars."""
BROADCASTING = frozenset(f"{COMPARED_BROADCASTING} {OTHER_BROADCASTING} {BITWISE} {COMPARISONS}".split())
"""Each element of the output is a function of the elements of all inputs at its index, after broadcasting."""
ALIKE = frozenset(f"{MERGED_GRADIENTS} {OTHER_GRADIENTS} {MORE_GRADIENTS} {SUMS}".split())
"""The same of inputs that all have the shape of the output."""
ELEMENTWISE = UNARY | BROADCASTING | ALIKE
PASSING = frozenset("Identity StopGradient PreventGradient Snapshot EnsureShape".split())  # noqa: SIM905
"""The output is the first input."""
MOVING = frozenset(
    ["Concat", "ConcatV2", "ExpandDims", "Gather", "GatherNd", "GatherV2", "Pack", "Reshape", "Slice",
     "Split", "SplitV", "Squeeze", "StridedSlice", "Transpose", "Unpack"]
)  # fmt: skip
"""The output consists of elements of the inputs, at most one for each index or element that is read."""
SHAPE_OPS = ("Shape", "ShapeN", "Size", "Rank")
"""The output follows from the shapes of the inputs."""

SWITCHES, MERGES = ("Switch", "RefSwitch"), ("Merge", "RefMerge")
ENTERS, EXITS, NEXTS = ("Enter", "RefEnter"), ("Exit", "RefExit"), ("NextIteration", "RefNextIteration")
"""The control flow of TF1: nodes that run in one branch or in each iteration, and the ends of these parts."""
ALL_SWITCHES = (*SWITCHES, "_SwitchN")
IFS, CASES, WHILES = ("If", "StatelessIf"), ("Case", "StatelessCase"), ("While", "StatelessWhile")
BRANCHING = (*IFS, *CASES)
FUNCTIONAL = (*BRANCHING, *WHILES)
"""The control flow of TF2: nodes that call functions."""
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
TENSORRT_ENGINE = "TRTEngineOp"
"""A part of the graph that TensorRT computes; the graph keeps the part as a function too."""
