"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite
from tfport.runtime.engines.litert.lite_scribe import LiteScribe

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matmul(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, y = node.first, node.value(1)
    if y.array is not None and y.array.ndim == 2 and x.array is None and len(x.sizes) > 1:
        return _dense(out, x, y.array.T, None)
    if (
        x.array is not None
        or len(x.sizes) != len(y.sizes)
        or x.sizes[:-2] != y.sizes[:-2]
        or len(x.sizes) < 3
    ):
        raise NotInLite("MatMul of such matrices")
    return out.add("BATCH_MATMUL", [out.plain(x), out.plain(y)], (*x.sizes[:-1], y.sizes[-1]))


def gemm(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, weights, offset = node.first, node.value(1).constant(), node.known(2)
    scales = [node.attrs.get(name, 1.0) for name in ("alpha", "beta")]
    if node.attrs.get("transA") or scales != [1.0, 1.0] or (offset is not None and offset.ndim > 1):
        raise NotInLite("Gemm with factors or of a transposed matrix")
    return _dense(out, x, weights if node.attrs.get("transB") else weights.T, offset)


def _dense(
    out: LiteScribe, x: IslandValue, weights: NDArray[Any], offset: NDArray[Any] | None
) -> IslandValue:
    """Rows times the transposed weights."""
    count, length = weights.shape
    rows = x.elements // length
    bias = np.zeros(count, np.float32) if offset is None else np.broadcast_to(offset, (count,))
    tensors = [_matrix(out, x, (rows, length)), out.array(weights), out.array(bias)]
    result = out.add("FULLY_CONNECTED", tensors, (rows, count))
    sizes = (*x.sizes[:-1], count)
    return result if sizes == result.sizes else out.reshaped(result.tensor, sizes)


def _matrix(out: LiteScribe, x: IslandValue, sizes: Sequence[int]) -> int:
    tensor = out.plain(x)
    return tensor if len(x.sizes) == 2 else out.reshaped(tensor, sizes).tensor
