"""Read a TensorFlow.js graph model: a GraphDef with its constants in files beside it.

`read_tfjs(files, "model.json")` reads the JSON that converters write since 1.0;
`read_tfjs(files, "tensorflowjs_model.pb")` the GraphDef and the manifest that older ones
wrote. The values of Const nodes are not in the graph. They are in `weights`, by node
name, and read on request.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from tfport.errors import NotAModel, UnreadableFile
from tfport.formats.encoding.json_text import parse_json
from tfport.formats.files import Files
from tfport.formats.graph_def.read import read_graph_def
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto.saved_model_pb2 import SignatureDef
from tfport.formats.tfjs.message_json import fill
from tfport.formats.tfjs.signature import OLD_GRAPH, OLD_MANIFEST
from tfport.formats.tfjs.weights import TfjsWeights
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class TfjsModel:
    """The contents of a model.json, or of the two files that converters before 1.0 wrote."""

    graph: pb.GraphDef
    weights: TfjsWeights
    """The constants of both graphs and their functions, by node name."""
    signature: SignatureDef | None = None
    initializer: pb.GraphDef | None = None
    """A graph that runs once to initialize tables; only some models have it."""
    initializer_signature: SignatureDef | None = None
    captured: Mapping[str, str] = field(default_factory=dict)
    """Inputs of the signature that callers do not pass, and the initializer outputs used for them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""
    generated_by: str = ""
    converted_by: str = ""


def read_tfjs(files: Files, name: str) -> TfjsModel:
    """The graph model that a JSON file, or the graph of an old pair of files, describes."""
    label = files.label(name)
    beside = files.under(posixpath.dirname(name))
    if posixpath.basename(name) == OLD_GRAPH:
        return TfjsModel(read_graph_def(files, name), old_weights(beside, label))
    data = parse_json(files.map(name), label, dict)
    try:
        return model_from(data, beside, label)
    except RecursionError:
        raise UnreadableFile(f"{label}: the objects are nested too deeply") from None


def old_weights(beside: Files, graph: str) -> TfjsWeights:
    """The weights of an old pair of files, which has the manifest in a file of its own."""
    label = beside.label(OLD_MANIFEST)
    if not beside.has(OLD_MANIFEST):
        raise UnreadableFile(f"{label}: missing; it lists the weights of {graph}")
    return TfjsWeights(parse_json(beside.map(OLD_MANIFEST), label, list), beside, label)


def model_from(data: dict[str, Any], beside: Files, label: str) -> TfjsModel:
    topology = either(data, "modelTopology", "model_topology")
    if not isinstance(topology, dict) or not isinstance(topology.get("node"), list):
        raise NotAModel(f"{label}: expected a graph of nodes in `modelTopology`, found none")
    metadata = data.get("userDefinedMetadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    # converters up to 2.x store the signature there
    signature = data.get("signature") or metadata.get("signature")
    starts = either(data, "initializerSignature", "initializer_signature")
    return TfjsModel(
        graph=graph_from(topology, f"{label}: modelTopology"),
        weights=TfjsWeights(either(data, "weightsManifest", "weights_manifest"), beside, label),
        signature=signature_from(signature, f"{label}: signature"),
        initializer=initializer_from(either(data, "modelInitializer", "model_initializer"), label),
        initializer_signature=signature_from(starts, f"{label}: initializerSignature"),
        captured=captured(signature, starts),
        metadata=metadata,
        **{ours: text(data.get(theirs)) for ours, theirs in STRINGS.items()},
    )


STRINGS = {"format": "format", "generated_by": "generatedBy", "converted_by": "convertedBy"}


def either(data: dict[str, Any], camel: str, snake: str) -> Any:
    return data.get(camel, data.get(snake))


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def graph_from(topology: object, where: str) -> pb.GraphDef:
    graph = pb.GraphDef()
    fill(graph, topology, where)
    return graph


def initializer_from(topology: object, label: str) -> pb.GraphDef | None:
    """The initializer graph; converters write an empty object if there is none."""
    has_nodes = isinstance(topology, dict) and topology.get("node")
    return graph_from(topology, f"{label}: modelInitializer") if has_nodes else None


def signature_from(data: object, where: str) -> SignatureDef | None:
    if not data:
        return None
    signature = SignatureDef()
    fill(signature, data, where)
    return signature


def captured(signature: object, starts: object) -> dict[str, str]:
    """Match inputs and initializer outputs by their resource number."""
    made = {number: name for name, number in resources(starts, "outputs")}
    return {name: made[number] for name, number in resources(signature, "inputs") if number in made}


def resources(signature: object, side: str) -> list[tuple[str, int]]:
    infos = signature.get(side) if isinstance(signature, dict) else None
    if not isinstance(infos, dict):
        return []
    numbers = [(name, info.get("resourceId")) for name, info in infos.items() if isinstance(info, dict)]
    return [(name, number) for name, number in numbers if isinstance(number, int)]
