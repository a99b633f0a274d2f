"""What is in a model: an `Inspection`, gathered once and shown as text or JSON.

It describes; whether the model runs somewhere is not asked here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tfport.atlas.known_ops import KnownOps
from tfport.errors import UnreadableFile
from tfport.formats.checkpoint import Checkpoint
from tfport.formats.kinds import Kind
from tfport.graph.census import Census, census, every_node
from tfport.graph.dtypes import DType
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.graph.state import Asset, Table, Variable, assets, tables, variables

VERSION = 1


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of the checkpoint, and the variable that it fills, where one is known."""

    key: str
    dtype: DType
    shape: Shape
    nbytes: int | None
    variable: str | None = None


@dataclass
class Inspection:
    """What `tfport inspect` tells of a model."""

    model: str
    kind: Kind
    tags: tuple[str, ...]
    tag_sets: list[tuple[str, ...]]
    tensorflow: str
    graph_def: int
    min_consumer: int
    made_with: list[str]
    signatures: dict[str, Signature]
    inputs: dict[str, TensorSpec]
    """For a graph without signatures: its placeholders."""
    outputs: list[str]
    """For a graph without signatures: the nodes whose results nothing reads."""
    nodes: int
    functions: int
    census: Census
    custom_ops: Counter[str]
    contrib_ops: dict[str, str]
    """Ops that a library beside TensorFlow's own brings, and which."""
    newest_ops: dict[str, str]
    """The ops that came last, and the first recorded release with them: nothing older can run the model."""
    gone_ops: dict[str, str]
    """Ops that newer releases no longer have, and the last recorded release with them."""
    variables: list[Variable]
    stored: list[StoredTensor]
    tables: list[Table]
    assets: list[Asset]
    devices: list[str]
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        from tfport.check.inspection_json import to_json

        return to_json(self)

    def __str__(self) -> str:
        from tfport.check.inspection_text import plain

        return plain(self)


def inspect_model(model: Model, known: KnownOps) -> Inspection:
    """Gather what is in a model; the weights are not read."""
    problems: list[str] = []
    counted = census(model)
    states = variables(model)
    callable_ = bool(model.signatures)
    return Inspection(
        model=model.where,
        kind=model.kind,
        tags=model.tags,
        tag_sets=model.tag_sets,
        tensorflow=model.meta.meta_info_def.tensorflow_version,
        graph_def=model.graph.rest.versions.producer or model.graph.rest.version,
        min_consumer=model.graph.rest.versions.min_consumer,
        made_with=made_with(model),
        signatures=model.signatures,
        inputs={} if callable_ else _placeholders(model),
        outputs=[] if callable_ else _unread(model),
        nodes=len(model.graph),
        functions=len(model.graph.library.functions),
        census=counted,
        custom_ops=_custom(model, counted, known),
        contrib_ops={op: lib for op in sorted(counted.total) if (lib := known.provider(op))},
        newest_ops=_newest(_needed(counted), known),
        gone_ops=_gone(_needed(counted), known),
        variables=states,
        stored=_stored(_checkpoint(model, problems), states),
        tables=tables(model),
        assets=assets(model),
        devices=sorted({node.device for node in every_node(model.graph) if node.device}),
        problems=problems + _missing(model),
    )


def _checkpoint(model: Model, problems: list[str]) -> Checkpoint | None:
    try:
        found = model.checkpoint
        if found is None and model.checkpoint_prefix is not None and any(variables(model)):
            problems.append(
                f"{model.files.label(model.checkpoint_prefix)}.index: missing; it holds the variables"
            )
        return found
    except UnreadableFile as error:
        problems.append(str(error))
        return None


def _stored(checkpoint: Checkpoint | None, states: list[Variable]) -> list[StoredTensor]:
    if checkpoint is None:
        return []
    owners = {v.key: v.name for v in states if v.key}
    entries = (checkpoint.entry(name) for name in checkpoint.names())
    return [
        StoredTensor(e.name, DType.of(e.dtype), Shape(e.shape), e.nbytes, owners.get(e.name)) for e in entries
    ]


def _placeholders(model: Model) -> dict[str, TensorSpec]:
    return {
        node.name: TensorSpec((f"{node.name}:0",), node.output(0).dtype, node.output(0).shape)
        for node in model.graph
        if node.op in ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
    }


def _unread(model: Model) -> list[str]:
    """Results that nothing reads; what has no result or only waits is not one."""
    return [
        node.name
        for node in model.graph
        if node.inputs and not node.users and (not (s := node.signature) or s.outputs)
    ]


def _custom(model: Model, counted: Census, known: KnownOps) -> Counter[str]:
    functions = model.graph.library.functions
    return Counter({op: n for op, n in counted.total.items() if op not in known and op not in functions})


def _needed(counted: Census) -> list[str]:
    """The ops that calling the model needs, or all of them where it has no signatures."""
    return sorted(set().union(*counted.signatures.values()) if counted.signatures else counted.total)


def _newest(ops: list[str], known: KnownOps) -> dict[str, str]:
    order = list(known.recorded())
    first = {op: span[0] for op in ops if (span := known.releases(op)) and span[0] != order[0]}
    last = max(first.values(), key=order.index, default=None)
    return {op: release for op, release in first.items() if release == last}


def _gone(ops: list[str], known: KnownOps) -> dict[str, str]:
    now = list(known.recorded())[-1]
    return {op: span[1] for op in ops if (span := known.releases(op)) and span[1] != now}


def made_with(model: Model) -> list[str]:
    """What wrote the model, as far as it left traces."""
    objects = model.meta.object_graph_def.nodes
    children = {child.local_name for child in objects[0].children} if objects else set()
    methods = {signature.method.rpartition("/")[2] for signature in model.signatures.values()}
    traces = {
        model.written_by: True,
        "Keras 2": any(node.user_object.identifier.startswith("_tf_keras") for node in objects),
        "Keras 3": {"_all_variables", "_misc_assets"} <= children,
        "TF2 objects": objects,
        "TF1 session": not objects and model.meta.saver_def.restore_op_name,
        "Estimator-style signatures": methods & {"classify", "regress"},
        "ref variables": any(node.op in ("VariableV2", "Variable") for node in model.graph),
    }
    return [trace for trace, found in traces.items() if trace and found]


def _missing(model: Model) -> list[str]:
    """What is named in the model and is not there."""
    label = model.files.label
    lost = [f"{label(f'assets/{a.file}')}: missing" for a in assets(model) if a.nbytes is None]
    for graph in (model.graph, *model.graph.library.functions.values()):
        for name, node in graph.missing.items():
            lost.append(f"node `{node.users[0].name}` reads `{name}`, which is not in the graph")
    named = [n for s in model.signatures.values() for t in s.outputs.values() for n in t.tensors]
    lost += [f"tensor `{n}` of a signature is not in the graph" for n in named if not model.has_tensor(n)]
    return lost
