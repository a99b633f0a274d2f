"""ScaleAndTranslate, as `tf.image.resize` with antialias has it and releases before 1.13 lack, by gathers."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.formula import NodeFunctions
from tfport.fix.rule import ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import count_to, item, shape_of
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.image.sampling_kernels import KERNELS, SamplingKernel

LEAST_TOTAL = 1000 * 1.1754943508222875e-38
"""The least sum of weights that is made one."""


@rule("ScaleAndTranslate", keeps=ROUNDING)
def sampled_by_gather(op: RuleBuilder, n: Node) -> Replacement:
    """Each pixel is a mean of the gathered pixels around it, with the weights of the sampling kernel."""
    image, size, scale, move = n.inputs
    if (kernel := KERNELS.get(str(n.attrs["kernel_type"]))) is None:
        return refuse(f"its kernel_type {n.attrs['kernel_type']} is unknown")
    whole = [item(op, shape_of(op, image), axis) for axis in range(4)]
    resized, done = op.cast(image, FLOAT32), list(whole)
    for axis, index in ((1, 0), (2, 1)):
        new = item(op, size, index)
        wide = bool(n.attrs["antialias"])
        span = _Span(
            op, kernel, whole[axis], new, item(op, scale, index), item(op, move, index), antialias=wide
        )
        taps = op.GatherV2(resized, op.Reshape(span.indices, [-1]), axis)
        apart = op.Reshape(taps, op.Pack([*done[:axis], new, span.count, *done[axis + 1 :]]))
        each = op.Reshape(span.weights, op.Pack([new, span.count, *[1] * (3 - axis)]))
        resized, done[axis] = op.value(op.Sum(op.Mul(apart, each), [axis + 1])), new
    return resized


class _Span:
    """The pixels of an axis that a sampling kernel covers, as TensorFlow computes them.

    `indices` has a row of `count` indices for each new pixel, `weights` the weights, with the sum 1.
    """

    def __init__(
        self,
        op: RuleBuilder,
        kernel: SamplingKernel,
        old: Value,
        new: Value,
        scale: Value,
        move: Value,
        *,
        antialias: bool,
    ) -> None:
        self.op, self.old = op, old
        back = op.RealDiv(1.0, scale)
        steps = op.Add(count_to(op, new, FLOAT32), 0.5)
        at = op.Add(op.Mul(steps, back), op.Mul(op.Neg(back), move))
        wide = op.Maximum(back, 1.0) if antialias else op.const(1.0)
        reach = op.Mul(wide, kernel.radius)
        start = self._within(op.Ceil(op.Sub(op.Sub(at, reach), 0.5)))
        end = self._within(op.Floor(op.Sub(op.Add(at, reach), 0.5)))
        self.count = op.Add(op.Max(op.Sub(end, start), [0]), 1)
        pixels = op.Add(op.ExpandDims(start, 1), op.ExpandDims(count_to(op, self.count), 0))
        centers = op.Add(op.Cast(pixels, DstT=FLOAT32), 0.5)
        distance = op.Abs(op.Mul(op.Sub(centers, op.ExpandDims(at, 1)), op.RealDiv(1.0, wide)))
        formula = NodeFunctions(op, distance.output(0))
        covered = op.LessEqual(pixels, op.ExpandDims(end, 1))
        weights = self._where(covered, kernel.weight(formula, formula.x).value)
        total = op.Sum(weights, [1], keep_dims=True)
        outside = op.LogicalOr(op.Less(at, 0.0), op.Greater(at, op.Cast(old, DstT=FLOAT32)))
        counts = op.LogicalAnd(
            op.GreaterEqual(op.Abs(total), LEAST_TOTAL), op.LogicalNot(op.ExpandDims(outside, 1))
        )
        # a condition for each weight, as Select does not broadcast in old releases
        scaled = op.Mul(weights, op.RealDiv(1.0, total))
        self.weights = self._where(op.LogicalAnd(counts, covered), scaled)
        self.indices = self._within(pixels)

    def _within(self, index: Node) -> Node:
        """An index of the axis."""
        op = self.op
        return op.Maximum(op.Minimum(op.cast(index, INT32), op.Sub(self.old, 1)), 0)

    def _where(self, condition: Node, numbers: Node | Value) -> Node:
        return self.op.Select(condition, numbers, self.op.ZerosLike(numbers))
