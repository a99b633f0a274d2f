"""What kernels for the CPU refuse when they run, though they are registered for it. Finding 305.

No registration tells: each line was watched on real binaries for x86-64 (`make truth`).
From 2.9 on TensorFlow puts oneDNN's kernels in their place, which do it, where the CPU has
what they are made for; so it depends on the machine, and was watched with them and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.trouble import Trouble, answers
from tfport.check.release_quirks import since
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.edit import constant
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

Attrs = Mapping[str, Attr]
NEVER = "99"
NCHW, NCDHW, NHWC = "NCHW", "NCDHW", "NHWC"
BFLOAT16 = DType.parse("bfloat16")
INT4 = (DType.parse("int4"), DType.parse("uint4"))
AUTO_SELECT = 3
STATIC_TABLES = ("HashTable", "HashTableV2")
ABORTS = "Check failed: dtype() == expected_dtype (9 vs. 3)"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that the kernels of an op do not do."""

    ops: str
    asks: Callable[[Usage, Attrs], bool]
    says: str
    first: str = "0"
    until: str = "2.9"
    """The first release that does it."""
    by_onednn: bool = True
    """Whether that is because another library does it."""
    about: str = ""
    """What is refused: an attribute, or words; found among the attributes where nothing is said."""


def _layout(*layouts: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: attrs.get("data_format") in layouts


def _dilated(usage: Usage, attrs: Attrs) -> bool:
    rates = attrs.get("dilations")
    return isinstance(rates, list) and any(rate != 1 for rate in rates)


def _uneven(usage: Usage, attrs: Attrs) -> bool:
    strides = attrs.get("strides")
    if not isinstance(strides, list) or len(strides) != 4:
        return False
    rows, columns = strides[2:] if attrs.get("data_format") == NCHW else strides[1:3]
    return bool(rows != columns)


def _grouped(usage: Usage, attrs: Attrs) -> bool:
    """Whether the input has more channels than the filter takes, as far as shapes are known."""
    image, kernel = usage.dims(usage.node, 0), usage.dims(usage.node, 1)
    if not image or not kernel or len(image) != 4 or len(kernel) != 4:
        return False
    depth = image[1] if attrs.get("data_format") == NCHW else image[3]
    return depth is not None and kernel[2] is not None and depth != kernel[2]


def _rank(is_refused: Callable[[int], bool], layout: str = "") -> Callable[[Usage, Attrs], bool]:
    """Whether the first input is known to have such a rank, in this layout or in any."""

    def asks(usage: Usage, attrs: Attrs) -> bool:
        if layout not in ("", attrs.get("data_format")):
            return False
        known = (usage.dims(node, 0) for node in usage.nodes)
        return any(dims is not None and is_refused(len(dims)) for dims in known)

    return asks


def _given_averages(usage: Usage, attrs: Attrs) -> bool:
    """Whether training is known to be given means that it does not use."""
    if not attrs.get("is_training", True) or attrs.get("exponential_avg_factor", 1) != 1:
        return False
    return any(usage.dims(node, 3) not in (None, (0,), (None,)) for node in usage.nodes)


def _filled_once(usage: Usage, attrs: Attrs) -> bool:
    """Whether a table is one that is initialised, as far as it can be seen from here."""
    return any(node.inputs and node.inputs[0].node.op in STATIC_TABLES for node in usage.nodes)


def _long_paddings(usage: Usage, attrs: Attrs) -> bool:
    return attrs.get("Tpaddings") == INT64


def _fuses(*names: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: not _fused(attrs).isdisjoint(names)


def _fuses_more_than(*names: str) -> Callable[[Usage, Attrs], bool]:
    return lambda usage, attrs: not _fused(attrs) <= set(names)


def _fused(attrs: Attrs) -> set[str]:
    found = attrs.get("fused_ops")
    names = found if isinstance(found, list) else []
    return {one.decode() if isinstance(one, bytes) else str(one) for one in names}


def _is_used(usage: Usage, attrs: Attrs) -> bool:
    return True


def _rounds_signed(usage: Usage, attrs: Attrs) -> bool:
    return bool(attrs.get("signed_input", True)) and not attrs.get("narrow_range", False)


def _bfloat16(usage: Usage, attrs: Attrs) -> bool:
    return attrs.get("T") == BFLOAT16


def _int4(usage: Usage, attrs: Attrs) -> bool:
    return any(attrs.get(name) in INT4 for name in ("SrcT", "DstT"))


def _casts(*types: str, but: tuple[str, ...] = ()) -> Callable[[Usage, Attrs], bool]:
    """Whether one of two different types is among these, and the other none that it goes with."""

    def asks(usage: Usage, attrs: Attrs) -> bool:
        names = {str(attrs.get(name)) for name in ("SrcT", "DstT")}
        return len(names) == 2 and not names.isdisjoint(types) and names.isdisjoint(but)

    return asks


def _any_algorithm(usage: Usage, attrs: Attrs) -> bool:
    """Whether the release is to choose how random numbers are made, which earlier ones do not."""
    for node in usage.nodes:
        given = constant(node.inputs[-1]) if node.inputs else None
        if given is not None and given.dtype == INT32 and given.numpy().tolist() == AUTO_SELECT:
            return True
    return False


FUSION = "Fusion is not implemented"
REFUSALS = (
    Refusal("Conv2D", _layout(NCHW),
            "The Conv2D op currently only supports the NHWC tensor format on the CPU."),
    Refusal("Conv2D", _dilated, "Generic conv implementation only supports dilated rate of 1 for now.",
            until="1.7", by_onednn=False),
    Refusal("Conv2D", _grouped,
            "The Conv2D op currently does not support grouped convolutions on the CPU.",
            until="2.5", by_onednn=False),
    Refusal("LookupTableImport LookupTableImportV2", _filled_once,
            "ImportValues not supported by InitializableLookupTable implementations",
            until="1.11", by_onednn=False),
    Refusal("Pad", _long_paddings, ABORTS, first="1.4", until="1.5", by_onednn=False),
    Refusal("Pad", _long_paddings, ABORTS, first="1.8", until="1.10", by_onednn=False),
    Refusal("Conv2D FusedBatchNormV3", _bfloat16, "Missing 0-th output from the node", first="2.5"),
    Refusal("Cast", _casts("bfloat16", but=("float32",)), "Cast bfloat16 to half is not supported",
            until="1.8", by_onednn=False),
    Refusal("Cast", _casts("uint32", "uint64", "qint8", "quint8", "qint16", "quint16", "qint32"),
            "Cast float to uint32 is not supported", until="1.11", by_onednn=False),
    Refusal("Cast", _int4, "Cast float to int4 is not supported", first="2.15", until=NEVER, by_onednn=False),
    Refusal("StatelessRandomGetKeyCounter StatelessRandomNormalV2 StatelessRandomUniformFullIntV2 "
            "StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2",
            _any_algorithm, "Unsupported algorithm id: 3", until="2.7", by_onednn=False),
    Refusal("Conv2DBackpropInput", _layout(NCHW), "Conv2DCustomBackpropInputOp only supports NHWC."),
    Refusal("Conv2DBackpropInput", _dilated,
            "Current libxsmm and customized CPU implementations do not yet support dilation rates larger "
            "than 1."),
    Refusal("Conv3D", _layout(NCDHW),
            "CPU implementation of Conv3D currently only supports the NHWC tensor format."),
    Refusal("Conv3D", _dilated,
            "CPU implementation of Conv3D currently only supports dilated rates of 1.", first="1.9"),
    Refusal("DepthwiseConv2dNative", _layout(NCHW),
            "Depthwise convolution on CPU is only supported for NHWC format"),
    Refusal("DepthwiseConv2dNative", _uneven,
            "Current implementation only supports equal length strides in the row and column dimensions."),
    Refusal("DepthwiseConv2dNative", _dilated,
            "Current kernel implementation does not support dilations", first="2.10", until="2.10"),
    Refusal("MaxPool", _layout(NCHW), "Default MaxPoolingOp only supports NHWC on device type CPU"),
    Refusal("AvgPool", _layout(NCHW), "Default AvgPoolingOp only supports NHWC on device type CPU"),
    Refusal("MaxPool3D AvgPool3D", _layout(NCDHW),
            "Default Pooling3DOp only supports NDHWC on device type CPU"),
    Refusal("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", _layout(NCHW),
            "The CPU implementation of FusedBatchNorm only supports NHWC tensor format for now.",
            until="2.1", by_onednn=False),
    Refusal("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", _given_averages,
            "estimated_mean must be empty for training", until="2.2", by_onednn=False,
            about="averages that training does not use"),
    Refusal("MaxPoolV2", _layout(NCHW), "MaxPoolingV2Op only supports NHWC or NCHW_VECT_C. Got: NCHW",
            until=NEVER, by_onednn=False),
    Refusal("Softmax LogSoftmax", _rank(lambda rank: rank != 2), "logits must be 2-dimensional",
            until="1.11", by_onednn=False, about="what is no matrix"),
    Refusal("BiasAdd BiasAddV1", _rank(lambda rank: rank > 5), "Only ranks up to 5 supported",
            until="2.7", by_onednn=False, about="more than 5 dimensions"),
    Refusal("BiasAdd", _rank(lambda rank: rank != 4, NCHW), "NCHW format supports only 4D input tensor.",
            until="1.13", by_onednn=False),
    Refusal("_FusedConv2D", _fuses("Relu6", "Elu"), FUSION, until="1.14", by_onednn=False, about="fused_ops"),
    Refusal("_FusedConv2D", _fuses("LeakyRelu"), FUSION, until="2.4", by_onednn=False, about="fused_ops"),
    Refusal("_FusedConv2D", _fuses("Add"), FUSION, about="fused_ops"),
    Refusal("_FusedConv2D", _fuses_more_than(
                "BiasAdd", "FusedBatchNorm", "Add", "Relu", "Relu6", "Elu", "LeakyRelu"),
            FUSION, until=NEVER, by_onednn=False, about="fused_ops"),
    Refusal("_FusedConv2D", _layout(NCHW),
            "Fused conv implementation only supports NHWC tensor format for now."),
    Refusal("_FusedMatMul", _fuses("LeakyRelu"), FUSION, until="2.5", by_onednn=False, about="fused_ops"),
    # from 2.9 on by oneDNN, and from 2.16 on without it too
    Refusal("_FusedMatMul", _fuses("Tanh", "Sigmoid"), FUSION, by_onednn=False, about="fused_ops"),
    Refusal("_FusedMatMul", _fuses("GeluExact", "GeluApproximate"), FUSION, about="fused_ops"),
    Refusal("_FusedDepthwiseConv2dNative", _is_used, "Missing 0-th output from the node", about="all"),
    Refusal("DepthToSpace SpaceToDepth", _layout(NCHW, "NCHW_VECT_C"),
            "Only NHWC data_format supported on CPU.", until="2.1", by_onednn=False),
)  # fmt: skip
PASSED_OVER = (
    Refusal("DepthwiseConv2dNative", _dilated, "", until="2.10", by_onednn=False),
    Refusal("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3", _rounds_signed, "",
            until="1.9", by_onednn=False),
)  # fmt: skip
"""What kernels do otherwise without a word, so that a model runs and answers something else."""
BY_OP = {op: [r for r in REFUSALS if op in r.ops.split()] for row in REFUSALS for op in row.ops.split()}


@finding("TFP305", "kernel-refuses")
class KernelRefuses(Finding):
    """op `{op}` has a kernel for the CPU in {target}, which refuses {asked}

    ## Cause
    The kernel is registered, so the model loads; when it runs, it does not do what the
    attributes ask for. Most often the graph was made for a GPU, with channels first.
    ## Fix
    Export the model with channels last (`data_format="NHWC"`), or use a release that does
    it: from 2.9 on most of this runs on the CPU.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 2, 4, 4)}
        f = Placeholder() {dtype=float32, shape=(1, 1, 2, 2)}
        y = Conv2D(x, f) {T=float32, data_format="NCHW", padding="SAME", strides=[1, 1, 1, 1]}
        on tensorflow==2.8.4
    """

    asked: str
    until: str
    by_onednn: bool
    text: str

    def cause(self) -> str:
        if self.until == NEVER:
            return "watched on real binaries, the newest too"
        return f"watched on real binaries; done from {self.until} on" + (", by oneDNN" * self.by_onednn)

    def says(self) -> str:
        return self.text


@answers(Question.REFUSED, Question.REFUSED_WITHOUT_ONEDNN)
def kernel_refuses(trouble: Trouble) -> Finding:
    refusal: Refusal = trouble.reason.expected
    attrs = trouble.with_defaults()
    names = [n for n in ("data_format", "dilations", "strides", "T") if n in attrs]
    shown = next((f"{n}={attrs[n]}" for n in names if attrs[n] not in (NHWC, "NDHWC")), "it")
    if about := refusal.about:
        shown = f"{about}={attrs[about]}" if about in attrs else about
    return KernelRefuses(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        asked=shown,
        until=refusal.until,
        by_onednn=refusal.by_onednn,
        text=refusal.says,
    )


def refusals(usage: Usage, target: Target) -> Iterator[Unresolved]:
    """What the kernels of a target for the CPU refuse to do for the nodes of a usage."""
    if target.device != "cpu" or usage.op not in BY_OP:
        return
    for refusal in BY_OP[usage.op]:
        if since(target, refusal.first) and refusal.asks(usage, usage.attrs):
            if not since(target, refusal.until):
                yield Unresolved(Question.REFUSED, expected=refusal)
            elif refusal.by_onednn:
                yield Unresolved(Question.REFUSED_WITHOUT_ONEDNN, expected=refusal)


def passed_over(usage: Usage, target: Target) -> Iterator[Unresolved]:
    """What the kernels of a target for the CPU do otherwise than the nodes of a usage say."""
    if target.device != "cpu":
        return
    for row in PASSED_OVER:
        if usage.op in row.ops.split() and row.asks(usage, usage.attrs) and not since(target, row.until):
            yield Unresolved(Question.REFUSED, expected=row)
