"""Programs whose answers differ between releases: tools/truth/rewrites/kernel_answers.py runs them.

Each has the last release recorded that answers otherwise than 2.21, and the first that answers the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class KernelProgram(NamedTuple):
    """A graph with inputs, whose node `y` is of interest."""

    text: str
    inputs: dict[str, Any]
    other: str
    same: str


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
}  # fmt: skip
