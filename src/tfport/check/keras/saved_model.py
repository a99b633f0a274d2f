"""What a Keras that a target names does with a SavedModel: Keras 2 has the loader of its TensorFlow."""

from __future__ import annotations

from tfport.atlas.keras_releases import KERAS_CORE, TF_KERAS, KerasRelease
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import KERAS_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.keras.generation import is_keras_3
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model
from tfport.startup.dataclass import replace

FIRST_IN_TENSORFLOW = "2.4"
"""The first keras that calls the loader of TensorFlow."""


def is_asked_of_keras(model: Model, target: Target) -> bool:
    """Whether a Keras without its TensorFlow is asked about a SavedModel."""
    return target.kind == KERAS_KIND and model.format is SAVED_MODEL


def tensorflow_of(target: Target) -> Target | None:
    """The target with the TensorFlow whose loader its Keras uses; None if it reads no SavedModels."""
    release = target.keras
    assert release is not None
    if not _reads_saved_models(release):
        return None
    major, minor, *_ = version_key(release.version).release
    (tensorflow,) = resolve_targets(f"tensorflow=={major}.{minor}")
    package = "tf_keras" if release.package == TF_KERAS else "tf.keras"
    note = f"{target.name} loads a SavedModel with `{package}.models.load_model` of {tensorflow.name}"
    notes = [*target.notes, note]
    return replace(
        tensorflow, name=target.name, requirement=target.requirement, named_keras=release, notes=notes
    )


def _reads_saved_models(release: KerasRelease) -> bool:
    if release.package == KERAS_CORE or is_keras_3(release):
        return False
    return version_key(release.version) >= version_key(FIRST_IN_TENSORFLOW)
