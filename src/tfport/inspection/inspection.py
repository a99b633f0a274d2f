"""What is in a model: an `Inspection`, collected once and rendered as text or JSON.

It only describes the model; `check` decides where it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfport.atlas.known_ops import KnownOps
from tfport.errors import UnreadableFile
from tfport.formats.format import ModelFormat
from tfport.graph.dtypes import DType
from tfport.graph.graph_outputs import GraphOutputs, graph_outputs
from tfport.graph.model import Model, Signature, TensorSpec, missing_checkpoint_files
from tfport.graph.op_counts import OpCounts, count_ops
from tfport.graph.reach import every_node
from tfport.graph.shapes import Shape
from tfport.graph.state import Asset, GraphTable, GraphVariable, assets, forest_prefixes, tables, variables
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from tfport.inspection.forests import ForestSummary
    from tfport.inspection.keras import KerasInspection
    from tfport.inspection.lite import LiteInspection

KERAS_2 = "Keras 2"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of the checkpoint, and the variable that it restores, if known."""

    key: str
    dtype: DType
    shape: Shape
    nbytes: int | None
    variable: str | None = None


@dataclass(repr=False)
class Inspection(RenderedResult):
    """What `tfport inspect` reports about a model."""

    model: str
    format: ModelFormat
    tags: tuple[str, ...]
    tag_sets: list[tuple[str, ...]]
    tensorflow: str
    graph_def: int
    min_consumer: int
    made_with: list[str]
    signatures: dict[str, Signature]
    inputs: dict[str, TensorSpec]
    """For fetched or guessed outputs: the inputs that they need."""
    outputs: dict[str, TensorSpec]
    """The outputs that the user fetches; for a graph without signatures, a guess."""
    fetched: GraphOutputs | None
    """How these outputs were found, and what they need."""
    nodes: int
    functions: int
    census: OpCounts
    custom_ops: Counter[str]
    addon_ops: dict[str, list[str]]
    """Ops that TensorFlow itself does not register, with the packages or contrib libraries that do."""
    newest_ops: dict[str, str]
    """The newest ops with their first recorded release: no older release can run the model."""
    removed_ops: dict[str, str]
    """Ops that newer releases do not have, with their last recorded release."""
    variables: list[GraphVariable]
    stored: list[StoredTensor]
    tables: list[GraphTable]
    assets: list[Asset]
    devices: list[str]
    problems: list[str] = field(default_factory=list)
    keras: KerasInspection | None = None
    """For a Keras file, or a SavedModel of Keras 2: its layers and settings."""
    lite: LiteInspection | None = None
    """For a TensorFlow Lite file: its operators, versions and quantization."""
    forests: list[ForestSummary] = field(default_factory=list)
    """The decision forests in its assets."""


def inspect_model(
    model: Model, known: KnownOps, fetches: Sequence[str] = (), feeds: Sequence[str] = ()
) -> Inspection:
    """Collect what is in a model; the weights are not read."""
    problems: list[str] = []
    fetched = graph_outputs(model, fetches, feeds)
    counted = count_ops(model, fetched)
    model_variables = variables(model)
    keras = _keras(model, problems)
    model_assets = assets(model)
    forests = _forests(model, problems)
    return Inspection(
        model=model.where,
        format=model.format,
        tags=model.tags,
        tag_sets=model.tag_sets,
        tensorflow=model.meta.meta_info_def.tensorflow_version,
        graph_def=model.graph.rest.versions.producer or model.graph.rest.version,
        min_consumer=model.graph.rest.versions.min_consumer,
        made_with=made_with(model),
        signatures=model.signatures,
        inputs=fetched.signature.inputs if fetched else {},
        outputs=fetched.signature.outputs if fetched else {},
        fetched=fetched,
        nodes=len(model.graph),
        functions=len(model.graph.library.functions),
        census=counted,
        custom_ops=_custom(model, counted, known),
        addon_ops={op: providers for op in sorted(counted.total) if (providers := known.providers(op))},
        newest_ops=_newest(_needed(counted), known),
        removed_ops=_removed(_needed(counted), known),
        variables=model_variables,
        stored=_stored(model, model_variables, problems),
        tables=tables(model),
        assets=model_assets,
        devices=sorted({node.device for node in every_node(model.graph) if node.device}),
        problems=problems + _missing(model) + _uncounted(counted),
        keras=keras,
        lite=_lite(model),
        forests=forests,
    )


def _keras(model: Model, problems: list[str]) -> KerasInspection | None:
    """The Keras part of a Keras file or of a SavedModel; its problems are appended to `problems`."""
    if model.keras is None and not is_saved_by_keras_2(model):
        return None
    # other models do not need the layers
    from tfport.inspection.keras import inspect_keras, inspect_keras_of_saved_model

    if model.keras is not None:
        return inspect_keras(model, model.keras)
    try:
        return inspect_keras_of_saved_model(model)
    except UnreadableFile as error:
        problems.append(str(error))
        return None


def _lite(model: Model) -> LiteInspection | None:
    if model.lite is None:
        return None
    from tfport.inspection.lite import inspect_lite  # other models do not need it

    return inspect_lite(model)


def _forests(model: Model, problems: list[str]) -> list[ForestSummary]:
    if not forest_prefixes(model):
        return []
    from tfport.inspection.forests import inspect_forests  # other models do not need it

    return list(inspect_forests(model, problems))


def _stored(model: Model, model_variables: list[GraphVariable], problems: list[str]) -> list[StoredTensor]:
    """The tensors of the checkpoint; its problems are appended to `problems`."""
    owners = {v.key: v.name for v in model_variables if v.key}
    try:
        checkpoint = model.checkpoint
        entries = [checkpoint.entry(name) for name in checkpoint.names()] if checkpoint else []
        problems += missing_checkpoint_files(model, needed=bool(model_variables))
    except UnreadableFile as error:
        problems.append(str(error))
        return []
    return [
        StoredTensor(e.name, DType.of(e.dtype), Shape(e.shape), e.nbytes, owners.get(e.name)) for e in entries
    ]


def _custom(model: Model, counted: OpCounts, known: KnownOps) -> Counter[str]:
    functions = model.graph.library.functions
    return Counter({op: n for op, n in counted.total.items() if op not in known and op not in functions})


def _needed(counted: OpCounts) -> list[str]:
    """The ops that the signatures need, or all ops if there are no signatures."""
    return sorted(set().union(*counted.signatures.values()) if counted.signatures else counted.total)


def _newest(ops: list[str], known: KnownOps) -> dict[str, str]:
    order = known.recorded()
    first = {op: span[0] for op in ops if (span := known.releases(op)) and span[0] != order[0]}
    last = max(first.values(), key=order.index, default=None)
    return {op: release for op, release in first.items() if release == last}


def _removed(ops: list[str], known: KnownOps) -> dict[str, str]:
    newest = known.recorded()[-1]
    return {op: span[1] for op in ops if (span := known.releases(op)) and span[1] != newest}


def is_saved_by_keras_2(model: Model) -> bool:
    """Whether a SavedModel was saved by Keras 2, which describes its objects."""
    return any(
        node.user_object.identifier.startswith("_tf_keras") for node in model.meta.object_graph_def.nodes
    )


def made_with(model: Model) -> list[str]:
    """What wrote the model, if the files show it."""
    objects = model.meta.object_graph_def.nodes
    children = {child.local_name for child in objects[0].children} if objects else set()
    methods = {signature.method.rpartition("/")[2] for signature in model.signatures.values()}
    traces = {
        model.written_by: True,
        KERAS_2: is_saved_by_keras_2(model),
        "Keras 3": {"_all_variables", "_misc_assets"} <= children,
        "TF2 objects": objects,
        "TF1 session": not objects and model.meta.saver_def.restore_op_name,
        "Estimator-style signatures": methods & {"classify", "regress"},
        "ref variables": any(node.op in ("VariableV2", "Variable") for node in model.graph),
    }
    return [trace for trace, is_present in traces.items() if trace and is_present]


def _uncounted(counted: OpCounts) -> list[str]:
    left = len(counted.uncounted)
    return [f"the ops of {left} signatures, from {counted.uncounted[0]} on, are not counted"] if left else []


def _missing(model: Model) -> list[str]:
    """Files, nodes and tensors that the model names and that do not exist."""
    label = model.files.label
    lost = [f"{label(f'assets/{a.file}')}: missing" for a in assets(model) if a.nbytes is None]
    for graph in (model.graph, *model.graph.library.functions.values()):
        for name, node in graph.missing.items():
            lost.append(f"node `{node.users[0].name}` reads `{name}`, which is not in the graph")
    for signature in model.signatures.values():
        for spec in (*signature.inputs.values(), *signature.outputs.values()):
            absent = [n for n in spec.tensors if not model.has_tensor(n)]
            lost += [f"tensor `{n}` of signature {signature.name} is not in the graph" for n in absent]
    return lost
