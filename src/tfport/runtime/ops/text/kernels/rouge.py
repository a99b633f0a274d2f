"""RougeL: how well a hypothesis agrees with a reference, by their longest common subsequence."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.strings.byte_strings import scalar_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TINY = 1e-12


@host("RougeL")
def rouge_l(hyp_values, hyp_splits, ref_values, ref_splits, alpha):
    weight = np.float32(scalar_value(alpha, "alpha"))
    if not weight <= 1:
        raise RunFailed(f"alpha must be at most 1, found {weight}")
    if len(hyp_splits) != len(ref_splits):
        raise RunFailed(f"found {len(hyp_splits)} splits of hypotheses, and {len(ref_splits)} of references")
    check_splits(hyp_splits, len(hyp_values))
    check_splits(ref_splits, len(ref_values))
    hypotheses, references = hyp_values.tolist(), ref_values.tolist()
    rows = zip(pairwise(hyp_splits.tolist()), pairwise(ref_splits.tolist()), strict=True)
    common = np.array([_common(hypotheses[a:b], references[c:d]) for (a, b), (c, d) in rows], np.float32)
    precision = _share(common, hyp_splits)
    recall = _share(common, ref_splits)
    return _measure(precision, recall, weight), precision, recall


def _common(left: list[Any], right: list[Any]) -> int:
    """The length of the longest common subsequence. Each bit of a number is a column of the usual table."""
    places: dict[Any, int] = {}
    for at, token in enumerate(right):
        places[token] = places.get(token, 0) | 1 << at
    everything = (1 << len(right)) - 1
    rises = everything
    for token in left:
        matches = rises & places.get(token, 0)
        rises = ((rises + matches) | (rises - matches)) & everything
    return len(right) - rises.bit_count()


def _share(common: NDArray[Any], splits: NDArray[Any]) -> NDArray[Any]:
    return (common / (np.diff(splits).astype(np.float32).astype(np.float64) + _TINY)).astype(np.float32)


def _measure(precision: NDArray[Any], recall: NDArray[Any], alpha: np.float32) -> NDArray[Any]:
    """The F-measure; with a negative alpha that of tensor2tensor."""
    unit = np.float32(1)
    if alpha < 0:
        beta = (precision / (recall.astype(np.float64) + _TINY)).astype(np.float32)
        square = beta * beta
        above, below = (unit + square) * recall * precision, recall + square * precision
        otherwise = np.zeros_like(below)
    else:
        above, below = precision * recall, alpha * recall + (unit - alpha) * precision
        otherwise = below
    measure: NDArray[Any] = np.where(below > 0, above / np.where(below > 0, below, unit), otherwise)
    return measure
