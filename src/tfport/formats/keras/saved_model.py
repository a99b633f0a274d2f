"""The Keras configuration in a SavedModel.

Keras 2 stores the configuration of a model beside its graph: since TensorFlow 2.5 in
`keras_metadata.pb`, before in the objects of `saved_model.pb`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfport.errors import UnreadableFile
from tfport.formats.encoding.wire import LENGTH, content, read_varint, walk
from tfport.formats.files import Files
from tfport.formats.keras.records import Json, KerasFile, UnsafeContent
from tfport.formats.keras.stored_json import json_object, text_of
from tfport.formats.keras.unsafe import unsafe_config
from tfport.formats.proto.saved_model_pb2 import SavedObjectGraph

METADATA_FILE = "keras_metadata.pb"
NODES, NUMBER, PATH, IDENTIFIER, METADATA = 1, 2, 3, 4, 5
"""Field numbers of the message in the file, and of each object in it."""
SAVED_MODEL = "saved_model"
"""The layout of a KerasFile from a SavedModel."""
ROOT = "root"
PREFIX = "_tf_keras"
SEQUENCES = ("__tuple__", "TensorShape")
"""The classes of objects that have `items`."""


def keras_config_of_saved_model(files: Files, objects: SavedObjectGraph | None) -> KerasFile | None:
    """The configuration of the Keras model that a SavedModel was saved from; None if there is none.

    `objects` are those of the MetaGraph, if it is read already. The weights are in the SavedModel.
    """
    if files.has(METADATA_FILE):
        text, where = _root_in_file(files), files.label(METADATA_FILE)
    else:
        text, where = _root_in_objects(objects), files.where
    if not text:
        return None
    metadata = _plain(json_object(text, f"{where}: the metadata of the model"))
    config = _model_config(metadata)
    training = metadata.get("training_config")
    return KerasFile(
        where=files.where,
        layout=SAVED_MODEL,
        config=config,
        weights=None,
        keras_version=text_of(metadata.get("keras_version")),
        backend=text_of(metadata.get("backend")),
        training=training if isinstance(training, dict) else None,
        unsafe=unsafe_config(config),
    )


def names_of_objects(files: Files, objects: SavedObjectGraph) -> dict[int, str]:
    """The name of each layer and model of Keras, by the number of its object."""
    return {
        number: text_of(stored.get("name")) for number, stored in metadata_of_objects(files, objects).items()
    }


def metadata_of_objects(files: Files, objects: SavedObjectGraph) -> dict[int, Mapping[str, Json]]:
    """What Keras stored with each layer and model, by the number of its object: name, class, options."""
    texts: Iterable[tuple[int, bytes]]
    if files.has(METADATA_FILE):
        texts = [(number, text) for number, _, text in _nodes_in_file(files)]
    else:
        texts = [
            (number, node.user_object.metadata.encode())
            for number, node in enumerate(objects.nodes)
            if node.user_object.identifier.startswith(PREFIX)
        ]
    where = f"{files.where}: the metadata of a Keras object"
    return {number: _plain(json_object(text, where)) for number, text in texts if text}


def unsafe_of_saved_model(files: Files, objects: SavedObjectGraph | None) -> list[UnsafeContent]:
    """The unsafe content of all Keras objects in a SavedModel, also of layers inside a subclassed model."""
    texts = [text for _, _, text in _nodes_in_file(files)] if files.has(METADATA_FILE) else []
    for node in objects.nodes if objects is not None else ():
        if node.user_object.identifier.startswith(PREFIX):
            texts.append(node.user_object.metadata.encode())
    unsafe: dict[UnsafeContent, None] = {}
    for text in filter(None, texts):
        config = _plain(json_object(text, f"{files.where}: the metadata of a Keras object"))
        unsafe.update(dict.fromkeys(unsafe_config(config)))
    return list(unsafe)


def _plain(value: Json) -> Json:
    """The metadata with tuples and shapes as lists, as files of Keras have them."""
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") in SEQUENCES and isinstance(value.get("items"), list):
        return _plain(value["items"])
    return {key: _plain(inner) for key, inner in value.items()}


def _root_in_file(files: Files) -> bytes:
    """The metadata of the object with the path `root`."""
    return next((text for _, path, text in _nodes_in_file(files) if path == ROOT), b"")


def _nodes_in_file(files: Files) -> Iterator[tuple[int, str, bytes]]:
    """The number, the path and the metadata of each Keras object."""
    data = files.map(METADATA_FILE)
    nodes = walk(data)
    if nodes.fault:
        raise UnreadableFile(
            f"{files.label(METADATA_FILE)}, byte {nodes.fault.at}: the Keras metadata {nodes.fault.why}"
        )
    for node in nodes.fields:
        if node.number == NODES and node.wire == LENGTH:
            inner = content(data, node)
            fields = {f.number: bytes(content(inner, f)) for f in walk(inner).fields}
            if fields.get(IDENTIFIER, b"").startswith(PREFIX.encode()):
                number, _ = read_varint(fields.get(NUMBER, b"\0"), 0)
                path = fields.get(PATH, b"").decode("utf-8", "replace")
                yield number or 0, path, fields.get(METADATA, b"")


def _root_in_objects(objects: SavedObjectGraph | None) -> bytes:
    if objects is None or not objects.nodes:
        return b""
    root = objects.nodes[0].user_object
    return root.metadata.encode() if root.identifier.startswith(PREFIX) else b""


def _model_config(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """The stored model. A subclassed model has a class name, and often no configuration."""
    nested = metadata.get("model_config")
    if isinstance(nested, dict) and isinstance(nested.get("class_name"), str):
        return nested
    return {"class_name": text_of(metadata.get("class_name")), "config": metadata.get("config")}
