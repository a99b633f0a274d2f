"""Does the release of TensorFlow Decision Forests read the forests of the model? Finding 065."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import LOADING, Noticed
from tfport.check.loaders import Loader
from tfport.errors import UnreadableFile
from tfport.formats.saved_model.read import ASSETS
from tfport.graph.state import forest_prefixes
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.formats.yggdrasil.records import ForestModel

TF_DF = "tensorflow-decision-forests"
WHEN_LOADING = (LOADING, LOADING, LOADING)
FATAL = "[FATAL gradient_boosted_trees.cc] Not implemented"


@dataclass(frozen=True, slots=True)
class ForestFeature:
    """Something in a forest that not every release of TF-DF reads."""

    what: str
    first: str | None
    """The first recorded release whose library has it; None if none has it, only ydf-tf."""
    says: str = ""
    without: str = ""
    """The last release that was seen to refuse it, if the libraries do not tell when it came."""


# From the inference libraries in the wheels of every recorded release: the names of models, losses, tasks and
# formats that they contain. `tests/live/answer_forests.py` loaded recorded forests in TF-DF 0.2.4, 1.1.0,
# 1.2.0 and ydf-tf 2.21.0.
KINDS = {
    "ISOLATION_FOREST": ForestFeature(
        "isolation forests", "1.10.1", 'No class registered with key "ISOLATION_FOREST"'
    ),
    "MULTITASKER": ForestFeature("multitask models", "1.2.0", 'No class registered with key "MULTITASKER"'),
}
LOSSES = {
    "BINARY_FOCAL_LOSS": ForestFeature("the focal loss", "0.2.3", FATAL),
    "POISSON": ForestFeature("the Poisson loss", "1.4.0", FATAL),
    "MEAN_AVERAGE_ERROR": ForestFeature("the loss MEAN_AVERAGE_ERROR", "1.7.0", FATAL),
    "LAMBDA_MART_NDCG": ForestFeature("the loss LAMBDA_MART_NDCG", "1.11.0", FATAL),
    "COX_PROPORTIONAL_HAZARD": ForestFeature("the loss COX_PROPORTIONAL_HAZARD", None, FATAL),
}
TASKS = {
    "CATEGORICAL_UPLIFT": ForestFeature("uplift modeling", "0.2.3", "Unknown task"),
    "NUMERICAL_UPLIFT": ForestFeature("uplift modeling with a numerical outcome", "0.2.7", "Unknown task"),
    "SURVIVAL_ANALYSIS": ForestFeature("survival analysis", None, "Unknown task"),
}
FORMATS = {
    "BLOB_SEQUENCE_GZIP": ForestFeature("nodes in the format BLOB_SEQUENCE_GZIP", "1.12.0"),
}
COLUMNS = {
    "DISCRETIZED_NUMERICAL": ForestFeature(
        "discretized features", "1.1.0", 'Non supported feature type "DISCRETIZED_NUMERICAL"', "0.2.4"
    ),
    "NUMERICAL_VECTOR_SEQUENCE": ForestFeature("vector sequences as features", "1.11.0"),
}


@finding(
    "TFP065",
    "forest-of-newer-package",
    noticed=Noticed(serving=WHEN_LOADING, objects=WHEN_LOADING),
)
class ForestOfNewerPackage(Finding):
    """{file}: {package} does not support {what}

    ## Cause
    The forest was trained with a newer release of TensorFlow Decision Forests or YDF. An older
    library refuses it, or ends the process ("Not implemented") at the first prediction.
    ## Fix
    Install a newer release of the package, with the TensorFlow that it was built for, or ydf-tf,
    which replaces it; or run the model with tfport.
    ## Example
        tfport check tests/check/models/isolation_forest \\
            --on "tensorflow==2.11.1 tensorflow-decision-forests==1.1.0" --loader capi
    """

    file: str
    what: str
    package: str
    first: str | None
    error: str = ""

    def cause(self) -> str:
        since = f"{TF_DF} has it since {self.first}" if self.first else f"no release of {TF_DF} has it"
        return f"{since}; ydf-tf has it"

    def says(self) -> str:
        return self.error

    def fixes(self) -> list[str]:
        if self.first is None:
            return ["use ydf-tf"]
        return [f"use {TF_DF}=={self.first} or a newer one, with the TensorFlow that it requires"]


@check
def forests_are_supported(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    addon = next((build for build in target.addons if build.package == TF_DF), None)
    if addon is None:
        return
    for file, feature in model.once(_features):
        if feature.first is None or version_key(addon.version) < version_key(feature.first):
            yield ForestOfNewerPackage(
                file=file,
                what=feature.what,
                package=addon.name,
                first=feature.first,
                error=feature.says,
                doubt=_doubt(feature, addon.version),
            )


def _doubt(feature: ForestFeature, version: str) -> str:
    if feature.without and version_key(version) > version_key(feature.without):
        return (
            f"{TF_DF} {feature.without} refuses it, {feature.first} reads it; releases between were not tried"
        )
    return ""


def _features(checked: CheckedModel) -> Iterator[tuple[str, ForestFeature]]:
    """What the forests of a model have; one that cannot be read is left to the loader, but for its kind."""
    model = checked.model
    prefixes = forest_prefixes(model)
    if not prefixes:
        return
    from tfport.formats.yggdrasil.read import read_forest, read_kind  # with numpy; few need it

    for prefix in prefixes:
        file = model.files.label(f"{ASSETS}/{prefix}header.pb")
        try:
            if feature := KINDS.get(read_kind(model.files, ASSETS, prefix)):
                yield file, feature
            forest = read_forest(model.files, ASSETS, prefix)
        except UnreadableFile:
            continue
        yield from ((file, feature) for feature in forest_features(forest))


def forest_features(forest: ForestModel) -> Iterator[ForestFeature]:
    types = {forest.columns[index].type for index in forest.features}
    """What a forest has, beside its kind."""
    for table, names in (
        (TASKS, {forest.task}),
        (LOSSES, {forest.loss}),
        (FORMATS, {forest.node_format}),
        (COLUMNS, types),
    ):
        yield from (table[name] for name in sorted(names & table.keys()))
