"""Programs whose answers differ between releases: tools/truth/rewrites/kernel_answers.py runs them.

Each has the last release recorded that answers otherwise than 2.21, and the first that answers the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.graph.dtypes import DType
from tfport.graph.usage import Usage


class KernelProgram(NamedTuple):
    """A graph with inputs, whose node `y` is of interest."""

    text: str
    inputs: dict[str, Any]
    other: str
    same: str


def usage_on(text: str, release: str) -> tuple[Usage, Target]:
    """The node `y` of a program whose inputs are float32, and a release to ask about it."""
    node = graph(text).nodes["y"]
    usage = Usage(node, (DType.parse("float32"),) * len(node.inputs), [node])
    return usage, resolve_targets(f"tensorflow=={release}")[0]


def _f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


IMAGE = np.arange(60, dtype=np.float32).reshape(1, 5, 6, 2)
TURNED = _f32(0.9, 0.2, -1.5, -0.1, 1.1, 2.5, 0, 0)
BOXES = _f32([0, 0, 1, 1], [0, 0, 1, 0.9], [0.2, 0.1, 1, 1], [0, 0, 0.3, 0.3])
SOFT = """
b = Placeholder() {dtype=float32, shape=(?, 4)}
s = Placeholder() {dtype=float32, shape=(?,)}
n = Const() {dtype=int32, value=int32()[4]}
overlap = Const() {dtype=float32, value=float32()[0.5]}
low = Const() {dtype=float32, value=float32()[0]}
sigma = Const() {dtype=float32, value=float32()[0.5]}
y = NonMaxSuppressionV5(b, s, n, overlap, low, sigma) {T=float32, pad_to_max_output_size=false}
"""
SUMS = """
x = Placeholder() {dtype=float32, shape=(?, 3)}
axis = Const() {dtype=int32, value=int32()[1]}
y = CumulativeLogsumexp(x, axis) {T=float32, Tidx=int32, exclusive=%s, reverse=false}
"""
MOVED = """
x = Placeholder() {dtype=float32, shape=(?, 5, 6, 2)}
t = Placeholder() {dtype=float32, shape=(?, 8)}
size = Const() {dtype=int32, value=int32(2,)[5, 6]}
y = ImageProjectiveTransformV2(x, t, size) {dtype=float32, interpolation="%s", fill_mode="%s"}
"""
DILATED = """
x = Placeholder() {dtype=float32, shape=(1, 5, 6, 2)}
w = Placeholder() {dtype=float32, shape=(2, 2, 2, 1)}
y = DepthwiseConv2dNative(x, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]}
"""
ANGLES = """
x = Placeholder() {dtype=float32, shape=(?,)}
y = %s(x) {T=float32}
"""
SHORTENED = """
x = Placeholder() {dtype=float32, shape=(?,)}
y = Cast(x) {SrcT=float32, DstT=bfloat16}
"""
LARGE = _f32(*range(2**18, 2**18 + 64))
MANY_BITS = _f32(*np.linspace(-3, 3, 64))
PROGRAMS = {
    "soft suppression": KernelProgram(SOFT, {"b": BOXES, "s": _f32(0.9, 0.8, 0.7, 0.6)}, "2.4.4", "2.5.3"),
    "exclusive sums": KernelProgram(SUMS % "true", {"x": _f32([1, 2, 3])}, "2.2.3", "2.3.4"),
    "sums of minus infinity": KernelProgram(SUMS % "false", {"x": _f32([-np.inf, 2, 3])}, "2.2.3", "2.3.4"),
    "reflected edges": KernelProgram(MOVED % ("BILINEAR", "REFLECT"), {"x": IMAGE, "t": TURNED[None]},
                                     "2.3.4", "2.4.4"),
    "wrapped edges": KernelProgram(MOVED % ("NEAREST", "WRAP"), {"x": IMAGE, "t": TURNED[None]},
                                   "2.3.4", "2.4.4"),
    "repeated edges": KernelProgram(MOVED % ("NEAREST", "NEAREST"), {"x": IMAGE, "t": TURNED[None]},
                                    "2.3.4", "2.4.4"),
    "dilations": KernelProgram(DILATED, {"x": IMAGE, "w": np.ones((2, 2, 2, 1), np.float32)},
                               "2.9.3", "2.10.1"),
    "large sines": KernelProgram(ANGLES % "Sin", {"x": LARGE}, "1.13.2", "1.14.0"),
    "large cosines": KernelProgram(ANGLES % "Cos", {"x": LARGE}, "1.13.2", "1.14.0"),
    "numbers as bfloat16": KernelProgram(SHORTENED, {"x": MANY_BITS}, "1.10.1", "1.11.0"),
}  # fmt: skip
