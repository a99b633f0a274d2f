"""When does a loader notice what is wrong with the files, or with what the model names?"""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.findings.files import MissingAsset, NoVariables, TensorOfAnotherShape
from tfport.check.findings.finding import LOAD, RUN, Finding
from tfport.check.findings.state import (
    EmptyTable,
    FedAndFetched,
    MissingTensorOfSignature,
    NoSaver,
    UnsetVariable,
)
from tfport.check.loaders import CAPI, RUNTIME, SERVING, Way
from tfport.check.node_contexts import NodeContext
from tfport.check.release_quirks import since


def file_stage(kind: type[Finding], way: Way, target: Target, place: NodeContext | None) -> str | None:
    """At load, at run, or never."""
    by_session = way.loader in (CAPI, SERVING, RUNTIME)
    if kind is UnsetVariable and way.restores_objects:
        return None
    if kind in (UnsetVariable, EmptyTable):
        return RUN
    if kind is NoSaver:
        return LOAD if by_session and not since(target, "2.4") else RUN
    if kind is FedAndFetched:
        return RUN if way.loader in (CAPI, SERVING) else None
    if kind is NoVariables:
        return RUN if by_session else LOAD
    if kind is MissingTensorOfSignature:
        return RUN if by_session or not since(target, "2.0") else LOAD
    if kind is MissingAsset:
        return LOAD if place is None or place.loading else None
    if kind is TensorOfAnotherShape:
        return RUN if place and place.signatures else None
    return LOAD
