"""Normalization and Discretization of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import reshape
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.categories import encoded
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import FLOAT32, INT32, INT64

EPSILON = 1e-7


@layer("Normalization")
def normalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    axis: int | Sequence[int] | None = -1,
    mean: Json = None,
    variance: Json = None,
    invert: bool = False,
) -> LayerTensor:
    axes = [] if axis is None else [a % x.rank for a in ([axis] if isinstance(axis, int) else axis)]
    shape = [x.shape[a] for a in sorted(axes)]
    spread = [size if i in axes else 1 for i, size in enumerate(x.shape)]
    if mean is None or variance is None:
        center, square = (
            b.weight("mean", shape, trainable=False),
            b.weight("variance", shape, trainable=False),
        )
        b.weight("count", (), trainable=False, dtype=INT64 if b.version.major < 3 else INT32)
        center, square = (reshape(b, part, spread) for part in (center, square))
    else:
        center, square = (
            b.constant((np.asarray(part) * np.ones(shape)).reshape(spread), b.dtype)  # type: ignore[arg-type]
            for part in (mean, variance)
        )
    x = b.cast(x, b.dtype)
    deviation = b.Maximum(b.Sqrt(square), EPSILON)
    return b.Add(center, b.Mul(x, deviation)) if invert else b.RealDiv(b.Sub(x, center), deviation)


@layer("Discretization")
def discretization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    bin_boundaries: Sequence[float] | None = None,
    bins: Sequence[float] | int | None = None,
    num_bins: int | None = None,
    epsilon: float = 0.01,
    output_mode: str = "int",
    sparse: bool = False,
) -> LayerTensor:
    """Bins by their boundaries; Keras 2 before 2.6 calls them `bins`."""
    boundaries = bins if bin_boundaries is None and isinstance(bins, list) else bin_boundaries
    if boundaries is None:
        raise b.refuse(
            "the boundaries of its bins are not in the file; state `bin_boundaries` and save again"
        )
    places = b.node("Bucketize", x if x.dtype != INT64 else b.cast(x, FLOAT32), boundaries=list(boundaries))
    integer = INT64 if b.version.numbers < (3, 11) else INT32
    kind = integer if output_mode == "int" else None
    return encoded(b, b.tensor(places, x.shape), output_mode, len(boundaries) + 1, dtype=kind)
