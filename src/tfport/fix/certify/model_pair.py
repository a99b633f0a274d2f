"""The two models of a verification, and the ways into them that both must have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tfport.errors import Error
from tfport.fix.certify.arrays import ORDINARY
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trials import TrialBuilder, chosen
from tfport.formats.files import Folder
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model, Signature
from tfport.runtime.custom.registry import Registry
from tfport.runtime.select_signature import WHOLE_GRAPH, select_signature

MOST_ENDS = 64
"""Of a graph without signatures."""


def both_sides(
    before: Model, after: Model, names: Iterable[str] | None, fetches: Sequence[str]
) -> tuple[ModelSide, ModelSide]:
    """Both models with the same ways in."""
    if before.signatures and not fetches:
        asked = None if names is None else [names] if isinstance(names, str) else list(names)
        first = {one.name: one for one in chosen(before.signatures, asked, before.where)}
        second = {name: select_signature(after, name) for name in first}
    else:
        whole = select_signature(before, None, fetches)
        tensors = [name for spec in whole.outputs.values() for name in spec.tensors]
        first, second = {WHOLE_GRAPH: whole}, {WHOLE_GRAPH: select_signature(after, None, tensors)}
    for name, signature in first.items():
        _same_names(name, signature, second[name])
    lies = isinstance(before.files, Folder) and before.files.has("saved_model.pb")
    path = before.files.where if lies and before.format is SAVED_MODEL else None
    return ModelSide(before, first, path), ModelSide(after, second)


def answerable(
    sides: tuple[ModelSide, ModelSide], registry: Registry | None
) -> tuple[tuple[ModelSide, ModelSide], list[str]]:
    """Both sides with those ends of a graph only that the original answers, each by itself.

    A graph without signatures ends in savers and training steps too, and one that refuses would
    make all refuse. What is left out is told. Where nothing answers, all are kept.
    """
    before = sides[0]
    whole = before.entrances[WHOLE_GRAPH]
    maker = TrialBuilder(before.model, whole)
    asked = {name: replace(whole, name=name, outputs={name: spec}) for name, spec in whole.outputs.items()}
    session = OwnSession(ModelSide(before.model, asked), registry)
    try:
        trials = [maker.made(sizing, ORDINARY) for sizing in maker.sizings()[0]]
    except Error:
        return sides, []
    kept = [
        name
        for name in list(asked)[:MOST_ENDS]
        # a variable itself: nobody says whether it is read before or after what assigns to it
        if not before.model.graph.value(asked[name].outputs[name].tensors[0]).dtype.is_ref
        and any(session.ask(replace(trial, signature=name)).outputs is not None for trial in trials)
    ]
    if not kept:
        return sides, []
    left_out = [f"`{name}`, which is no answer of the original" for name in asked if name not in kept]
    return (_only(sides[0], kept), _only(sides[1], kept)), left_out


def _only(side: ModelSide, outputs: Collection[str]) -> ModelSide:
    whole = side.entrances[WHOLE_GRAPH]
    kept = {name: spec for name, spec in whole.outputs.items() if name in outputs}
    return replace(side, entrances={WHOLE_GRAPH: replace(whole, outputs=kept)})


def _same_names(name: str, one: Signature, other: Signature) -> None:
    # of a graph without signatures, placeholders that nothing reads may be gone
    same_inputs = set(one.inputs) == set(other.inputs) or name == WHOLE_GRAPH
    if set(one.outputs) != set(other.outputs) or not same_inputs:
        raise Error(f"signature {name} has other inputs or outputs after the rewrite than before")
