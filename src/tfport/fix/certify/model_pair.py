"""The two models of a verification, and the signatures that both must have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfport.errors import Error
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trials import TrialBuilder, chosen
from tfport.formats.files import Folder
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.graph_outputs import WHOLE_GRAPH
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import Registry
from tfport.runtime.select_signature import select_signature
from tfport.startup.dataclass import replace

MOST_ENDS = 64
"""The most outputs of a graph without signatures that are compared."""


def both_sides(
    before: Model,
    after: Model,
    names: Iterable[str] | None,
    fetches: Sequence[str],
    feeds: Sequence[str] = (),
) -> tuple[ModelSide, ModelSide]:
    """Both models with the same signatures."""
    if before.signatures and not fetches:
        asked = None if names is None else [names] if isinstance(names, str) else list(names)
        first = {entry.name: entry for entry in chosen(before.signatures, asked, before.where)}
        second = {name: select_signature(after, name) for name in first}
    else:
        whole = select_signature(before, None, fetches, feeds)
        tensors = [name for spec in whole.outputs.values() for name in spec.tensors]
        first, second = {WHOLE_GRAPH: whole}, {WHOLE_GRAPH: select_signature(after, None, tensors)}
    for name, signature in first.items():
        _same_names(name, signature, second[name])
    lies = isinstance(before.files, Folder) and before.files.has("saved_model.pb")
    path = before.files.where if lies and before.format is SAVED_MODEL else None
    return ModelSide(before, first, path), ModelSide(after, second)


def with_outputs(sides: tuple[ModelSide, ModelSide]) -> tuple[tuple[ModelSide, ModelSide], list[str]]:
    """Both sides with only those signatures that return something; also what was skipped."""
    entrances = sides[0].entrances
    kept = [name for name, signature in entrances.items() if signature.outputs]
    if not kept:
        return sides, []
    first, second = (replace(side, entrances={name: side.entrances[name] for name in kept}) for side in sides)
    return (first, second), [f"`{name}`, which has no outputs" for name in entrances if name not in kept]


def answerable(
    sides: tuple[ModelSide, ModelSide], registry: Registry | None
) -> tuple[tuple[ModelSide, ModelSide], list[str]]:
    """Both sides with only those outputs that the original computes, each tried separately.

    The outputs of a graph without signatures include savers and training steps, and one that fails
    would make all fail. Returns also what was skipped. If no output works, all are kept.
    """
    before = sides[0]
    whole = before.entrances[WHOLE_GRAPH]
    builder = TrialBuilder(before.model, whole)
    asked = {name: replace(whole, name=name, outputs={name: spec}) for name, spec in whole.outputs.items()}
    session = OwnSession(ModelSide(before.model, asked), registry)
    try:
        trials = [builder.made(sizing, ORDINARY) for sizing in builder.sizings()[0]]
    except Error:
        return sides, []
    kept = [
        name
        for name in list(asked)[:MOST_ENDS]
        # not a reference: it is undefined whether a variable is read before or after an assignment
        if not before.model.graph.value(asked[name].outputs[name].tensors[0]).dtype.is_ref
        and any(session.ask(replace(trial, signature=name)).outputs is not None for trial in trials)
    ]
    if not kept:
        return sides, []
    left_out = [f"`{name}`, which the original does not compute" for name in asked if name not in kept]
    return (_only(sides[0], kept), _only(sides[1], kept)), left_out


def _only(side: ModelSide, outputs: Collection[str]) -> ModelSide:
    whole = side.entrances[WHOLE_GRAPH]
    kept = {name: spec for name, spec in whole.outputs.items() if name in outputs}
    return replace(side, entrances={WHOLE_GRAPH: replace(whole, outputs=kept)})


def _same_names(name: str, first: Signature, second: Signature) -> None:
    # in a graph without signatures, placeholders that nothing reads may have been removed
    same_inputs = set(first.inputs) == set(second.inputs) or name == WHOLE_GRAPH
    if set(first.outputs) != set(second.outputs) or not same_inputs:
        raise Error(f"the rewrite changed the inputs or outputs of signature {name}")
