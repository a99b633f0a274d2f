"""Image resizing with half_pixel_centers, which releases before 1.14 lack, by gathers and weights.

The positions are computed as in the kernels, in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import Size, Sizes, item
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value

KEYS = -0.5
"""The coefficient of the cubic for half_pixel_centers."""
STEPS = 1024.0
"""The kernel's number of table entries of the cubic between two pixels."""
AXES = (1, 2)


@rule("ResizeNearestNeighbor", keeps=EXACT)
def nearest_by_gather(op: RuleBuilder, n: Node) -> Replacement:
    """Each pixel is gathered from the nearest pixel of the image."""
    image, ends = _image(op, n)
    resized: Value | Node = image
    for axis, (size, wanted) in zip(AXES, ends, strict=True):
        nearest = op.Cast(op.Floor(_centers(op, size, wanted)), DstT=INT32)
        resized = op.GatherV2(resized, _within(op, nearest, size), axis)
    return resized


@rule("ResizeBilinear", keeps=ROUNDING)
def bilinear_by_gather(op: RuleBuilder, n: Node) -> Replacement:
    """Each pixel is a weighted mean of four gathered pixels."""
    image, ends = _image(op, n)
    (top, bottom, down), (left, right, across) = (_between(op, *end) for end in ends)
    shapes = ([-1, 1, 1], [-1, 1])
    down, across = (op.Reshape(weights, shape) for weights, shape in zip((down, across), shapes, strict=True))
    wide = op.Cast(image, DstT=FLOAT32)

    def row(indices: Node) -> Node:
        pixels = op.GatherV2(wide, indices, 1)
        return _interpolated(op, op.GatherV2(pixels, left, 2), op.GatherV2(pixels, right, 2), across)

    return _interpolated(op, row(top), row(bottom), down)


@rule("ResizeBicubic", keeps=ROUNDING)
def bicubic_by_gather(op: RuleBuilder, n: Node) -> Replacement:
    """Each pixel is a mean of sixteen gathered pixels, weighted by a cubic of their distance."""
    image, ends = _image(op, n)
    resized = op.Cast(image, DstT=FLOAT32)
    for axis, shape, end in ((2, [-1, 1], ends[1]), (1, [-1, 1, 1], ends[0])):
        parts = [
            op.Mul(op.GatherV2(resized, index, axis), op.Reshape(weight, shape))
            for index, weight in _cubic(op, *end)
        ]
        resized = op.Add(op.Add(parts[0], parts[1]), op.Add(parts[2], parts[3]))
    return resized


def _image(op: RuleBuilder, n: Node) -> tuple[Value, list[tuple[Size, Size]]]:
    """The image, and its old and new height and width."""
    if not n.attrs["half_pixel_centers"]:
        raise refuse("its half_pixel_centers is false")
    if n.attrs["align_corners"]:
        raise refuse("kernels do not support half_pixel_centers with align_corners")
    image, wanted = n.inputs
    known = op.array(wanted)
    sizes: Sequence[Size] = known.tolist() if known is not None else [item(op, wanted, i) for i in (0, 1)]
    return image, list(zip(Sizes(op).of(image, 4)[1:3], sizes, strict=True))


def _centers(op: RuleBuilder, size: Size, wanted: Size) -> Node:
    """The centers of the new pixels in the old image."""
    old, new = (
        op.const(s, FLOAT32) if isinstance(s, int) else op.Cast(s, DstT=FLOAT32) for s in (size, wanted)
    )
    counted = op.Cast(op.Range(0, wanted, 1), DstT=FLOAT32)
    return op.Mul(op.Add(counted, 0.5), op.RealDiv(old, new))


def _within(op: RuleBuilder, index: Node, size: Size) -> Node:
    return op.Maximum(op.Minimum(index, Sizes(op).sub(size, 1)), 0)


def _between(op: RuleBuilder, size: Size, wanted: Size) -> tuple[Any, Any, Any]:
    """For each new pixel the old pixels before and after it, and the distance from the first."""
    center = op.Sub(_centers(op, size, wanted), 0.5)
    before = op.Floor(center)
    first, second = (
        _within(op, op.Cast(position, DstT=INT32), size) for position in (before, op.Ceil(center))
    )
    return first, second, op.Sub(center, before)


def _interpolated(op: RuleBuilder, a: Node, b: Node, share: Any) -> Node:
    return op.Add(a, op.Mul(op.Sub(b, a), share))


def _cubic(op: RuleBuilder, size: Size, wanted: Size) -> list[tuple[Node, Node]]:
    """For each new pixel four old pixels and their weights: 0 outside of the image, with the sum 1."""
    center = op.Sub(_centers(op, size, wanted), 0.5)
    before = op.Floor(center)
    share = op.Mul(op.Round(op.Mul(op.Sub(center, before), STEPS)), 1 / STEPS)
    rest = op.Sub(1.0, share)
    first = op.Cast(before, DstT=INT32)
    near: Callable[[Any], Node] = lambda x: _polynomial(op, x, [KEYS + 2, -(KEYS + 3), 0.0, 1.0])  # noqa: E731
    far: Callable[[Any], Node] = lambda x: _polynomial(  # noqa: E731
        op, op.Add(x, 1.0), [KEYS, -5 * KEYS, 8 * KEYS, -4 * KEYS]
    )
    taps = []
    for step, weight in zip((-1, 0, 1, 2), (far(share), near(share), near(rest), far(rest)), strict=True):
        unbounded = op.Add(first, step)
        bound = _within(op, unbounded, size)
        taps.append((bound, op.Mul(weight, op.Cast(op.Equal(bound, unbounded), DstT=FLOAT32))))
    total = op.AddN([weight for _, weight in taps])
    return [(index, op.RealDiv(weight, total)) for index, weight in taps]


def _polynomial(op: RuleBuilder, x: Any, coefficients: Sequence[float]) -> Node:
    first, *rest = coefficients
    value = op.Mul(x, first)
    for i, coefficient in enumerate(rest):
        value = op.Add(value, coefficient)
        value = op.Mul(value, x) if i < len(rest) - 1 else value
    return value
