"""The weights of a checkpoint by the Python objects that own them: of a SavedModel, or of `save_weights`.

TensorFlow stores with such a checkpoint which object has which attributes. An array is found by the
attributes that lead to it, as `layer-1`, `cell`, `kernel`; the keys of the tensors do not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from tfport.errors import Error, UnreadableFile
from tfport.formats.checkpoint.read import Checkpoint
from tfport.formats.encoding.message import parse_message
from tfport.formats.keras.records import BY_OBJECT, StoredWeight, StoredWeights, TrackedObject
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.dtypes import DType
from tfport.startup.dataclass import dataclass

OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE, KEYS, VALUES = "VARIABLE_VALUE", "-keys", "-values"
NOT_OF_LAYERS = ("optimizer", "signatures", "keras_api", "save_counter", "_functional")
"""Attributes of a model that do not lead to weights of its layers, or lead to them again."""


Table = tuple[StoredWeight, StoredWeight]


@dataclass(frozen=True, slots=True)
class SavedObjects:
    """What a SavedModel says about the objects in its checkpoint, which has numbers of its own."""

    nodes: Sequence[pb.SavedObject]
    names: Mapping[int, str]
    """The names of layers by the number of their object."""
    tables: Mapping[int, Table]
    """The contents of tables that are part of the graph, by the number of their object."""


def tracked_weights(checkpoint: Checkpoint, saved: SavedObjects | None = None) -> StoredWeights:
    """The weights of a checkpoint; `saved` is what the SavedModel around it says."""
    if OBJECTS not in checkpoint:
        raise UnreadableFile(
            f"{checkpoint.where}: its tensors have names of a graph and do not say which layer has them; "
            "expected what `model.save_weights` of TensorFlow 2 writes"
        )
    raw = bytes(checkpoint.read(OBJECTS).reshape(-1)[0])
    nodes = parse_message(pb.TrackableObjectGraph, raw, f"{checkpoint.where}: {OBJECTS}").nodes
    objects = [_object(node, checkpoint) for node in nodes]
    if not objects:
        raise UnreadableFile(f"{checkpoint.where}: {OBJECTS}: expected the objects of a model, found none")
    for number, node in enumerate(nodes):
        for child in node.children:
            if 0 <= child.node_id < len(objects):
                objects[number].children[child.local_name] = objects[child.node_id]
    if saved is not None and saved.nodes:
        _describe(objects, nodes, saved)
    return StoredWeights(BY_OBJECT, _lists(objects[0]), root=objects[0])


def _object(node: pb.TrackableObjectGraph.TrackableObject, checkpoint: Checkpoint) -> TrackedObject:
    tracked = TrackedObject()
    for attribute in node.attributes:
        key = attribute.checkpoint_key
        stem = key.removesuffix(KEYS).removesuffix(VALUES)
        if attribute.name == VALUE and key in checkpoint:
            tracked.weight = _stored(checkpoint, key)
        elif stem + KEYS in checkpoint and stem + VALUES in checkpoint:
            tracked.table = _stored(checkpoint, stem + KEYS), _stored(checkpoint, stem + VALUES)
    return tracked


def _stored(checkpoint: Checkpoint, key: str) -> StoredWeight:
    entry = checkpoint.entry(key)
    try:
        dtype = DType.of(entry.dtype).name
    except Error:
        dtype = ""
    return StoredWeight(key, dtype, entry.shape, lambda: checkpoint.read(key))


def _describe(
    objects: list[TrackedObject],
    nodes: Sequence[pb.TrackableObjectGraph.TrackableObject],
    saved: SavedObjects,
) -> None:
    """Name the objects of the checkpoint as the SavedModel does, following the same attributes in both."""
    waiting, seen = deque([(0, 0)]), {0}
    while waiting:
        here, there = waiting.popleft()
        objects[here].name, objects[here].number = saved.names.get(there, ""), there
        objects[here].table = objects[here].table or saved.tables.get(there)
        numbers = {child.local_name: child.node_id for child in saved.nodes[there].children}
        for child in nodes[here].children:
            other = numbers.get(child.local_name, -1)
            is_new = child.node_id not in seen and 0 <= child.node_id < len(objects)
            if is_new and 0 <= other < len(saved.nodes):
                seen.add(child.node_id)
                waiting.append((child.node_id, other))


def _lists(root: TrackedObject) -> dict[str, list[StoredWeight]]:
    """The weights by the shortest path of the object that owns them."""
    lists: dict[str, list[StoredWeight]] = {}
    waiting, seen = deque([("", root)]), {id(root)}
    while waiting:
        path, owner = waiting.popleft()
        for attribute, child in owner.children.items():
            if id(child) in seen or attribute in NOT_OF_LAYERS:
                continue
            seen.add(id(child))
            if child.weight is not None:
                lists.setdefault(path, []).append(child.weight)
            waiting.append((f"{path}/{attribute}".strip("/"), child))
    return lists
