"""Shape rules of ops on records, strings, sparse and ragged tensors, images, and of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.graph.dtypes import DType
from tfport.graph.op_facts.compared import reduced
from tfport.graph.op_facts.networks import window_count
from tfport.graph.op_facts.rule import (
    VECTOR,
    Dim,
    Dims,
    OpCall,
    Outputs,
    broadcast,
    count,
    shape_in,
    shape_rule,
    unknown_of_rank,
)
from tfport.graph.shapes import Shape

# Examples


def _sparse(rank: int, number: int) -> Outputs:
    """The indices, values and shapes of a number of sparse tensors of the same rank."""
    indices: Dims = (None, rank)
    return [*[indices] * number, *[VECTOR] * number, *[(rank,)] * number]


def _dense(call: OpCall, name: str, outer: Dims) -> Outputs:
    return [None if shape.dims is None else (*outer, *shape.dims) for shape in call.attr(name)]


def _number(call: OpCall, name: str) -> int:
    return len(call.attr(name, ()))


@shape_rule("ParseExample")
def parse_example(call: OpCall) -> Outputs:
    rows = call.shapes[0] or VECTOR
    return _sparse(2, _number(call, "sparse_types")) + _dense(call, "dense_shapes", rows)


@shape_rule("ParseExampleV2")
def parse_example_v2(call: OpCall) -> Outputs:
    outer = call.shapes[0]
    sparse, ragged = _number(call, "sparse_types"), _number(call, "ragged_value_types")
    if outer is None:
        return [None] * (3 * sparse + _number(call, "dense_shapes") + 2 * ragged)
    return _sparse(1 + len(outer), sparse) + _dense(call, "dense_shapes", outer) + [VECTOR] * (2 * ragged)


@shape_rule("ParseSingleExample")
def parse_single_example(call: OpCall) -> Outputs:
    return _sparse(1, _number(call, "sparse_types")) + _dense(call, "dense_shapes", ())


@shape_rule("ParseSequenceExample")
def parse_sequence_example(call: OpCall) -> Outputs:
    rows = call.shapes[0] or VECTOR
    return [
        *_sparse(2, _number(call, "context_sparse_types")),
        *_dense(call, "context_dense_shapes", rows),
        *_sparse(3, _number(call, "feature_list_sparse_types")),
        *_dense(call, "feature_list_dense_shapes", (*rows, None)),
        *[rows] * _number(call, "feature_list_dense_types"),
    ]


@shape_rule("ParseSingleSequenceExample")
def parse_single_sequence_example(call: OpCall) -> Outputs:
    return [
        *_sparse(1, _number(call, "context_sparse_types")),
        *_dense(call, "context_dense_shapes", ()),
        *_sparse(2, _number(call, "feature_list_sparse_types")),
        *_dense(call, "feature_list_dense_shapes", VECTOR),
    ]


@shape_rule("DatasetToSingleElement IteratorGetNext IteratorGetNextSync")
def element(call: OpCall) -> Outputs:
    return declared_ranks(call.attr("output_types"), call.attr("output_shapes"))


def declared_ranks(types: Sequence[DType], shapes: Sequence[Shape]) -> Outputs:
    """The ranks that an op declares for the element it returns; unknown for variants."""
    return [
        None if dtype.name == "variant" else unknown_of_rank(shape.dims)
        for dtype, shape in zip(types, shapes, strict=True)
    ]


# Strings


@shape_rule("Substr")
def substrings(call: OpCall) -> Outputs:
    return [broadcast(call.shapes[0], call.shapes[1])]


@shape_rule("StringJoin")
def joined(call: OpCall) -> Outputs:
    """All inputs have one shape, except scalars."""
    if None in call.shapes:
        return [None]
    return [next((shape for shape in call.shapes if shape), ())]


# Sparse and ragged


def _rank(sizes: Dims | None) -> Dim:
    return sizes[0] if sizes else None


@shape_rule("SparseToDense")
def sparse_to_dense(call: OpCall) -> Outputs:
    return [shape_in(call, 1)]


@shape_rule("SparseTensorDenseMatMul")
def sparse_product(call: OpCall) -> Outputs:
    shape, dense = shape_in(call, 2), call.shapes[3]
    height = None if shape is None else shape[1 if call.attr("adjoint_a") else 0]
    width = None if dense is None else dense[0 if call.attr("adjoint_b") else 1]
    return [(height, width)]


@shape_rule("SparseTensorDenseAdd")
def sparse_dense_sum(call: OpCall) -> Outputs:
    return [call.shapes[3]]


@shape_rule("SparseReshape")
def sparse_reshaped(call: OpCall) -> Outputs:
    rank = _rank(call.shapes[2])
    return [(_rank(call.shapes[0]), rank), (rank,)]


@shape_rule("SparseFillEmptyRows")
def sparse_filled(call: OpCall) -> Outputs:
    return [(None, _rank(call.shapes[2])), VECTOR, VECTOR, call.shapes[1]]


@shape_rule("SparseReorder SparseSlice SparseConcat SparseAdd")
def sparse_like_the_first(call: OpCall) -> Outputs:
    indices = call.shapes[0]
    rank = indices[1] if indices is not None and len(indices) == 2 else None
    parts: Outputs = [(None, rank), VECTOR, (rank,)]
    return parts[:2] if call.op == "SparseReorder" else parts


@shape_rule("RaggedTensorToTensor")
def ragged_to_tensor(call: OpCall) -> Outputs:
    shape, values = shape_in(call, 0), call.shapes[1]
    types = call.attr("row_partition_types")
    if shape is None and values is not None:
        levels = len(types) - (types[:1] == ["FIRST_DIM_SIZE"])
        shape = (None,) * (1 + levels) + values[1:]
    return [shape]


@shape_rule("RaggedGather RaggedTensorFromVariant")
def ragged_parts(call: OpCall) -> Outputs:
    splits: int = call.attr("OUTPUT_RAGGED_RANK" if call.op == "RaggedGather" else "output_ragged_rank")
    values = call.shapes[-2] if len(call.shapes) > 1 else None
    return [*[VECTOR] * splits, None if values is None else (None, *values[1:])]


# Images


@shape_rule("DecodeJpeg DecodeAndCropJpeg DecodePng DecodeBmp")
def picture(call: OpCall) -> Outputs:
    return [(None, None, call.attr("channels") or None)]


@shape_rule("DecodeGif")
def frames(call: OpCall) -> Outputs:
    return [(None, None, None, 3)]


@shape_rule(
    "RGBToHSV HSVToRGB AdjustSaturation AdjustHue AdjustContrastv2 AdjustContrast AdjustHsvInYiq "
    "Addons>AdjustHsvInYiq EuclideanDistanceTransform Addons>EuclideanDistanceTransform "
    "ImageConnectedComponents Addons>ImageConnectedComponents"
)
def recolored(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule(
    "ResizeNearestNeighbor ResizeBilinear ResizeBicubic ResizeArea ScaleAndTranslate LiteResizeBilinear"
)
def resized(call: OpCall) -> Outputs:
    batch, _, _, channels = _image(call.shapes[0])
    return [(batch, *_height_and_width(call, 1), channels)]


def _image(shape: Dims | None) -> Dims:
    return shape if shape is not None and len(shape) == 4 else (None,) * 4


def _height_and_width(call: OpCall, index: int) -> Dims:
    known = call.elements(index)
    return known if known is not None and len(known) == 2 else (None, None)


@shape_rule("CropAndResize")
def cropped(call: OpCall) -> Outputs:
    boxes = call.shapes[1]
    number = boxes[0] if boxes is not None and len(boxes) == 2 else None
    number = call.length(2) if number is None else number
    return [(number, *_height_and_width(call, 3), _image(call.shapes[0])[3])]


@shape_rule("ImageProjectiveTransformV2 ImageProjectiveTransformV3 Addons>ImageProjectiveTransformV2")
def projected(call: OpCall) -> Outputs:
    batch, _, _, channels = _image(call.shapes[0])
    return [(batch, *_height_and_width(call, 2), channels)]


@shape_rule("Addons>Resampler")
def sampled(call: OpCall) -> Outputs:
    points = call.shapes[1]
    return [None if points is None else (*points[:-1], _image(call.shapes[0])[3])]


@shape_rule("ExtractImagePatches ExtractVolumePatches")
def patches(call: OpCall) -> Outputs:
    x, sizes = call.shapes[0], call.attr("ksizes")
    x = x if x is not None and len(x) == len(sizes) else (None,) * len(sizes)
    rates, strides = call.attr("rates") or [1] * len(sizes), call.attr("strides")
    windows = zip(x, sizes, strides, rates, strict=True)
    counts = [window_count(*window, call.attr("padding")) for window in windows]
    return [(x[0], *counts[1:-1], None if x[-1] is None else count((x[-1], *sizes)))]


@shape_rule("ExtractGlimpse ExtractGlimpseV2")
def glimpses(call: OpCall) -> Outputs:
    return [(None,) * 4]


@shape_rule(
    "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionWithOverlaps LiteSkipGram"
)
def vector(call: OpCall) -> Outputs:
    return [VECTOR]


@shape_rule("NonMaxSuppressionV4")
def indices_and_number(call: OpCall) -> Outputs:
    return [VECTOR, ()]


@shape_rule("NonMaxSuppressionV5")
def indices_scores_and_number(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, ()]


@shape_rule("CombinedNonMaxSuppression")
def detections(call: OpCall) -> Outputs:
    batch = call.shapes[0][0] if call.shapes[0] else None
    return [(batch, None, 4), (batch, None), (batch, None), (batch,)]


# Random numbers and boosted trees


@shape_rule(
    "StatelessRandomUniform StatelessRandomUniformInt StatelessRandomUniformFullInt StatelessRandomNormal "
    "StatelessTruncatedNormal StatelessRandomUniformV2 StatelessRandomUniformIntV2 StatelessRandomNormalV2 "
    "StatelessRandomUniformFullIntV2 StatelessTruncatedNormalV2 StatelessRandomGammaV2 "
    "StatelessRandomGammaV3 StatelessRandomPoisson StatelessRandomBinomial "
    "StatelessParameterizedTruncatedNormal RandomUniform RandomUniformInt RandomStandardNormal "
    "TruncatedNormal ParameterizedTruncatedNormal"
)
def random(call: OpCall) -> Outputs:
    return [shape_in(call, 0)]


@shape_rule("BoostedTreesPredict")
def tree_logits(call: OpCall) -> Outputs:
    return [(None, call.attr("logits_dimension"))]


@shape_rule("SimpleMLInferenceOp SimpleMLInferenceOpWithHandle")
def forest_predictions(call: OpCall) -> Outputs:
    # features that a model lacks have no rows, so no input alone says how many there are
    return [(None, call.attr("dense_output_dim")), (call.attr("dense_output_dim"),)]


@shape_rule("SimpleMLInferenceLeafIndexOpWithHandle")
def forest_leaves(call: OpCall) -> Outputs:
    return [(None, None)]


# Atoms (DeePMD-kit)


def _frames(call: OpCall) -> Dim:
    return call.shapes[0][0] if call.shapes[0] else None


@shape_rule("ProdEnvMatA DescrptSeA DescrptNorot ProdEnvMatR DescrptSeR ProdEnvMatAMix DescrptSeAMask")
def environments(call: OpCall) -> Outputs:
    return [(_frames(call), None)] * (6 if call.op == "ProdEnvMatAMix" else 4)


@shape_rule("ProdForceSeA ProdForceNorot ProdForceSeR ProdForceSeAMask")
def atom_forces(call: OpCall) -> Outputs:
    return [(_frames(call), None)]


@shape_rule("ProdVirialSeA ProdVirialNorot ProdVirialSeR")
def atom_virials(call: OpCall) -> Outputs:
    return [(_frames(call), 9), (_frames(call), None)]


@shape_rule("BoostedTreesBucketize")
def tree_buckets(call: OpCall) -> Outputs:
    return list(call.shapes[: call.attr("num_features")])


# TensorFlow Lite


@shape_rule(
    "LiteDequantize LiteFunction LiteHybridInput LiteL2Normalization LiteLogSoftmax LiteLookup LiteQuantize "
    "LiteRescale LiteSigned LiteSoftmax LiteUnsigned"
)
def lite_same(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule("LiteAdd LiteMul LitePrelu LiteSquaredDifference LiteDiv LiteAddPowersOfTwo")
def lite_broadcast(call: OpCall) -> Outputs:
    return [broadcast(call.shapes[0], call.shapes[1])]


@shape_rule("LiteMean LiteProd")
def lite_reduced(call: OpCall) -> Outputs:
    return reduced(call)


@shape_rule("LiteConv LiteAveragePool")
def lite_windows(call: OpCall) -> Outputs:
    x, filter = _image(call.shapes[0]), call.shapes[1] if call.op == "LiteConv" else None
    sizes: Sequence[Dim] = call.attr("ksize") if call.op == "LiteAveragePool" else (filter or (None,) * 4)[:2]
    dilations, padding = call.attr("dilations") or (1, 1), call.attr("padding")
    windows = [
        window_count(size, k, stride, dilation, padding)
        for size, k, stride, dilation in zip(x[1:3], sizes, call.attr("strides"), dilations, strict=True)
    ]
    channels = x[3] if call.op == "LiteAveragePool" else filter[3] if filter and len(filter) == 4 else None
    return [(x[0], *windows, channels)]


@shape_rule("LiteTransposeConv")
def lite_transposed_windows(call: OpCall) -> Outputs:
    return [shape_in(call, 0) or (None,) * 4]


@shape_rule("TFLite_Detection_PostProcess")
def lite_detections(call: OpCall) -> Outputs:
    each = 1 if call.attr("use_regular_nms") else call.attr("max_classes_per_detection")
    number = call.attr("max_detections") * each
    return [(1, number, 4), (1, number), (1, number), (1,)]


@shape_rule("LiteLstm LiteRnn")
def lite_sequence(call: OpCall) -> Outputs:
    lstm = call.op == "LiteLstm"
    sequence, state = call.shapes[0], call.shapes[-2 if lstm else -1]
    steps = None if sequence is None or state is None else (sequence[0], *state)
    return [steps, state, call.shapes[-1]] if lstm else [steps, state]
