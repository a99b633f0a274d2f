"""Inference ops of boosted trees, which TensorFlow had up to 2.8: ensembles, buckets, predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.training.tree_ensembles import Ensemble


class EnsembleResource:
    """A named tree ensemble; None until it is created."""

    def __init__(self) -> None:
        self.stamp = -1
        self.ensemble: Ensemble | None = None

    def read(self) -> Ensemble:
        if self.ensemble is None:
            raise RunFailed("the tree ensemble is not initialized")
        return self.ensemble

    def fill(self, stamp: Any, serialized: Any) -> None:
        self.ensemble, self.stamp = Ensemble(serialized.item()), int(stamp)


class QuantileStreams:
    """The bucket boundaries of each feature."""

    def __init__(self) -> None:
        self.boundaries: list[Any] | None = None

    def read(self) -> list[Any]:
        if self.boundaries is None:
            raise RunFailed("the quantile streams are not initialized")
        return self.boundaries


@host("BoostedTreesEnsembleResourceHandleOp", once=True)
def ensemble_handle(*, container, shared_name, context):
    return context.state.resource(
        EnsembleResource, f"{container}/{shared_name or context.name}", EnsembleResource
    )


@host("BoostedTreesCreateEnsemble")
def create_ensemble(tree_ensemble_handle, stamp_token, tree_ensemble_serialized):
    if tree_ensemble_handle.ensemble is None:
        tree_ensemble_handle.fill(stamp_token, tree_ensemble_serialized)


@host("BoostedTreesDeserializeEnsemble")
def deserialize_ensemble(tree_ensemble_handle, stamp_token, tree_ensemble_serialized):
    tree_ensemble_handle.read()
    tree_ensemble_handle.fill(stamp_token, tree_ensemble_serialized)


@host("BoostedTreesSerializeEnsemble")
def serialize_ensemble(tree_ensemble_handle):
    data = tree_ensemble_handle.read().data
    return np.int64(tree_ensemble_handle.stamp), data


@host("IsBoostedTreesEnsembleInitialized")
def is_ensemble_initialized(tree_ensemble_handle):
    return np.array(tree_ensemble_handle.ensemble is not None)


@host("BoostedTreesGetEnsembleStates")
def ensemble_states(tree_ensemble_handle):
    ensemble = tree_ensemble_handle.read()
    trees = len(ensemble.roots)
    finished = trees - (
        trees > 0 and not (len(ensemble.finalized) >= trees and ensemble.finalized[trees - 1])
    )
    last = np.array(ensemble.last_layer, np.int32)
    return np.int64(tree_ensemble_handle.stamp), trees, finished, ensemble.layers_attempted, last


@host("BoostedTreesPredict")
def predict(tree_ensemble_handle, bucketized_features, *, num_bucketized_features, logits_dimension):
    ensemble = tree_ensemble_handle.read()
    rows = len(bucketized_features[0])
    if not len(ensemble.roots):
        return np.zeros((rows, logits_dimension), np.float32)
    leaves = ensemble.leaves(bucketized_features)
    counts = ensemble.value_counts[leaves]
    if (counts != logits_dimension).any():
        raise RunFailed(
            f"each leaf of the ensemble must have {logits_dimension} logits, "
            f"found {np.unique(counts).tolist()}"
        )
    logits = ensemble.values[leaves] * ensemble.weights[:, None]
    return np.cumsum(logits, axis=1, dtype=np.float32)[:, -1]


@host("BoostedTreesExampleDebugOutputs")
def example_debug_outputs(
    tree_ensemble_handle, bucketized_features, *, num_bucketized_features, logits_dimension
):
    if logits_dimension != 1:
        raise RunFailed(f"logits_dimension must be 1 for debug outputs, found {logits_dimension}")
    ensemble = tree_ensemble_handle.read()
    if not len(ensemble.roots):
        raise RunFailed("the ensemble must have at least one tree for debug outputs")
    return string_array(ensemble.debug_outputs(bucketized_features))


@host("BoostedTreesBucketize")
def bucketize(float_values, bucket_boundaries, *, num_features):
    return [_buckets(*feature) for feature in zip(float_values, bucket_boundaries, strict=True)]


def _buckets(values: Any, boundaries: Any) -> Any:
    if values.ndim != 1 or boundaries.ndim != 1:
        raise RunFailed(
            f"values and boundaries must be vectors, found shapes {values.shape} and {boundaries.shape}"
        )
    buckets = np.searchsorted(boundaries, values, "left")
    return np.minimum(buckets, max(len(boundaries) - 1, 0)).astype(np.int32)


@host("BoostedTreesQuantileStreamResourceHandleOp", once=True)
def quantile_handle(*, container, shared_name, context):
    return context.state.resource(
        QuantileStreams, f"{container}/{shared_name or context.name}", QuantileStreams
    )


@host("BoostedTreesCreateQuantileStreamResource")
def create_quantiles(quantile_stream_resource_handle, epsilon, num_streams, *, max_elements):
    if not 0 <= int(num_streams) <= 1 << 20 or not epsilon > 0:
        raise RunFailed(
            f"num_streams must be in [0, {1 << 20}] and epsilon positive, "
            f"found {int(num_streams)} and {epsilon}"
        )
    if quantile_stream_resource_handle.boundaries is None:
        quantile_stream_resource_handle.boundaries = [np.empty(0, np.float32)] * int(num_streams)


@host("IsBoostedTreesQuantileStreamResourceInitialized")
def is_quantiles_initialized(quantile_stream_resource_handle):
    return np.array(quantile_stream_resource_handle.boundaries is not None)


@host("BoostedTreesQuantileStreamResourceDeserialize")
def deserialize_quantiles(quantile_stream_resource_handle, bucket_boundaries, *, num_streams):
    quantile_stream_resource_handle.read()
    quantile_stream_resource_handle.boundaries = list(bucket_boundaries)


@host("BoostedTreesQuantileStreamResourceGetBucketBoundaries")
def bucket_boundaries(quantile_stream_resource_handle, *, num_features):
    boundaries = quantile_stream_resource_handle.read()
    if len(boundaries) != num_features:
        raise RunFailed(f"num_features must be {len(boundaries)}, found {num_features}")
    return list(boundaries)
