"""Assemble targets from the builds, interpreters and Keras releases that were chosen."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfport.atlas.atlas import Atlas, Build
from tfport.atlas.choose_keras import ChosenKeras
from tfport.atlas.lite.converter import PACKAGE as CONVERTER
from tfport.atlas.lite.releases import ChosenLite
from tfport.atlas.target import CONVERTER_KIND, KERAS_KIND, LITE_KIND, TFJS_KIND, Target
from tfport.atlas.tfjs.releases import PACKAGE as TFJS
from tfport.atlas.tfjs.releases import tfjs_source
from tfport.registry.registry import OpRegistry, Selection, Source
from tfport.startup.dataclass import dataclass, replace


@dataclass
class BaseTarget:
    """The TensorFlow of a target, without add-ons."""

    name: str
    requirement: str
    build: Build
    source: Source
    notes: list[str]
    device: str = "cpu"
    kind: str = "tensorflow"


def tensorflow_target(
    base: BaseTarget, name: str, requirement: str, addons: tuple[Build, ...], notes: list[str], atlas: Atlas
) -> Target:
    registry = OpRegistry(f"{name} ({base.device})", [base.source, *map(atlas.source, addons)])
    all_notes = list(dict.fromkeys([*base.notes, *notes]))
    return Target(name, requirement, registry, base.build, addons, base.device, base.kind, all_notes)


def keras_target(choice: ChosenKeras, notes: Sequence[str]) -> Target:
    """A Keras without a TensorFlow: a target for Keras files only."""
    return Target(
        choice.name,
        choice.requirement,
        OpRegistry(choice.name, []),
        None,
        kind=KERAS_KIND,
        notes=list(notes),
        keras_notes=choice.notes,
        named_keras=choice.release,
    )


def own_lite(path: str) -> ChosenLite:
    """A build of one's own, with a note about what is unknown of it."""
    from tfport.atlas.lite.own_build import read_lite_build

    registry = read_lite_build(path)
    known = f"{len(registry.ops)} ops by their symbols, not their versions" if registry.ops else "no ops"
    notes = [] if registry.is_complete else [f"{registry.name} says {known}; others may be registered"]
    return ChosenLite(registry, notes, path)


def lite_target(choice: ChosenLite, notes: Sequence[str]) -> Target:
    """An interpreter without a TensorFlow: a target for TensorFlow Lite files only."""
    return Target(
        choice.name,
        choice.requirement,
        OpRegistry(choice.name, []),
        None,
        kind=LITE_KIND,
        notes=[*notes, *choice.notes],
        named_lite=choice.registry,
    )


def converter_target(version: str, notes: Sequence[str]) -> Target:
    """The TensorFlow Lite converter of a TensorFlow release: a target for models that may be converted."""
    name = f"{CONVERTER} {version}"
    registry = OpRegistry(name, [])
    return Target(
        name,
        f"{CONVERTER}=={version}",
        registry,
        None,
        kind=CONVERTER_KIND,
        notes=[*notes],
        converter=version,
    )


def tfjs_target(version: str, backend: str, notes: Sequence[str]) -> Target:
    """A release of TensorFlow.js with a backend: a target for models that it may run as graph models."""
    source = tfjs_source(version, backend)
    return Target(
        source.name,
        f"{TFJS}[{backend}]=={version}",
        OpRegistry(source.name, [source]),
        None,
        kind=TFJS_KIND,
        notes=[*notes],
        tfjs=source,
    )


def with_lite(target: Target, choice: ChosenLite) -> Target:
    """A target with the interpreter that is installed beside its TensorFlow."""
    return replace(target, named_lite=choice.registry)


def with_keras(target: Target, choice: ChosenKeras | None, notes: Sequence[str], *, typed: bool) -> Target:
    """A target with the Keras beside its TensorFlow, which is part of its name if it was typed."""
    if choice is None:
        return replace(target, keras_notes=list(notes))
    keras_notes = [*choice.notes, *notes]
    if not typed:
        return replace(target, named_keras=choice.release, keras_notes=keras_notes)
    return replace(
        target,
        name=f"{target.name} + {choice.name}",
        requirement=f"{target.requirement} {choice.requirement}",
        named_keras=choice.release,
        keras_notes=keras_notes,
    )


def reduced_target(target: Target, header: str, selection: Selection) -> Target:
    """Return the target built with selective registration."""
    from tfport.atlas.selective_registration import ReducedSource, classes_of

    sources, notes = list(target.registry.sources), list(target.notes)
    if selection.kernels is not None:
        if classes := classes_of(sources[0]):
            sources[0] = ReducedSource(sources[0], selection, classes)
        else:
            notes.append(
                f"{target.name}: kernel classes are not recorded, so all kernels of the kept ops are kept"
            )
    missing = sorted(op for op in selection.ops or () if op not in target.registry and not op.startswith("_"))
    if missing:
        notes.append(f"{header}: {', '.join(missing)}: not registered in {target.name}")
    name = f"{target.name}, reduced by {os.path.basename(header)}"
    registry = OpRegistry(f"{name} ({target.device})", sources, selection)
    return replace(
        target,
        name=name,
        requirement=f"{header}@{target.requirement}",
        registry=registry,
        kind="reduced",
        notes=notes,
    )
