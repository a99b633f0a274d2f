"""May the target read a graph of this version? Findings 00x."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import VERSIONS
from tfport.check.loaders import Loader


@finding("TFP001", "newer-graph", noticed=VERSIONS)
class NewerGraph(Finding):
    """the graph needs GraphDef version {wanted} or later; {target} has {actual}

    ## Cause
    The file says in `versions.min_consumer` which versions may read it. GraphDef versions
    do not always grow with the release: 1.15.5 has 134, 2.0.4 has 119.
    ## Fix
    Use a release with that version (`tfport targets show TARGET` lists it), or export again.
    ## Example
        y = NoOp()
        min_consumer 3000
        on tensorflow==2.8.4
    """

    wanted: int
    actual: int

    def says(self) -> str:
        release = self.on.build.version if self.on.build else ""
        return (
            f"GraphDef min consumer version {self.wanted} above current version {self.actual} for TensorFlow "
            f"{release}.  Please upgrade TensorFlow."
        )


@finding("TFP002", "refused-version", noticed=VERSIONS)
class ExcludedVersion(Finding):
    """the graph excludes GraphDef version {actual}, which {target} has

    ## Cause
    The file lists in `versions.bad_consumers` versions that would read it wrongly.
    ## Fix
    Use another release, or export again.
    ## Example
        y = NoOp()
        bad_consumers 987
        on tensorflow==2.8.4
    """

    actual: int

    def says(self) -> str:
        return (
            f"GraphDef disallows consumer version {self.actual}.  Please upgrade TensorFlow: this version is "
            "likely buggy."
        )


@finding("TFP003", "older-graph", noticed=VERSIONS)
class OlderGraph(Finding):
    """the graph has version {producer}; {target} reads only {wanted} and later

    ## Cause
    The graph was written by a TensorFlow before 1.0, or its version is missing.
    ## Fix
    Export it again with a recent release.
    ## Example
        y = NoOp()
        producer -1
        on tensorflow==2.8.4
    """

    producer: int
    wanted: int

    def says(self) -> str:
        release = self.on.build.version if self.on.build else ""
        return (
            f"GraphDef producer version {self.producer} below min producer {self.wanted} supported by "
            f"TensorFlow {release}.  Please regenerate your graph."
        )


@check
def version_is_supported(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    known = target.build.facts.get("graph_def") if target.build else None
    if not known:
        return
    versions, current = model.model.graph.rest.versions, known["producer"]
    if versions.min_consumer > current:
        yield NewerGraph(wanted=versions.min_consumer, actual=current)
    if current in versions.bad_consumers:
        yield ExcludedVersion(actual=current)
    if model.producer < known["min_producer"]:
        yield OlderGraph(producer=model.producer, wanted=known["min_producer"])
