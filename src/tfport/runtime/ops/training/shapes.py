"""Output shapes of boosted trees."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Operand
from tfport.runtime.ops.sparse.shapes import Attrs, Shapes


@shapes("BoostedTreesPredict")
def boosted_trees_predict(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [(None, attrs["logits_dimension"])]


@shapes("BoostedTreesBucketize")
def boosted_trees_bucketize(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [operand.shape for operand in inputs[: attrs["num_features"]]]
