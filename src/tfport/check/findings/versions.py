"""May the target read a graph of this version (findings 00x), and can a loader choose it (041, 042)?"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import AT_LOAD, NOT_CHECKED, VERSIONS, Noticed
from tfport.check.loaders import Loader
from tfport.formats.saved_model.signature import SAVED_MODEL


@finding("TFP001", "newer-graph", noticed=VERSIONS)
class NewerGraph(Finding):
    """the graph needs GraphDef version {wanted} or later; {target} has {actual}

    ## Cause
    The file's `versions.min_consumer` says which versions may read it. GraphDef versions do not
    always grow with the release: 1.15.5 has 134, but 2.0.4 has 119.
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
    The file's `versions.bad_consumers` lists versions that would misread it.
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


# The MetaGraph that a loader chooses by its tags.

SERVE = ("serve",)


@finding(
    "TFP041",
    "no-serving-graph",
    noticed=Noticed(
        serving=AT_LOAD, python_2=NOT_CHECKED, objects=NOT_CHECKED, keras_1=NOT_CHECKED, tfport=AT_LOAD
    ),
)
class NoServingGraph(Finding):
    """no MetaGraph has exactly the tags {{serve}}; available: {available}

    ## Cause
    A SavedModel may contain several graphs, each with its own tags. A loader takes the one that has
    exactly the requested tags; TensorFlow Serving requests `serve`.
    ## Fix
    Export with the tag `serve`, or name the tags (`--tags` here, `--saved_model_tags` for
    the server).
    ## Example
        tfport check tests/truth/models/two_tags --on tensorflow==2.8.4 --loader capi
    """

    available: str

    def says(self) -> str:
        return "Could not find meta graph def matching supplied tags: { serve }."


@finding(
    "TFP042",
    "several-graphs",
    noticed=Noticed(
        serving=NOT_CHECKED, python_2=AT_LOAD, objects=AT_LOAD, keras_1=AT_LOAD, tfport=NOT_CHECKED
    ),
)
class SeveralGraphs(Finding):
    """the model has {count} MetaGraphs, so Python needs the tags of one

    ## Cause
    `tf.saved_model.load(path)` loads only a model with a single graph.
    ## Fix
    `tf.saved_model.load(path, tags=["serve"])`, and `--tags serve` here.
    ## Example
        tfport check tests/models/estimator --on tensorflow==2.8.4 --loader python
    """

    count: int

    def says(self) -> str:
        return (
            "Importing a SavedModel with `tf.saved_model.load` requires a `tags=` argument if there is more "
            "than one MetaGraph."
        )


@check
def graph_can_be_chosen(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    saved_model = model.model
    if saved_model.format is not SAVED_MODEL or saved_model.asked_tags:
        return
    if SERVE not in saved_model.tag_sets:
        available = " and ".join("{" + ", ".join(tags) + "}" for tags in saved_model.tag_sets)
        yield NoServingGraph(available=available)
    if len(saved_model.tag_sets) > 1:
        yield SeveralGraphs(count=len(saved_model.tag_sets))
