"""Inference ops of TensorFlow Decision Forests: load a forest from the model's assets, and ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.yggdrasil.read import read_forest, read_nodes
from tfport.runtime.lower import Context, host
from tfport.runtime.ops.forests.forest import Forest
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes, scalar_value

if TYPE_CHECKING:
    from tfport.runtime.state import State

LEAVES = b"LEAVES"


class ForestResource:
    """A named forest; None until it is loaded."""

    def __init__(self) -> None:
        self.forest: Forest | None = None

    def read(self) -> Forest:
        if self.forest is None:
            raise RunFailed("the decision forest was used before it was loaded")
        return self.forest

    def load(self, path: Any, prefix: str, state: State) -> None:
        """Load the model in a folder of the assets."""
        folder = scalar_value(path, "path").decode(errors="replace")
        folder = folder.replace("\\", "/").rstrip("/")
        files = state.own_files(f"{folder}/{prefix}")
        model = read_forest(files, folder, prefix)
        self.forest = Forest(model, read_nodes(files, folder, prefix, model))


@host("SimpleMLCreateModelResource", once=True)
def create_model_resource(*, container, shared_name, context):
    return context.state.resource(
        ForestResource, f"{container}/{shared_name or context.name}", ForestResource
    )


@host("SimpleMLLoadModelFromPathWithHandle")
def load_model_with_handle(model_handle, path, *, output_types, file_prefix, allow_slow_inference, context):
    for output in map(attr_bytes, output_types):
        if output != LEAVES:
            raise RunFailed(f"output_types must be LEAVES, found {output!r:.80}")
    model_handle.load(path, attr_bytes(file_prefix).decode(errors="replace"), context.state)


@host("SimpleMLLoadModelFromPath")
def load_model(path, *, model_identifier, context):
    resource = _named(model_identifier, context)
    if resource.forest is None:
        resource.load(path, "", context.state)


def _named(identifier: Any, context: Context) -> ForestResource:
    name = "simple_ml/" + attr_bytes(identifier).decode(errors="replace")
    return context.state.resource(ForestResource, name, ForestResource)


@host("SimpleMLInferenceOpWithHandle")
def inference_with_handle(
    numerical_features,
    boolean_features,
    categorical_int_features,
    categorical_set_int_features_values,
    categorical_set_int_features_row_splits_dim_1,
    categorical_set_int_features_row_splits_dim_2,
    model_handle,
    *,
    dense_output_dim,
):
    banks = [
        numerical_features,
        boolean_features,
        categorical_int_features,
        categorical_set_int_features_values,
        categorical_set_int_features_row_splits_dim_1,
        categorical_set_int_features_row_splits_dim_2,
    ]
    return _answers(model_handle.read(), banks, dense_output_dim)


@host("SimpleMLInferenceOp")
def inference(
    numerical_features,
    boolean_features,
    categorical_int_features,
    categorical_set_int_features_values,
    categorical_set_int_features_row_splits_dim_1,
    categorical_set_int_features_row_splits_dim_2,
    *,
    model_identifier,
    dense_output_dim,
    context,
):
    banks = [
        numerical_features,
        boolean_features,
        categorical_int_features,
        categorical_set_int_features_values,
        categorical_set_int_features_row_splits_dim_1,
        categorical_set_int_features_row_splits_dim_2,
    ]
    return _answers(_named(model_identifier, context).read(), banks, dense_output_dim)


@host("SimpleMLInferenceLeafIndexOpWithHandle")
def leaf_index_with_handle(
    numerical_features,
    boolean_features,
    categorical_int_features,
    categorical_set_int_features_values,
    categorical_set_int_features_row_splits_dim_1,
    categorical_set_int_features_row_splits_dim_2,
    model_handle,
):
    return model_handle.read().leaf_indices(
        [
            numerical_features,
            boolean_features,
            categorical_int_features,
            categorical_set_int_features_values,
            categorical_set_int_features_row_splits_dim_1,
            categorical_set_int_features_row_splits_dim_2,
        ]
    )


def _answers(forest: Forest, banks: list[Any], outputs: int) -> tuple[Any, Any]:
    names = forest.column_names()
    if len(names) != outputs:
        raise RunFailed(f"dense_output_dim must be {len(names)}, the outputs of the forest, found {outputs}")
    predictions = forest.predict(banks)
    if predictions.shape[1] != outputs:
        raise RunFailed(f"the forest has {predictions.shape[1]} outputs, expected {outputs}")
    return np.ascontiguousarray(predictions, np.float32), string_array(names)
