"""How a TensorFlow.js graph model is recognized: by the fields of its JSON.

Other files that the TensorFlow.js converter writes have rows here too.
"""

from __future__ import annotations

import re

from tfport.formats.format import ModelFormat, OtherFile, with_suffix
from tfport.formats.sample import Sample

MODEL = "model.json"
FORMAT = re.compile(rb'"format"\s*:\s*"(graph-model|layers-model)"')
TOPOLOGY = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{')
GRAPH = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{\s*"(?:node|library|versions)"')
MANIFEST = re.compile(rb'"(weights|paths)"\s*:')
SHARD_NAME = re.compile(r"group\d+-shard\d+of\d+(\.bin)?")


def stated_format(sample: Sample) -> bytes:
    stated = FORMAT.search(sample.json)
    return stated[1] if stated else b""


def is_graph_model(sample: Sample) -> bool:
    if stated_format(sample) == b"layers-model":
        return False
    return bool(GRAPH.search(sample.json) or (stated_format(sample) and TOPOLOGY.search(sample.json)))


def is_layers_model(sample: Sample) -> bool:
    has_topology = TOPOLOGY.search(sample.json) is not None
    return stated_format(sample) == b"layers-model" or (has_topology and not is_graph_model(sample))


def is_manifest(sample: Sample) -> bool:
    head = sample.head if sample.encoding == "json" else b""
    return MANIFEST.search(head) is not None and head.lstrip()[:1] == b"["


TFJS = ModelFormat(
    "TensorFlow.js graph model",
    is_graph_model,
    key="tfjs",
    folder_rank=2,
    candidates=lambda names: [[MODEL] if MODEL in names else with_suffix(names, ".json")],
    accepts=("tfjs",),
)
LAYERS_MODEL = OtherFile(
    "a TensorFlow.js layers model",
    is_layers_model,
    instead="its layers are Keras code, not a graph; convert the Keras model with model.export('folder')",
)
WEIGHTS_MANIFEST = OtherFile(
    "a TensorFlow.js weights manifest, without a graph",
    is_manifest,
    instead="use the model.json with a `modelTopology`",
)
WEIGHTS_SHARD = OtherFile(
    "a part of the weights of a TensorFlow.js model",
    lambda sample: SHARD_NAME.fullmatch(sample.name) is not None,
    instead="use the model.json beside it",
)
