"""TopK, lowered to ONNX."""

from __future__ import annotations

from tfport.graph.dtypes import INT32
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import whole


@lower("TopK")
def top_k(b, input, *, k, sorted):
    return _top(b, input, b.ints(k), INT32)


@lower("TopKV2")
def top_k_v2(b, input, k, *, sorted, index_type):
    known = whole(k)
    if known is not None and known[0] < 0:
        raise CannotLower("k is negative")
    return _top(b, input, b.vector(k), index_type)


@lower("ApproxTopK")
def approx_top_k(
    b,
    input,
    *,
    k,
    reduction_dimension,
    recall_target,
    is_max_k,
    reduction_input_size_override,
    aggregate_to_topk,
):
    return _top(b, input, b.ints(k), INT32, axis=reduction_dimension, largest=is_max_k)


def _top(b, x, k, index_type, axis=-1, largest=True):
    """Always sorted, as no order is promised otherwise; the first of equal elements comes first."""
    if not rank_of(x):
        raise CannotLower("the input is a scalar")
    values, indices = b.nodes("TopK", x, k, outputs=2, axis=axis, largest=int(largest), sorted=1)
    return values, b.cast(indices, index_type)
