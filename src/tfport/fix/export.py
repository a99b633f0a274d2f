"""Export a model as a SavedModel or GraphDef that TensorFlow loads, for any release or for one.

A model without signatures gets one, and large constants become variables with a checkpoint. For a target
the model is rewritten and verified as by `fix`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfport.atlas.known_ops import ops_of_other_runtimes
from tfport.atlas.target import Target
from tfport.errors import CannotRun
from tfport.fix.fix import Progress, fix_model
from tfport.fix.journal import Journal
from tfport.fix.options import UNCHANGED, FixOptions, SignatureChanges
from tfport.fix.result import Fixed
from tfport.fix.signature_changes import with_signature_changes
from tfport.fix.structure.freeze import freeze
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.large_constants import stored_with_variables
from tfport.fix.structure.prune import prune
from tfport.fix.structure.session_form import to_session_form
from tfport.frontends.lite.definitions import lite_definitions
from tfport.graph.inline import NO_SEGMENT, engine_function
from tfport.graph.model import Model, Signature
from tfport.graph.op_facts.kinds import TENSORRT_ENGINE
from tfport.graph.reach import every_node
from tfport.graph.save import as_graph_def, as_saved_model, save_model
from tfport.graph.state import variables
from tfport.startup.dataclass import replace
from tfport.words import count

MAX_LISTED = 5


def export_model(
    model: Model, path: str | os.PathLike[str], *, as_graph: bool, options: FixOptions
) -> tuple[Model, dict[str, Signature]]:
    """Write a model as a SavedModel, or as one GraphDef; returns the written model and its signatures."""
    saved = _without_engines(saved_with(model, options))
    _require_tensorflow_ops(saved, is_lite=model.lite is not None)
    stored, tensors = stored_with_variables(as_graph_def(frozen_model(saved)) if as_graph else saved)
    save_model(stored, path, tensors)
    return stored, saved.signatures


def export_for(
    model: Model,
    target: Target,
    *,
    as_graph: bool,
    options: FixOptions,
    progress: Progress = lambda doing: None,
) -> Fixed:
    """Rewrite a model for a target, as a SavedModel or a GraphDef."""
    options = with_choice_among_changes(options)
    saved = saved_with(model, options)
    if not as_graph:
        return fix_model(saved, target, replace(options, fetches=(), feeds=()), progress)
    outputs = tuple(
        name for s in saved.signatures.values() for spec in s.outputs.values() for name in spec.tensors
    )
    chosen = replace(options, fetches=tuple(dict.fromkeys(outputs)), feeds=(), signatures=None)
    return fix_model(as_graph_def(frozen_model(saved)), target, chosen, progress)


def source_for(model: Model, written: Model, changes: SignatureChanges = UNCHANGED) -> Model:
    """The original in the form in which it was compared with a written model."""
    if changes:
        saved = saved_with(model, FixOptions(signature_changes=changes))
        return saved if written.signatures else as_graph_def(frozen_model(saved))
    is_converted = (model.keras is not None and written.keras is None) or (
        model.lite is not None and written.lite is None
    )
    if not is_converted and bool(model.signatures) == bool(written.signatures):
        return model
    saved = saved_with(model, FixOptions())
    return saved if written.signatures else as_graph_def(frozen_model(saved))


def saved_with(model: Model, options: FixOptions) -> Model:
    """The model as a SavedModel with the chosen signatures."""
    saved = as_saved_model(model, options.fetches, options.feeds)
    changes = options.signature_changes
    names = options.signatures or changes.keep
    saved = _only(saved, names) if names else saved
    return with_signature_changes(saved, changes) if changes else saved


def _without_engines(model: Model) -> Model:
    """The model with calls in place of TensorRT engines, which TensorFlow 2.18 and later do not have."""
    if not any(node.op == TENSORRT_ENGINE for node in every_node(model.graph)):
        return model
    work = model.copy()
    for node in [node for node in every_node(work.graph) if node.op == TENSORRT_ENGINE]:
        if (function := engine_function(node)) is None:
            raise CannotRun(f"{model.where}: `{node.name}` ({node.op}): {NO_SEGMENT}")
        types = {"Tin": node.attrs["InT"], "Tout": node.attrs["OutT"]}
        node.become("StatefulPartitionedCall", {"f": function, **types})
    return work


def _require_tensorflow_ops(model: Model, *, is_lite: bool) -> None:
    unknown = {*lite_definitions(), *(ops_of_other_runtimes() if is_lite else ())}
    nodes = [node for node in every_node(model.graph) if node.op in unknown]
    if nodes:
        listed = ", ".join(f"`{node.name}` ({node.op})" for node in nodes[:MAX_LISTED])
        more = f" and {len(nodes) - MAX_LISTED} more" if len(nodes) > MAX_LISTED else ""
        raise CannotRun(
            f"{model.where}: TensorFlow has no op for {count(len(nodes), 'node')} of this TensorFlow Lite "
            f"model: {listed}{more}; FILE.onnx, FILE.tflite and --format triton can hold it"
        )


def with_choice_among_changes(options: FixOptions) -> FixOptions:
    """The signatures to keep are chosen by their old names, before the changes."""
    if not options.signature_changes:
        return options
    changes = replace(options.signature_changes, keep=options.signatures or ())
    return replace(options, signature_changes=changes, signatures=None)


def _only(model: Model, names: Sequence[str]) -> Model:
    if missing := [name for name in names if name not in model.signatures]:
        known = ", ".join(model.signatures) or "none"
        raise CannotRun(f"{model.where}: no signature `{missing[0]}`; signatures: {known}")
    work = replace(model, meta=type(model.meta).FromString(model.meta.SerializeToString()))
    for name in set(model.signatures) - set(names):
        del work.meta.signature_def[name]
    return work


def frozen_model(model: Model, *, keep_init: bool = False) -> Model:
    """The model with constants in place of its variables; `keep_init`: with what fills its tables."""
    if not variables(model) and not model.graph.library.functions:
        return model
    work = model.copy()
    ends = [value.node for signature in work.signatures.values() for value in work.ends_of(signature)]
    try:
        restored = to_session_form(work, ends, Journal())
        _, reasons = freeze(work, restored)
    except StructureRefusal as refusal:
        reasons = [str(refusal)]
    if reasons:
        raise CannotRun(f"{model.where}: cannot be one GraphDef: {'; '.join(reasons)}; export a SavedModel")
    prune(work, [*ends, *work.init_nodes] if keep_init else ends, Journal())
    work.checkpoint_prefix = None
    return work
