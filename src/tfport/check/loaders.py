"""How each loader loads a model, and at which stage it notices a finding.

A finding class declares when each loading path notices it (`check.loader_stages`). This module
chooses the path of a loader for a model and a release, and applies the declaration to a node.
"""

from __future__ import annotations

from tfport.atlas.target import OURS, Target
from tfport.check.loader_stages import (
    CALLED_FUNCTION,
    FIRST,
    LIVE,
    LOAD,
    LOADING,
    MAIN_GRAPH,
    REACHED,
    RUN,
    SIZES,
    UNCALLED_FUNCTION,
    Noticed,
    When,
)
from tfport.check.node_contexts import NodeContext
from tfport.check.release_quirks import (
    folded_by_name,
    lowered_before_validation,
    removed_before_kernels,
    since,
)
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass

CAPI, SERVING, PYTHON, KERAS = LOADERS = ("capi", "serving", "python", "keras")
LITE = "lite"
"""The loader of TensorFlow Lite files: an interpreter."""
RUNTIME = "tfport"
"""tfport's own runtime: it resolves only what it runs."""
LIFTED = ("Const", "Placeholder", "VarHandleOp", "VariableV2", "Variable")
IMPORTED = (GRAPH_DEF, META_GRAPH)
"""Formats that Python imports into a graph that a session runs, in every release."""
REMOVABLE = ("Identity", "Const", "If", "While")
READ_BY_SHAPE_FUNCTIONS = ("padding", "data_format")
"""Attributes whose value is validated when shapes are inferred."""


@dataclass(frozen=True, slots=True)
class Loader:
    """How a loader of a release loads a model."""

    name: str
    """One of `LOADERS`, or `RUNTIME`."""
    path: str
    """The field of `Noticed` that says when it notices a finding."""
    target: Target
    soft_placement: bool = False
    """Whether a node may run on another device than it asks for."""
    strips_defaults: bool = False
    """Whether it removes attributes of the main graph that equal the defaults of the producer's ops."""
    infers_shapes: bool = False
    """Whether it looks into functions only to infer the shapes of their outputs."""
    optimizes: bool = False
    """Whether it inlines and simplifies functions before it assigns devices (`check.graph_optimizer`)."""
    runs_at_load: bool = True
    """Whether loading runs anything."""
    lowers: bool = False
    """Whether branches and loops that ask for it are lowered into the main graph at load."""
    removed: frozenset[str] = frozenset()
    """Ops whose nodes are folded or lowered, and so removed before their kernels are created."""
    placed_anywhere: tuple[str, ...] = ()
    """Ops whose devices are ignored: their nodes are lifted out of the graph."""
    folded_by_name: tuple[str, ...] = ()
    """Ops that are removed from functions that are called by name."""
    custom_ops: frozenset[str] = frozenset()
    """User-defined ops of tfport's runtime."""
    pruned: frozenset[Question] = frozenset()
    """Questions that do not matter for a node of a function if its output is unused: it is pruned first."""

    def stage(
        self, noticed: Noticed, answer: Unresolved | None, op: str, context: NodeContext | None
    ) -> tuple[str | None, bool]:
        """When it notices a finding at a node, and whether that stops every signature.

        `noticed` and `answer` are those of the finding. `load`, `run`, None for never, or `SKIPPED`.
        """
        if context is not None and answer is not None and self._ignores(noticed, answer, op, context):
            return None, False
        when = self._when(noticed, answer, op, context)
        stage = self._stage(when, answer, context)
        return stage, stage == LOAD or when == FIRST

    def _stage(self, when: When, answer: Unresolved | None, context: NodeContext | None) -> str | None:
        if when == FIRST:
            return LOAD if self.runs_at_load else RUN
        if context is None:
            return LOAD if when == LOADING else when
        live = LOAD if context.loading else RUN if context.signatures else None
        if context.idle and answer is not None and answer.question in self.pruned:
            live = None
        if when == REACHED:
            return live and LOAD
        if when == LOADING:
            return LOAD if context.loading else None
        return live if when == LIVE else when

    def _when(
        self, noticed: Noticed, answer: Unresolved | None, op: str, context: NodeContext | None
    ) -> When:
        path = "custom" if op in self.custom_ops else self.path
        if context is None:
            return noticed.stages(path, self.target)[MAIN_GRAPH]
        graph = _graph_of(context)
        if answer is not None and self._infers_from(answer):
            return SIZES.stages(path, self.target)[graph]
        if context.lowered and self.lowers:
            return noticed.stages(SERVING)[MAIN_GRAPH]
        when = noticed.stages(path, self.target)[graph]
        if context.in_branch and when == LOAD and self.infers_shapes:
            return noticed.earliest(CAPI)[graph]
        return when

    def _infers_from(self, answer: Unresolved) -> bool:
        """Whether inferring shapes reads the value of the attribute."""
        is_value = answer.question is Question.ATTR_VALUE and not answer.structural
        return is_value and answer.attr in READ_BY_SHAPE_FUNCTIONS and self.name != RUNTIME

    def _ignores(self, noticed: Noticed, answer: Unresolved, op: str, context: NodeContext) -> bool:
        """Whether the loader never reaches the problem, because it changes or removes the node first."""
        question = answer.question
        if question is Question.DEVICE and (context.by_name or op in self.placed_anywhere):
            return True  # a function called by its name runs where its call does
        if noticed.only_by_name:
            return not context.by_name
        if context.by_name and op in self.folded_by_name and noticed.folded:
            return True
        return question is Question.UNKNOWN_ATTR and op in self.removed and not context.by_name


def _graph_of(context: NodeContext) -> int:
    if context.function is None:
        return MAIN_GRAPH
    return CALLED_FUNCTION if context.called else UNCALLED_FUNCTION


def default_loaders(target: Target) -> tuple[str, ...]:
    """The usual loaders of a target."""
    if target.kind == OURS:
        return (RUNTIME,)
    return (SERVING,) if target.kind == "serving" else (PYTHON, SERVING)


def is_refused_by_serving(model: Model, target: Target) -> bool:
    """Whether the target is TensorFlow Serving, which loads only SavedModels, and the model none."""
    return target.kind == "serving" and model.format is not SAVED_MODEL


def loader_for(name: str, model: Model, target: Target) -> Loader:
    """How a loader of a target loads a model."""
    if target.kind == OURS:
        ops = (op for source in target.registry.sources if source.name != OURS for op in source.ops())
        path = "tfport_objects" if has_objects(model) else "tfport"
        return Loader(RUNTIME, path, target, soft_placement=True, custom_ops=frozenset(ops))
    if name in (CAPI, SERVING):
        return _session(name, target)
    if model.format in IMPORTED or (
        not since(target, "2.0") and not (name == KERAS and since(target, "1.15"))
    ):
        return _python_1(name, model, target)
    if has_objects(model):
        return Loader(name, _path(name, "objects"), target, soft_placement=True)
    if not since(target, "2.1"):  # places only functions softly
        return Loader(name, _path(name, "2"), target, strips_defaults=True, placed_anywhere=LIFTED)
    return Loader(name, _path(name, "2"), target, soft_placement=True, strips_defaults=True)


def _path(name: str, part: str) -> str:
    if name == PYTHON:
        return "objects" if part == "objects" else f"python_{part}"
    return f"keras_{part}"


def _session(name: str, target: Target) -> Loader:
    return Loader(
        name,
        name,
        target,
        infers_shapes=name == CAPI,
        lowers=since(target, "1.13"),
        optimizes=since(target, "1.14"),
        removed=_removed(target) if name == SERVING else frozenset(),
        folded_by_name=folded_by_name(target),
        pruned=_pruned(target),
    )


def _python_1(name: str, model: Model, target: Target) -> Loader:
    return Loader(
        name,
        _path(name, "1"),
        target,
        strips_defaults=True,
        infers_shapes=True,
        optimizes=since(target, "1.14"),
        runs_at_load=bool(model.init_nodes or (model.restore_nodes and has_index(model))),
        removed=_removed(target) if not since(target, "1.8") else frozenset(),
        folded_by_name=folded_by_name(target),
        pruned=_pruned(target),
    )


def _removed(target: Target) -> frozenset[str]:
    return frozenset(
        op for op in REMOVABLE if removed_before_kernels(target, op) or lowered_before_validation(target, op)
    )


def _pruned(target: Target) -> frozenset[Question]:
    device, attr = Question.DEVICE, Question.UNKNOWN_ATTR
    return frozenset((device, attr) if since(target, "1.13") else (device,))


# Optional parts of a SavedModel.


def has_index(model: Model) -> bool:
    """Whether there is a checkpoint to restore; a SavedModel without an index counts as one without."""
    prefix = model.checkpoint_prefix
    if prefix is None or model.format is not SAVED_MODEL:
        return prefix is not None
    return model.files.has(f"{prefix}.index")


def has_objects(model: Model) -> bool:
    """Whether TensorFlow 2 saved it, with the objects that Python restores."""
    return model.meta.HasField("object_graph_def") and len(model.tag_sets) <= 1
