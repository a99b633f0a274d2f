"""Can a loader choose the MetaGraph of a SavedModel? Findings 041 and 042."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import AT_LOAD, NOT_CHECKED, Noticed
from tfport.check.loaders import Loader
from tfport.formats.saved_model.signature import SAVED_MODEL

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
    A SavedModel may contain several graphs, each with its tags. A loader takes the one
    with exactly the requested tags: TensorFlow Serving requests `serve`.
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
    """the model has {count} MetaGraphs, and Python needs the tags of one

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
