"""The table of options of each operator of TensorFlow Lite that is written and has one."""

from __future__ import annotations

_OPS = {
    "AddOptions": "ADD", "ArgMaxOptions": "ARG_MAX", "ArgMinOptions": "ARG_MIN",
    "BatchMatMulOptions": "BATCH_MATMUL", "BroadcastToOptions": "BROADCAST_TO",
    "CallOnceOptions": "CALL_ONCE", "CastOptions": "CAST", "ConcatenationOptions": "CONCATENATION",
    "Conv2DOptions": "CONV_2D", "Conv3DOptions": "CONV_3D CONV_3D_TRANSPOSE",
    "CumsumOptions": "CUMSUM", "DepthToSpaceOptions": "DEPTH_TO_SPACE",
    "DepthwiseConv2DOptions": "DEPTHWISE_CONV_2D", "DivOptions": "DIV",
    "FullyConnectedOptions": "FULLY_CONNECTED", "GatherOptions": "GATHER", "GeluOptions": "GELU",
    "HashtableOptions": "HASHTABLE", "VarHandleOptions": "VAR_HANDLE",
    "RandomOptions": "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM",
    "IfOptions": "IF", "LeakyReluOptions": "LEAKY_RELU", "MaximumMinimumOptions": "MAXIMUM MINIMUM",
    "MirrorPadOptions": "MIRROR_PAD", "MulOptions": "MUL", "OneHotOptions": "ONE_HOT",
    "PadOptions": "PAD", "PadV2Options": "PADV2", "Pool2DOptions": "AVERAGE_POOL_2D MAX_POOL_2D",
    "ReducerOptions": "MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD SUM",
    "ReshapeOptions": "RESHAPE", "ResizeBilinearOptions": "RESIZE_BILINEAR",
    "ResizeNearestNeighborOptions": "RESIZE_NEAREST_NEIGHBOR", "ReverseSequenceOptions": "REVERSE_SEQUENCE",
    "ReverseV2Options": "REVERSE_V2",
    "ShapeOptions": "SHAPE", "SliceOptions": "SLICE", "SoftmaxOptions": "SOFTMAX",
    "SpaceToDepthOptions": "SPACE_TO_DEPTH", "SplitOptions": "SPLIT", "SplitVOptions": "SPLIT_V",
    "SqueezeOptions": "SQUEEZE",
    "StridedSliceOptions": "STRIDED_SLICE", "SubOptions": "SUB", "TransposeConvOptions": "TRANSPOSE_CONV",
    "TransposeOptions": "TRANSPOSE", "UnidirectionalSequenceLSTMOptions": "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "WhileOptions": "WHILE",
}  # fmt: skip
OPTIONS = {op: table for table, ops in _OPS.items() for op in ops.split()}
