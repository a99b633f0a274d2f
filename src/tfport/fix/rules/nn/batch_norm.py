"""Batch normalization as its other versions, in float32, and as arithmetic."""

from __future__ import annotations

from typing import Any

from tfport.fix.nodes.builder import RuleBuilder, attrs_without
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import Sizes
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value

FLAT = {"NDHWC": "NHWC", "NCDHW": "NCHW"}


@rule("FusedBatchNormV3", keeps=EXACT)
def without_reserve_space(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNormV2 has the first five outputs of V3, and no reserve_space_3."""
    _unread(n, 5)
    if n.attrs["data_format"] in FLAT:
        return refuse(f"FusedBatchNormV2 does not support data_format={n.attrs['data_format']}")
    if n.attrs["U"] != FLOAT32:
        return refuse(f"FusedBatchNormV2 does not support {n.attrs['U']} statistics")
    return [*_with_statistics(n, op.FusedBatchNormV2(*_used_inputs(op, n), **n.attrs)), None]


@rule("FusedBatchNormV2", keeps=EXACT)
def as_first_batch_norm(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNorm gives the same result in float32."""
    if n.attrs["T"] != FLOAT32:
        return refuse(f"FusedBatchNorm does not support {n.attrs['T']}")
    return _with_statistics(n, op.FusedBatchNorm(*_used_inputs(op, n), **attrs_without(n, "U")))


@rule("FusedBatchNorm", keeps=EXACT)
def as_batch_norm_v2(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNormV2 computes the same as FusedBatchNorm."""
    if "T" not in n.attrs:
        return refuse("its type is not stated")
    return op.FusedBatchNormV2(*n.inputs, **n.attrs, U=n.attrs["T"])


@rule("FusedBatchNormV2", keeps=EXACT)
def as_batch_norm_v3(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNormV3 computes the same as V2."""
    return op.FusedBatchNormV3(*n.inputs, **n.attrs).outputs[:5]


@rule("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", keeps=EXACT)
def without_unused_averages(op: RuleBuilder, n: Node) -> Replacement:
    """Training does not use the averages, and releases before 2.2 require empty ones."""
    if not n.attrs["is_training"] or n.attrs["exponential_avg_factor"] != 1 or op.shape(n.inputs[3]) == (0,):
        return refuse("it uses all of its inputs")
    return op.node(n.op, *_used_inputs(op, n), **n.attrs)


@rule("FusedBatchNormV2 FusedBatchNormV3", keeps=EXACT)
def normalized_in_float32(op: RuleBuilder, n: Node) -> Replacement:
    """Short floats are cast to float32, normalized and cast back, just as the kernels do."""
    dtype = n.attrs["T"]
    if dtype == FLOAT32 or n.attrs["U"] != FLOAT32:
        return refuse(f"its input is {dtype} and its statistics are {n.attrs['U']}")
    wide = op.tensor(op.Cast(n.inputs[0], DstT=FLOAT32), op.shape(n.inputs[0]))
    normalized = op.node(n.op, wide, *n.inputs[1:], **attrs_without(n, "T"))
    return [op.Cast(normalized, DstT=dtype).output(0), *_with_statistics(n, normalized)[1:]]


@rule("FusedBatchNormV3", keeps=EXACT)
def normalized_in_two_dimensions(op: RuleBuilder, n: Node) -> Replacement:
    """Depth and rows are merged into one axis, because statistics are per channel."""
    layout = n.attrs["data_format"]
    if layout not in FLAT:
        return refuse(f"its data_format is {layout}")
    x, sizes = n.inputs[0], Sizes(op)
    dims = sizes.of(x)
    at = layout.index("D")
    flat = [*dims[:at], sizes.mul(dims[at], dims[at + 1]), *dims[at + 2 :]]
    normalized = op.FusedBatchNormV3(
        op.Reshape(x, sizes.vector(flat)),
        *n.inputs[1:],
        **attrs_without(n, "data_format"),
        data_format=FLAT[layout],
    )
    return [op.Reshape(normalized, sizes.vector(dims)).output(0), *_with_statistics(n, normalized)[1:]]


@rule("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", keeps=ROUNDING)
def with_averages_apart(op: RuleBuilder, n: Node) -> Replacement:
    """The running averages are computed separately, weighted by exponential_avg_factor."""
    factor = n.attrs["exponential_avg_factor"]
    if factor == 1 or not n.attrs["is_training"]:
        return refuse("it computes no running averages")
    x, scale, offset, mean, variance = n.inputs
    none = op.const([], mean.dtype.base)
    normalized = op.node(n.op, x, scale, offset, none, none, **attrs_without(n, "exponential_avg_factor"))

    def averaged(old: Value, new: Value) -> Value:
        return op.Add(op.Mul(old, 1 - factor), op.Mul(new, factor)).output(0)

    first, *rest = normalized.outputs
    return [first, averaged(mean, rest[0]), averaged(variance, rest[1]), *rest[2:]]


@rule("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", keeps=ROUNDING)
def normalized_by_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """Subtract the mean, divide by the standard deviation, scale and shift."""
    training, dtype = n.attrs["is_training"], n.attrs["T"]
    if training and n.attrs["exponential_avg_factor"] != 1:
        return refuse(
            f"it computes running averages (exponential_avg_factor={n.attrs['exponential_avg_factor']})"
        )
    x, scale, offset, mean, variance = n.inputs
    layout = str(n.attrs["data_format"])
    if n.attrs.get("U", dtype) != FLOAT32:
        return refuse(f"its statistics are {n.attrs['U']}")
    if not training:
        _unread(n, 3, 4, 5)
    wide = x if dtype == FLOAT32 else op.Cast(x, DstT=FLOAT32).output(0)
    unbiased: Any = variance
    if training:
        mean, variance, unbiased = _moments(op, wide, layout)
    parts = (_along(op, vector, layout) for vector in (mean, variance, scale, offset))
    m, v, s, o = parts
    factor = op.Mul(op.Rsqrt(op.Add(v, n.attrs["epsilon"])), s)
    y = op.Add(op.Mul(op.Sub(wide, m), factor), o)
    out = y if dtype == FLOAT32 else op.Cast(y, DstT=dtype)
    _unread(n, 5)
    return [out, mean, unbiased, mean, variance, None]


def _moments(op: RuleBuilder, x: Value, layout: str) -> tuple[Any, Any, Any]:
    """The mean, variance and unbiased variance of each channel."""
    axes = [index for index, name in enumerate(layout) if name != "C"]
    mean = op.Mean(x, axes)
    variance = op.Mean(op.SquaredDifference(x, _along(op, mean, layout)), axes)
    counts = op.GatherV2(op.Shape(x, out_type=INT32), axes, 0)
    count = op.Cast(op.Prod(counts, [0]), DstT=FLOAT32)
    correction = op.RealDiv(count, op.Maximum(op.Sub(count, 1), 1))
    return mean, variance, op.Mul(variance, correction)


def _along(op: RuleBuilder, value: Any, layout: str) -> Any:
    """A vector of channels, reshaped for broadcasting."""
    return value if layout.endswith("C") else op.Reshape(value, [-1, *(1 for _ in layout[2:])])


@rule("BatchNormWithGlobalNormalization", keeps=ROUNDING)
def global_normalization_by_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """Subtract the mean, divide by the standard deviation, scale and shift."""
    t, m, v, beta, gamma = n.inputs
    factor = op.Rsqrt(op.Add(v, n.attrs["variance_epsilon"]))
    if n.attrs["scale_after_normalization"]:
        factor = op.Mul(factor, gamma)
    return op.Add(op.Mul(t, factor), op.Sub(beta, op.Mul(m, factor)))


@rule("_FusedBatchNormEx", keeps=EXACT)
def batch_norm_and_activation(op: RuleBuilder, n: Node) -> Replacement:
    """The normalization, followed by the fused addition and activation."""
    mode = n.attrs["activation_mode"]
    if mode not in ("Identity", "Relu"):
        return refuse(f"the activation {mode} is unknown")
    normalized = op.FusedBatchNormV3(*n.inputs[:5], **attrs_without(n, "activation_mode", "num_side_inputs"))
    y = normalized.output(0)
    for side in n.inputs[5:]:
        y = op.Add(y, side).output(0)
    return [op.Relu(y).output(0) if mode == "Relu" else y, *normalized.outputs[1:]]


@rule("FusedBatchNormGradV3", keeps=EXACT)
def gradient_without_reserve_space(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNormGradV2 does not need reserve_space_3, which only GPUs use."""
    if n.attrs["data_format"] in FLAT:
        return refuse(f"FusedBatchNormGradV2 does not support data_format={n.attrs['data_format']}")
    return op.FusedBatchNormGradV2(*n.inputs[:5], **n.attrs)


@rule("FusedBatchNormGradV2", keeps=EXACT)
def as_first_gradient(op: RuleBuilder, n: Node) -> Replacement:
    """FusedBatchNormGrad gives the same result in float32."""
    if n.attrs["T"] != FLOAT32:
        return refuse(f"FusedBatchNormGrad does not support {n.attrs['T']}")
    return op.FusedBatchNormGrad(*n.inputs, **attrs_without(n, "U"))


def _used_inputs(op: RuleBuilder, n: Node) -> list[Any]:
    """The inputs; in training, old releases require empty means and variances, which are not used."""
    if not n.attrs["is_training"] or n.attrs["exponential_avg_factor"] != 1:
        return list(n.inputs)
    none = op.const([], n.inputs[3].dtype.base)
    return [*n.inputs[:3], none, none]


def _with_statistics(n: Node, normalized: Node) -> list[Value]:
    """The outputs; in inference, old releases leave the statistics unset, which equal the inputs."""
    y, *rest = normalized.outputs
    return [y, *rest] if n.attrs["is_training"] else [y, n.inputs[3], n.inputs[4], *rest[2:]]


def _unread(n: Node, *indices: int) -> None:
    """Refuse if an output that cannot be computed is read."""
    for index in indices:
        if index < len(n.outputs) and (readers := n.outputs[index].uses):
            raise refuse(f"`{readers[0]}` reads output {index}")
