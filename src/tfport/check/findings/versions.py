"""May the target read a graph of this version? Findings 00x."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding, finding
from tfport.graph.model import Model


@finding("TFP001", "newer-graph")
class NewerGraph(Finding):
    """the graph is for TensorFlow with GraphDef version {wanted} or later; {target} has {found}

    ## Cause
    The file says in `versions.min_consumer` which versions may read it. Versions of the
    GraphDef do not always grow with the release: 1.15.5 has 134, 2.0.4 has 119.
    ## Fix
    Use a release with that version (`tfport targets show` tells it), or export again.
    ## Example
        y = NoOp()
        min_consumer 3000
        on tensorflow==2.8.4
    """

    wanted: int
    found: int

    def says(self) -> str:
        release = self.on.build.version if self.on.build else ""
        return (
            f"GraphDef min consumer version {self.wanted} above current version {self.found} for TensorFlow "
            f"{release}.  Please upgrade TensorFlow."
        )


@finding("TFP002", "refused-version")
class RefusedVersion(Finding):
    """the graph refuses GraphDef version {found}, which {target} has

    ## Cause
    The file lists in `versions.bad_consumers` versions that would read it wrongly.
    ## Fix
    Use another release, or export again.
    ## Example
        y = NoOp()
        bad_consumers 987
        on tensorflow==2.8.4
    """

    found: int

    def says(self) -> str:
        return (
            f"GraphDef disallows consumer version {self.found}.  Please upgrade TensorFlow: this version is "
            "likely buggy."
        )


@finding("TFP003", "older-graph")
class OlderGraph(Finding):
    """the graph has version {producer}; {target} reads none before {wanted}

    ## Cause
    The graph was written by a TensorFlow from before 1.0, or its version is missing.
    ## Fix
    Export it again with a release of the last years.
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


def version_findings(model: Model, target: Target) -> Iterator[Finding]:
    """What the versions in the file say against a target; nothing of one whose own are not known."""
    known = target.build.facts.get("graph_def") if target.build else None
    if not known:
        return
    versions, found = model.graph.rest.versions, known["producer"]
    producer = versions.producer or model.graph.rest.version
    if versions.min_consumer > found:
        yield NewerGraph(on=target, wanted=versions.min_consumer, found=found)
    if found in versions.bad_consumers:
        yield RefusedVersion(on=target, found=found)
    if producer < known["min_producer"]:
        yield OlderGraph(on=target, producer=producer, wanted=known["min_producer"])
