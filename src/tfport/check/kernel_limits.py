"""What kernels reject when they run.

No registration says this: each line was recorded from real binaries for x86-64 (`make truth`), those
of GPUs from 2.21 on an H200.
From 2.9 on TensorFlow uses oneDNN's kernels where the CPU has the instructions they need, and
those support it; so it depends on the machine, and was recorded with and without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tfport.atlas.target import Target
from tfport.check.devices import CPU, GPU
from tfport.check.release_quirks import since
from tfport.graph.attrs import Attr
from tfport.graph.constants import constant
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass

Attrs = Mapping[str, Attr]
NEVER, FIRST_ON_GPU = "99", "2.21"
NCHW, NCDHW, NHWC = "NCHW", "NCDHW", "NHWC"
BFLOAT16, FLOAT16 = DType.parse("bfloat16"), DType.parse("float16")
INT4 = (DType.parse("int4"), DType.parse("uint4"))
AUTO_SELECT = 3
STATIC_TABLES = ("HashTable", "HashTableV2")
ABORTS = "Check failed: dtype() == expected_dtype (9 vs. 3)"


@dataclass(frozen=True, slots=True)
class KernelLimit:
    """Something that the kernels of an op do not support."""

    ops: str
    applies: Callable[[Usage, Attrs], bool]
    says: str
    first: str = "0"
    until: str = "2.9"
    """The first release that supports it."""
    by_onednn: bool = True
    """Whether that is because oneDNN supports it."""
    without_onednn: str = NEVER
    """The first release that supports it without oneDNN too."""
    device: str = CPU
    about: str = ""
    """What is not supported: an attribute or a phrase (default: the first attribute that applies)."""
    cause: str = ""
    """Why (default: since which release it is supported)."""


def _layout(*layouts: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: attrs.get("data_format") in layouts


def is_dilated(usage: Usage, attrs: Attrs) -> bool:
    rates = attrs.get("dilations")
    return isinstance(rates, list) and any(rate != 1 for rate in rates)


def _uneven(usage: Usage, attrs: Attrs) -> bool:
    strides = attrs.get("strides")
    if not isinstance(strides, list) or len(strides) != 4:
        return False
    rows, columns = strides[2:] if attrs.get("data_format") == NCHW else strides[1:3]
    return bool(rows != columns)


def _grouped(usage: Usage, attrs: Attrs) -> bool:
    """Whether input and filter differ in their number of channels; False if the shapes are unknown."""
    image, kernel = usage.dims(usage.node, 0), usage.dims(usage.node, 1)
    if not image or not kernel or len(image) != 4 or len(kernel) != 4:
        return False
    depth = image[1] if attrs.get("data_format") == NCHW else image[3]
    return depth is not None and kernel[2] is not None and depth != kernel[2]


def _rank(is_unsupported: Callable[[int], bool], layout: str = "") -> Callable[[Usage, Attrs], bool]:
    """Whether the first input is known to have an unsupported rank, in this layout or in any."""

    def applies(usage: Usage, attrs: Attrs) -> bool:
        if layout not in ("", attrs.get("data_format")):
            return False
        known = (usage.dims(node, 0) for node in usage.nodes)
        return any(dims is not None and is_unsupported(len(dims)) for dims in known)

    return applies


def _passed_averages(usage: Usage, attrs: Attrs) -> bool:
    """Whether a training node is known to get a mean, which training does not use."""
    if not attrs.get("is_training", True) or attrs.get("exponential_avg_factor", 1) != 1:
        return False
    return any(usage.dims(node, 3) not in (None, (0,), (None,)) for node in usage.nodes)


def _static_table(usage: Usage, attrs: Attrs) -> bool:
    """Whether the graph shows that a table is static."""
    return any(node.inputs and node.inputs[0].node.op in STATIC_TABLES for node in usage.nodes)


def _long_paddings(usage: Usage, attrs: Attrs) -> bool:
    return attrs.get("Tpaddings") == INT64


def _fuses(*names: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: not _fused(attrs).isdisjoint(names)


def _fuses_more_than(*names: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: not _fused(attrs) <= set(names)


def _fused(attrs: Attrs) -> set[str]:
    names = attrs.get("fused_ops")
    listed = names if isinstance(names, list) else []
    return {name.decode() if isinstance(name, bytes) else str(name) for name in listed}


def _is_used(usage: Usage, attrs: Attrs) -> bool:
    return True


def _bfloat16(usage: Usage, attrs: Attrs) -> bool:
    return attrs.get("T") == BFLOAT16


def _int4(usage: Usage, attrs: Attrs) -> bool:
    return any(attrs.get(name) in INT4 for name in ("SrcT", "DstT"))


def _casts(*types: str, but: tuple[str, ...] = ()) -> Callable[[Usage, Attrs], bool]:
    """Whether it casts between two different types, at least one of `types` and none of `but`."""

    def applies(usage: Usage, attrs: Attrs) -> bool:
        names = {str(attrs.get(name)) for name in ("SrcT", "DstT")}
        return len(names) == 2 and not names.isdisjoint(types) and names.isdisjoint(but)

    return applies


def _fuses_without_half(*names: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: not _fused(attrs).isdisjoint(names) and attrs.get("T") != FLOAT16


def _projects(usage: Usage, attrs: Attrs) -> bool:
    return bool(attrs.get("num_proj", 0))


def _any_algorithm(usage: Usage, attrs: Attrs) -> bool:
    """Whether the release must choose the random algorithm, which earlier releases cannot."""
    for node in usage.nodes:
        algorithm = constant(node.inputs[-1]) if node.inputs else None
        if algorithm is not None and algorithm.dtype == INT32 and algorithm.numpy().tolist() == AUTO_SELECT:
            return True
    return False


def _on_gpu(
    ops: str,
    applies: Callable[[Usage, Attrs], bool],
    says: str,
    *,
    about: str = "",
    cause: str = "recorded from a real binary on an H200",
) -> KernelLimit:
    return KernelLimit(
        ops, applies, says, FIRST_ON_GPU, NEVER, by_onednn=False, device=GPU, about=about, cause=cause
    )


FUSION = "Fusion is not implemented"
NO_LEGACY_RNN = "cuDNN 9 has no longer the functions that it calls; CudnnRNNV3 calls others"
LIMITS = (
    KernelLimit("Conv2D", _layout(NCHW),
                "The Conv2D op currently only supports the NHWC tensor format on the CPU."),
    KernelLimit("Conv2D", is_dilated, "Generic conv implementation only supports dilated rate of 1 for now.",
                until="1.7", by_onednn=False),
    KernelLimit("Conv2D", _grouped,
                "The Conv2D op currently does not support grouped convolutions on the CPU.",
                until="2.5", by_onednn=False),
    KernelLimit("LookupTableImport LookupTableImportV2", _static_table,
                "ImportValues not supported by InitializableLookupTable implementations",
                until="1.11", by_onednn=False),
    KernelLimit("Pad", _long_paddings, ABORTS, first="1.4", until="1.5", by_onednn=False),
    KernelLimit("Pad", _long_paddings, ABORTS, first="1.8", until="1.10", by_onednn=False),
    KernelLimit("Conv2D FusedBatchNormV3", _bfloat16, "Missing 0-th output from the node", first="2.5"),
    KernelLimit("DepthwiseConv2dNative", _bfloat16, "Missing 0-th output from the node", first="2.5",
                without_onednn="2.10"),
    KernelLimit("Cast", _casts("bfloat16", but=("float32",)), "Cast bfloat16 to half is not supported",
                until="1.8", by_onednn=False),
    KernelLimit("Cast", _casts("uint32", "uint64", "qint8", "quint8", "qint16", "quint16", "qint32"),
                "Cast float to uint32 is not supported", until="1.11", by_onednn=False),
    KernelLimit("Cast", _int4, "Cast float to int4 is not supported", first="2.15", until=NEVER,
                by_onednn=False),
    KernelLimit("StatelessRandomGetKeyCounter StatelessRandomNormalV2 StatelessRandomUniformFullIntV2 "
                "StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2",
                _any_algorithm, "Unsupported algorithm id: 3", until="2.7", by_onednn=False),
    KernelLimit("Conv2DBackpropInput", _layout(NCHW), "Conv2DCustomBackpropInputOp only supports NHWC."),
    KernelLimit("Conv2DBackpropInput", is_dilated,
                "Current libxsmm and customized CPU implementations do not yet support dilation rates larger "
                "than 1."),
    KernelLimit("Conv3D", _layout(NCDHW),
                "CPU implementation of Conv3D currently only supports the NHWC tensor format."),
    KernelLimit("Conv3D", is_dilated,
                "CPU implementation of Conv3D currently only supports dilated rates of 1.", first="1.9"),
    KernelLimit("DepthwiseConv2dNative", _layout(NCHW),
                "Depthwise convolution on CPU is only supported for NHWC format"),
    KernelLimit("DepthwiseConv2dNative", _uneven,
                "Current implementation only supports equal length strides in the row and column "
                "dimensions."),
    KernelLimit("DepthwiseConv2dNative", is_dilated,
                "Current kernel implementation does not support dilations", first="2.10", until="2.10"),
    KernelLimit("MaxPool", _layout(NCHW), "Default MaxPoolingOp only supports NHWC on device type CPU"),
    KernelLimit("AvgPool", _layout(NCHW), "Default AvgPoolingOp only supports NHWC on device type CPU"),
    KernelLimit("MaxPool3D AvgPool3D", _layout(NCDHW),
                "Default Pooling3DOp only supports NDHWC on device type CPU"),
    KernelLimit("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", _layout(NCHW),
                "The CPU implementation of FusedBatchNorm only supports NHWC tensor format for now.",
                until="2.1", by_onednn=False),
    KernelLimit("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", _passed_averages,
                "estimated_mean must be empty for training", until="2.2", by_onednn=False,
                about="a mean that training does not use"),
    KernelLimit("MaxPoolV2", _layout(NCHW), "MaxPoolingV2Op only supports NHWC or NCHW_VECT_C. Got: NCHW",
                until=NEVER, by_onednn=False),
    KernelLimit("Softmax LogSoftmax", _rank(lambda rank: rank != 2), "logits must be 2-dimensional",
                until="1.11", by_onednn=False, about="an input that is not a matrix"),
    KernelLimit("BiasAdd BiasAddV1", _rank(lambda rank: rank > 5), "Only ranks up to 5 supported",
                until="2.7", by_onednn=False, about="more than 5 dimensions"),
    KernelLimit("BiasAdd", _rank(lambda rank: rank != 4, NCHW), "NCHW format supports only 4D input tensor.",
                until="1.13", by_onednn=False),
    KernelLimit("_FusedConv2D", _fuses("Relu6", "Elu"), FUSION, until="1.14", by_onednn=False,
                about="fused_ops"),
    KernelLimit("_FusedConv2D", _fuses("LeakyRelu"), FUSION, until="2.4", by_onednn=False, about="fused_ops"),
    KernelLimit("_FusedConv2D", _fuses("Add"), FUSION, about="fused_ops"),
    KernelLimit("_FusedConv2D", _fuses_more_than(
                    "BiasAdd", "FusedBatchNorm", "Add", "Relu", "Relu6", "Elu", "LeakyRelu"),
                FUSION, until=NEVER, by_onednn=False, about="fused_ops"),
    KernelLimit("_FusedConv2D", _layout(NCHW),
                "Fused conv implementation only supports NHWC tensor format for now."),
    KernelLimit("_FusedMatMul", _fuses("LeakyRelu"), FUSION, until="2.5", by_onednn=False, about="fused_ops"),
    # from 2.9 on with oneDNN, and from 2.16 on without it too
    KernelLimit("_FusedMatMul", _fuses("Tanh", "Sigmoid"), FUSION, by_onednn=False, about="fused_ops"),
    KernelLimit("_FusedMatMul", _fuses("GeluExact", "GeluApproximate"), FUSION, about="fused_ops"),
    KernelLimit("_FusedDepthwiseConv2dNative", _is_used, "Missing 0-th output from the node",
                about="every input"),
    KernelLimit("DepthToSpace SpaceToDepth", _layout(NCHW, "NCHW_VECT_C"),
                "Only NHWC data_format supported on CPU.", until="2.1", by_onednn=False),
    _on_gpu("DepthwiseConv2dNative", is_dilated, "Current kernel implementation does not support dilations"),
    _on_gpu("DepthwiseConv2dNative", _uneven,
            "Current implementation only supports equal length strides in the row and column dimensions."),
    _on_gpu("_FusedMatMul", _fuses("Elu", "LeakyRelu", "Relu6"), FUSION, about="fused_ops"),
    _on_gpu("_FusedMatMul", _fuses_without_half("GeluExact", "Tanh", "Sigmoid"),
            "Matmul with BiasAdd+GeluExact|Tanh|Sigmoid supports only DT_HALF data type.", about="fused_ops"),
    _on_gpu("CudnnRNN CudnnRNNV2 CudnnRNNV3", _bfloat16, "Invalid RNN data type: 7"),
    _on_gpu("CudnnRNN", _is_used, "Failed to call DoRnnForward with model config", about="every input",
            cause=NO_LEGACY_RNN),
    _on_gpu("CudnnRNNV2", _is_used, "No algorithm worked!", about="every input", cause=NO_LEGACY_RNN),
    _on_gpu("CudnnRNNV3", _projects, "Failed to call DoRnnForward with model config", about="num_proj",
            cause="recorded from a real binary on an H200"),
)  # fmt: skip
BY_OP: dict[str, list[KernelLimit]] = {}
for _limit in LIMITS:
    for _op in _limit.ops.split():
        BY_OP.setdefault(_op, []).append(_limit)


def has_limits(op: str) -> bool:
    """Whether kernels of an op reject something, which may depend on more than types."""
    return op in BY_OP


def kernel_limits(usage: Usage, target: Target, kind: str) -> Iterator[Unresolved]:
    """What the kernels of a target for this kind of device do not support in the nodes of a usage."""
    if usage.op not in BY_OP:
        return
    for limit in BY_OP[usage.op]:
        if limit.device == kind and since(target, limit.first):
            always = not since(target, limit.until)
            question = Question.KERNEL_LIMIT if always else Question.KERNEL_LIMIT_WITHOUT_ONEDNN
            sometimes = limit.by_onednn and not since(target, limit.without_onednn)
            if (always or sometimes) and limit.applies(usage, usage.attrs):
                yield Unresolved(question, expected=limit)
