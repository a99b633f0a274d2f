"""How a TensorFlow.js graph model is recognized: by the fields of its JSON.

Converters before 1.0 wrote a GraphDef and a manifest with fixed names instead. Other files
that the TensorFlow.js converter writes have rows here too.
"""

from __future__ import annotations

import posixpath
import re

from tfport.formats.files import Files
from tfport.formats.format import ModelFormat, ModelLocation, OtherFile, Sample, with_suffix

MODEL = "model.json"
OLD_GRAPH, OLD_MANIFEST = "tensorflowjs_model.pb", "weights_manifest.json"
"""The graph and the list of weights that converters before 1.0 wrote."""
FORMAT = re.compile(rb'"format"\s*:\s*"(graph-model|layers-model)"')
TOPOLOGY = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{')
GRAPH = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{\s*"(?:node|library|versions)"')
MANIFEST = re.compile(rb'"(weights|paths)"\s*:')
SHARD_NAME = re.compile(r"group\d+-shard\d+of\d+(\.bin)?")


def stated_format(sample: Sample) -> bytes:
    stated = FORMAT.search(sample.json)
    return stated[1] if stated else b""


def is_tfjs_model(sample: Sample) -> bool:
    return is_in_old_pair(sample) or is_graph_model(sample)


def is_in_old_pair(sample: Sample) -> bool:
    """Whether a file is the graph of an old pair, or the manifest beside one."""
    name = posixpath.basename(sample.name)
    return name == OLD_GRAPH or (name == OLD_MANIFEST and sample.files.has(beside(sample.name, OLD_GRAPH)))


def beside(name: str, other: str) -> str:
    return posixpath.join(posixpath.dirname(name), other)


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


def locate(files: Files, name: str) -> ModelLocation:
    """The model of a file: the old manifest belongs to the graph beside it."""
    name = beside(name, OLD_GRAPH) if posixpath.basename(name) == OLD_MANIFEST else name
    return ModelLocation(TFJS, files, name, files.label(name))


def candidates(names: list[str]) -> list[list[str]]:
    usual = [[name] for name in (MODEL, OLD_GRAPH) if name in names]
    return usual or [with_suffix(names, ".json")]


TFJS = ModelFormat(
    "TensorFlow.js graph model",
    is_tfjs_model,
    key="tfjs",
    locate=locate,
    folder_rank=3,
    candidates=candidates,
    accepts=("tfjs",),
)
WEIGHTS_MANIFEST = OtherFile(
    "a TensorFlow.js weights manifest, without a graph",
    is_manifest,
    instead="use the model.json with a `modelTopology`",
)
WEIGHTS_SHARD = OtherFile(
    "a part of the weights of a TensorFlow.js model",
    lambda sample: SHARD_NAME.fullmatch(sample.name) is not None,
    instead="use the model.json next to it",
)
