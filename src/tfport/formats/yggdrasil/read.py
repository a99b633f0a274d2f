"""Read a model of Yggdrasil Decision Forests: the folder that TF-DF puts into the assets of a SavedModel.

`read_forest(files, folder, prefix)` reads the headers, `read_nodes` the trees. Nothing in the files is
trusted: every index and size is checked, and an error is one sentence. What the trees answer is computed by
`runtime.ops.forests`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.encoding.message import read_message
from tfport.formats.encoding.message_columns import MalformedMessages
from tfport.formats.files import Files
from tfport.formats.proto import yggdrasil_pb2 as pb
from tfport.formats.yggdrasil.blobs import node_spans
from tfport.formats.yggdrasil.node_columns import NodeReader
from tfport.formats.yggdrasil.records import (
    BOOSTED_TREES,
    DATA_SPEC,
    ISOLATION_FOREST,
    RANDOM_FOREST,
    ForestColumnRecord,
    ForestModel,
    ForestNodes,
)

HEADERS: dict[str, tuple[str, Any]] = {
    RANDOM_FOREST: ("random_forest_header.pb", pb.RandomForestHeader),
    BOOSTED_TREES: ("gradient_boosted_trees_header.pb", pb.GradientBoostedTreesHeader),
    ISOLATION_FOREST: ("isolation_forest_header.pb", pb.IsolationForestHeader),
}
MOST_SHARDS = 10_000
MOST_DEPTH = 10_000
MOST_TREES = 1 << 24


def read_kind(files: Files, folder: str, prefix: str = "") -> str:
    """What the header of a model calls it, also if `read_forest` does not know such models."""
    header = read_message(pb.ForestModelHeader, files, f"{_base(folder, prefix)}header.pb")
    return header.name.decode(errors="replace")


def _base(folder: str, prefix: str) -> str:
    return f"{folder.rstrip('/')}/{prefix}" if folder else prefix


def read_forest(files: Files, folder: str, prefix: str = "") -> ForestModel:
    """The headers of the model in a folder whose file names start with `prefix`."""
    base = _base(folder, prefix)
    header = read_message(pb.ForestModelHeader, files, f"{base}header.pb")
    where = files.label(f"{base}header.pb")
    kind = header.name.decode(errors="replace")
    if kind not in HEADERS:
        raise UnreadableFile(f"{where}: expected {', '.join(HEADERS)}, found a model `{kind[:80]}`")
    spec = read_message(pb.ForestDataSpec, files, base + DATA_SPEC)
    columns = tuple(map(_column, spec.columns))
    for index in (*header.input_features, header.label_col_idx):
        if not -1 <= index < len(columns):
            raise UnreadableFile(f"{where}: column {index} is not among the {len(columns)} of data_spec.pb")
    if min(header.input_features, default=0) < 0 or header.uplift_treatment_col_idx >= len(columns):
        raise UnreadableFile(f"{where}: a feature is not among the {len(columns)} columns of data_spec.pb")
    name, message = HEADERS[kind]
    own = read_message(message, files, base + name)
    if not 0 <= own.num_trees <= MOST_TREES or not 0 <= own.num_node_shards <= MOST_SHARDS:
        raise UnreadableFile(
            f"{files.label(base + name)}: expected at most {MOST_TREES} trees in {MOST_SHARDS} files, "
            f"found {own.num_trees} in {own.num_node_shards}"
        )
    return ForestModel(
        kind=kind,
        task=pb.ForestModelHeader.Task.Name(header.task),
        columns=columns,
        features=tuple(header.input_features),
        label=header.label_col_idx,
        treatment=header.uplift_treatment_col_idx,
        outputs_probabilities=header.classification_outputs_probabilities,
        trees=own.num_trees,
        shards=own.num_node_shards,
        node_format=own.node_format.decode(errors="replace"),
        framework=header.metadata.framework.decode(errors="replace")[:80],
        **_own_fields(kind, own),
    )


def _own_fields(kind: str, own: Any) -> dict[str, Any]:
    if kind == RANDOM_FOREST:
        return {"winner_take_all": own.winner_take_all_inference}
    if kind == ISOLATION_FOREST:
        return {"examples_per_tree": own.num_examples_per_trees}
    return {
        "loss": pb.GradientBoostedTreesHeader.Loss.Name(own.loss),
        "initial": tuple(own.initial_predictions),
        "trees_per_iteration": own.num_trees_per_iter,
        "output_logits": own.output_logits,
    }


def _column(column: pb.ForestColumn) -> ForestColumnRecord:
    categorical = column.categorical
    return ForestColumnRecord(
        name=column.name.decode(errors="replace"),
        type=pb.ForestColumn.Type.Name(column.type),
        mean=column.numerical.mean,
        most_frequent=categorical.most_frequent_value,
        values=categorical.number_of_unique_values,
        mostly_true=column.boolean.count_true >= column.boolean.count_false,
        boundaries=np.array(column.discretized_numerical.boundaries, np.float32),
        vocabulary={}
        if categorical.is_already_integerized
        else {item.value.index: item.key for item in categorical.items},
    )


def read_nodes(files: Files, folder: str, prefix: str, forest: ForestModel) -> ForestNodes:
    """The trees of a forest."""
    base = f"{_base(folder, prefix)}nodes"
    names = [f"{base}-{shard:05d}-of-{forest.shards:05d}" for shard in range(forest.shards)]
    if not names:
        raise UnreadableFile(f"{files.label(base)}: the forest has no files with nodes")
    data, start, end = node_spans(files, names, forest.node_format)
    try:
        nodes = NodeReader(data, start, end, forest).read()
    except MalformedMessages as error:
        raise UnreadableFile(f"{files.label(names[0])}: a node is malformed: {error.why}") from None
    if len(nodes.depth) and nodes.depth.max() > MOST_DEPTH:
        raise UnreadableFile(
            f"{files.label(names[0])}: expected at most {MOST_DEPTH} levels, found {nodes.depth.max()}"
        )
    return nodes
