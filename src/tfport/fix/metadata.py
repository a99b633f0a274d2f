"""Metadata of the rewritten file for the target: versions, the list of ops, leftover attributes."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.refused_shapes import OUTPUT_SHAPES
from tfport.fix.journal import Journal
from tfport.fix.structure.session_form import collect_assets
from tfport.graph.attrs import Attr
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import MERGES
from tfport.graph.reach import every_node, in_order, on_cycle

CLASS = "_class"
LOCATION = "loc:@"
KEPT = (CLASS, "_kernel", "_lower_using_switch_merge")
"""Attributes that no op declares, but that a session uses."""


def producer_for(model: Model, target: Target) -> int:
    """The producer version of the rewritten graph: its own, or the target's if that is older."""
    own = model.graph.rest.versions.producer or model.graph.rest.version
    known = target.build.facts.get("graph_def", {}).get("producer") if target.build is not None else None
    return min(own, int(known)) if known and own else own


def update_metadata(model: Model, target: Target, producer: int, journal: Journal, *, flat: bool) -> None:
    """Set versions, drop unused hints, and list the target's definitions of the used ops."""
    versions = model.graph.rest.versions
    model.graph.rest.ClearField("debug_info")
    if producer:
        versions.producer, versions.min_consumer = producer, 0
        versions.ClearField("bad_consumers")
    if flat:
        _strip(model, journal)
    _sort(model.graph)
    collect_assets(model.meta)
    _clean_collections(model)
    info = model.meta.meta_info_def
    if target.build is not None and model.meta.ByteSize():
        info.tensorflow_version = target.build.version
        info.ClearField("tensorflow_git_version")
    if info.HasField("stripped_op_list"):
        used = sorted({node.op for node in every_node(model.graph)})
        info.ClearField("stripped_op_list")
        info.stripped_op_list.op.extend(d for op in used if (d := target.registry.get(op)) is not None)


def _clean_collections(model: Model) -> None:
    """Drop names of tensors and nodes that the graph no longer has: Python looks all of them up."""
    for name, collection in list(model.meta.collection_def.items()):
        names = collection.node_list.value
        kept = [n for n in names if (model.has_tensor(n) if ":" in n else model.graph.find(n) is not None)]
        if len(kept) < len(names):
            del names[:]
            names.extend(kept)
            if not kept:
                del model.meta.collection_def[name]


def _sort(graph: Graph) -> None:
    """Put every node after its inputs: TensorFlow 1.4 infers shapes in Python in the order of the file."""
    before: set[Node] = set()
    for node in graph:
        needs = {*(value.node for value in node.inputs), *node.controls}
        if node.op not in MERGES and not needs <= before:
            break
        before.add(node)
    else:
        return
    if on_cycle(graph) is None:
        graph.nodes = {node.name: node for node in in_order(graph)}


def _strip(model: Model, journal: Journal) -> None:
    """Drop attributes that no op declares: hints, and colocation with removed nodes."""
    changed = []
    for node in every_node(model.graph):
        loose = [name for name in node.attrs if name.startswith("_") and name not in KEPT]
        for name in loose:
            del node.attrs[name]
        if CLASS in node.attrs:
            _drop_lost_colocations(model, node.attrs)
        node.become(node.op, node.attrs)  # also drops `node.record`, the NodeDef of the file
        if loose:
            changed.append((node.name, node.op))
    journal.changed("stripped", "Hints that no op declares, such as inferred shapes, are removed.", changed)


def drop_inferred_shapes(model: Model, journal: Journal) -> None:
    """Drop the shapes that the writer of the file inferred: importing it infers them again."""
    changed = []
    for node in every_node(model.graph):
        if OUTPUT_SHAPES in node.attrs:
            attrs = {name: value for name, value in node.attrs.items() if name != OUTPUT_SHAPES}
            node.become(node.op, attrs)
            changed.append((node.name, node.op))
    says = "Inferred shapes stored in the file are removed; the target infers them itself."
    journal.changed("without inferred shapes", says, changed)


def _drop_lost_colocations(model: Model, attrs: dict[str, Attr]) -> None:
    locations = attrs[CLASS]
    existing = [
        location
        for location in (locations if isinstance(locations, list) else [])
        if isinstance(location, str) and location.removeprefix(LOCATION) in model.graph.nodes
    ]
    if existing:
        attrs[CLASS] = existing
    else:
        del attrs[CLASS]
