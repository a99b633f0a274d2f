"""Shape rules of products, convolutions, pooling, losses, recurrent cells and linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.graph.op_facts.compared import matrix_product
from tfport.graph.op_facts.rule import (
    VECTOR,
    Dim,
    Dims,
    OpCall,
    Outputs,
    broadcast,
    merge_dims,
    shape_in,
    shape_rule,
    unknown_of_rank,
)

LAYOUTS = ("NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW")
_NAMED_LAYOUTS = {"CHANNELS_LAST": ("NWC", "NHWC", "NDHWC"), "CHANNELS_FIRST": ("NCW", "NCHW", "NCDHW")}

# Products


@shape_rule("SparseMatMul _FusedMatMul")
def product(call: OpCall) -> Outputs:
    return matrix_product(call)


@shape_rule("BatchMatMul BatchMatMulV2 BatchMatMulV3 LiteBatchMatMul")
def products(call: OpCall) -> Outputs:
    x, y = call.shapes[:2]
    if x is None or y is None or len(x) < 2 or len(y) < 2:
        return [None]
    batch = broadcast(x[:-2], y[:-2])
    rows, columns = x[-1 if call.attr("adj_x") else -2], y[-2 if call.attr("adj_y") else -1]
    return [None if batch is None else (*batch, rows, columns)]


@shape_rule("Einsum")
def einsum(call: OpCall) -> Outputs:
    terms, arrow, result = str(call.attr("equation", "")).replace(" ", "").partition("->")
    parts = terms.split(",")
    if not arrow or len(parts) != len(call.shapes):
        return [None]
    sizes: dict[str, Dim] = {}
    others: Dims | None = ()
    for part, shape in zip(parts, call.shapes, strict=True):
        before, dots, after = part.partition("...")
        if shape is None:
            others = None if dots else others
            continue
        covered = len(shape) - len(before) - len(after)
        if covered < 0 or (covered and not dots):
            return [None]
        end = len(before) + covered
        for label, size in zip(before + after, (*shape[: len(before)], *shape[end:]), strict=True):
            sizes[label] = merge_dims(sizes.get(label), size)
        others = others if others is None else broadcast(others, shape[len(before) : end])
    before, dots, after = result.partition("...")
    if dots and others is None:
        return [None]
    middle = (others or ()) if dots else ()
    return [(*map(sizes.get, before), *middle, *map(sizes.get, after))]


# Windows over images


@shape_rule("Addons>CorrelationCost CorrelationCost")
def correlated(call: OpCall) -> Outputs:
    image = call.shapes[0]
    if image is None or len(image) != 4:
        return [(None,) * 4]
    border = call.attr("max_displacement") + call.attr("kernel_size") // 2 - call.attr("pad")
    sizes = image[1:3] if call.attr("data_format", "NHWC") == "NHWC" else image[2:]
    counts = (None if n is None else -((2 * border - n) // call.attr("stride_1")) for n in sizes)
    moves = 2 * (call.attr("max_displacement") // call.attr("stride_2")) + 1
    return [(image[0], moves * moves, *counts)]


@shape_rule("Conv2D Conv3D _FusedConv2D Conv")
def convolved(call: OpCall) -> Outputs:
    filter = call.shapes[1]
    return [_windows(call, filter and filter[:-2], filter[-1] if filter else None)]


@shape_rule("DepthwiseConv2dNative FusedDepthwiseConv2dNative _FusedDepthwiseConv2dNative")
def convolved_by_channel(call: OpCall) -> Outputs:
    filter = call.shapes[1]
    channels = None
    if filter and len(filter) == 4 and filter[2] is not None and filter[3] is not None:
        channels = filter[2] * filter[3]
    return [_windows(call, filter and filter[:2], channels)]


@shape_rule("AvgPool AvgPool3D MaxPool MaxPool3D MaxPoolV2")
def pooled(call: OpCall) -> Outputs:
    layout, x = _layout(call), call.shapes[0]
    sizes = call.integers(1) if call.op == "MaxPoolV2" else call.attr("ksize")
    if layout is None:
        return [None]
    sizes = sizes if sizes and len(sizes) == len(layout) else None
    kernel = [sizes[axis] for axis in _spatial(layout)] if sizes else None
    axis = layout.index("C")
    same = sizes is not None and sizes[axis] == 1  # else windows over channels
    return [_windows(call, kernel, x[axis] if same and x and axis < len(x) else None)]


def _layout(call: OpCall) -> str | None:
    layout = str(call.attr("data_format", "NHWC"))
    if layout in _NAMED_LAYOUTS:
        rank = len(call.shapes[1] or ())
        return next((name for name in _NAMED_LAYOUTS[layout] if len(name) == rank), None)
    return layout if layout in LAYOUTS else None


def _spatial(layout: str) -> list[int]:
    return [axis for axis, letter in enumerate(layout) if letter not in "NC"]


def _windows(call: OpCall, kernel: Sequence[Dim] | None, channels: Dim) -> Dims | None:
    """A batch of images in the layout of the op, which has this rank whatever is known about its input."""
    layout, x = _layout(call), call.shapes[0]
    if call.attr("batch_dims", 1) != 1:
        return unknown_of_rank(x)
    if layout is None:
        return None
    sizes: list[Dim] = [None] * len(layout)
    sizes[layout.index("C")] = channels
    if x is None or len(x) != len(layout):
        sizes[0] = x[0] if x else None
        return tuple(sizes)
    strides = call.integers(2) if call.op == "MaxPoolV2" else call.attr("strides")
    dilations = call.attr("dilations") or [1] * len(layout)
    padding, explicit = call.attr("padding"), call.attr("explicit_paddings") or [0] * 2 * len(layout)
    if isinstance(padding, list):  # `_FusedConv2D` of some releases
        padding = None
    sizes[0] = x[0]
    if not strides or len(strides) != len(layout) or len(dilations) != len(layout):
        return tuple(sizes)
    for i, axis in enumerate(_spatial(layout)):
        size, k = x[axis], kernel[i] if kernel is not None and i < len(kernel) else None
        if padding == "EXPLICIT" and size is not None and len(explicit) == 2 * len(layout):
            size += explicit[2 * axis] + explicit[2 * axis + 1]
        sizes[axis] = window_count(size, k, strides[axis], dilations[axis], padding)
    return tuple(sizes)


def window_count(size: Dim, kernel: Dim, stride: int, dilation: int, padding: str | None) -> Dim:
    if size is None or stride < 1:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if kernel is None or padding not in ("VALID", "EXPLICIT"):
        return None
    number = (size - (kernel - 1) * dilation - 1) // stride + 1
    return number if number >= 0 else None


@shape_rule(
    "Conv2DBackpropInput Conv2DBackpropInputV2 Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput"
)
def convolved_back(call: OpCall) -> Outputs:
    wanted, layout = call.elements(0), _layout(call)
    filter, outer = call.shapes[1], call.shapes[2] if len(call.shapes) > 2 else None
    if layout is None:
        return [None]
    if call.shapes[0] is not None and len(call.shapes[0]) == len(layout):
        return [call.shapes[0]]  # of V2: the images themselves
    if wanted is not None and len(wanted) == len(layout):
        return [shape_in(call, 0)]
    sizes: list[Dim] = [None] * len(layout)
    sizes[0] = outer[0] if outer else None
    if wanted is not None and len(wanted) == len(layout) - 2:
        for axis, size in zip(_spatial(layout), wanted, strict=True):
            sizes[axis] = size
        if not call.op.startswith("Depthwise"):
            sizes[layout.index("C")] = filter[-2] if filter else None
    return [tuple(sizes)]


@shape_rule("L2Loss")
def scalar(call: OpCall) -> Outputs:
    return [()]


@shape_rule("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
def loss_and_gradient(call: OpCall) -> Outputs:
    x, y = call.shapes
    whole = x if call.op.startswith("Sparse") else broadcast(x, y)
    return [whole[:1], whole] if whole is not None and len(whole) == 2 else [VECTOR, (None, None)]


# Recurrent cells


@shape_rule("LSTMBlockCell")
def lstm_cell(call: OpCall) -> Outputs:
    return [call.shapes[1]] * 7


@shape_rule("GRUBlockCell")
def gru_cell(call: OpCall) -> Outputs:
    return [call.shapes[1]] * 4


@shape_rule("CudnnRNN CudnnRNNV2 CudnnRNNV3")
def cudnn_rnn(call: OpCall) -> Outputs:
    x, h = call.shapes[:2]
    out: Dims | None = None
    if x is not None and h is not None and len(x) == len(h) == 3:
        units = h[2]
        out = (x[0], x[1], units and units * (2 if call.attr("direction") == "bidirectional" else 1))
    cell = h if call.attr("rnn_mode", "lstm") == "lstm" else None
    return [out, h, cell, *[VECTOR] * (1 if call.op == "CudnnRNN" else 2)]


# Linear algebra


@shape_rule(
    "BatchMatrixBandPart BatchMatrixSetDiag Cholesky CholeskyGrad MatrixBandPart MatrixExponential "
    "MatrixInverse MatrixLogarithm MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSquareRoot"
)
def same(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule("MatrixSolve TridiagonalSolve")
def solved(call: OpCall) -> Outputs:
    return [call.shapes[1]]


@shape_rule("MatrixDeterminant")
def batch_of_matrices(call: OpCall) -> Outputs:
    x = call.shapes[0]
    return [x[:-2] if x else None]


@shape_rule("MatrixDiag BatchMatrixDiag")
def with_diagonal(call: OpCall) -> Outputs:
    x = call.shapes[0]
    return [(*x, x[-1]) if x else None]


@shape_rule("MatrixDiagPart BatchMatrixDiagPart")
def main_diagonal(call: OpCall) -> Outputs:
    x = call.shapes[0]
    if x is None or len(x) < 2:
        return [None]
    return [(*x[:-2], _least(x[-2], x[-1]))]


def _least(a: Dim, b: Dim) -> Dim:
    return None if a is None or b is None else min(a, b)


@shape_rule("MatrixDiagPartV2 MatrixDiagPartV3")
def diagonals(call: OpCall) -> Outputs:
    x, k = call.shapes[0], call.integers(1)
    if x is None or len(x) < 2:
        return [None]
    if not k:
        return [unknown_of_rank(x[:-1]) if call.shapes[1] == () else None]
    rows, columns = x[-2:]
    length = None if rows is None or columns is None else min(rows + min(k[-1], 0), columns - max(k[0], 0))
    return [(*x[:-2], length) if k[0] == k[-1] else (*x[:-2], k[-1] - k[0] + 1, length)]


@shape_rule("MatrixDiagV2 MatrixDiagV3")
def with_diagonals(call: OpCall) -> Outputs:
    x, k = call.shapes[0], call.integers(1)
    if not x:
        return [None]
    if not k:
        return [(None,) * (len(x) + 1) if call.shapes[1] == () else None]
    batch = x[:-1] if k[0] == k[-1] else x[:-2]
    known = [call.integers(index) for index in (2, 3)]
    if x[-1] is None or not all(known):
        return [(*batch, None, None)]
    rows, columns = (numbers[0] for numbers in known if numbers)
    least_rows, least_columns = x[-1] - min(k[-1], 0), x[-1] + max(k[0], 0)
    if rows < 0 and columns < 0:
        rows = columns = max(least_rows, least_columns)
    return [(*batch, least_rows if rows < 0 else rows, least_columns if columns < 0 else columns)]


# Signals


@shape_rule("FFT IFFT FFT2D IFFT2D FFT3D IFFT3D")
def transformed(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule("RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D")
def transformed_real(call: OpCall) -> Outputs:
    return [unknown_of_rank(call.shapes[0])]


@shape_rule("AudioSpectrogram Mfcc")
def channels_and_frames(call: OpCall) -> Outputs:
    return [(None, None, None)]


@shape_rule("DecodeWav")
def sound(call: OpCall) -> Outputs:
    return [(None, None), ()]
