"""Would `tf.keras.models.load_model` make a Keras model of a SavedModel again? Findings 05x."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding, finding
from tfport.check.loaders import has_objects
from tfport.check.release_quirks import since
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model

LAYERS = "_tf_keras"


@finding("TFP051", "keras-reads-no-saved-model")
class KerasReadsNoSavedModel(Finding):
    """the Keras of {target} loads no SavedModel

    ## Cause
    From 2.16 on TensorFlow brings Keras 3, which reads `.keras` and `.h5` files only; before
    1.15 Keras read `.h5` files only.
    ## Fix
    Load it with `tf.saved_model.load`, or put it into a model as
    `keras.layers.TFSMLayer(path, call_endpoint="serving_default")`; or install `tf_keras` and
    use `tf_keras.models.load_model`.
    """

    def says(self) -> str:
        if not since(self.on, "2.16"):
            return "Unable to open file (file read failed: … error message = 'Is a directory')"
        return (
            "File format not supported: filepath=MODEL. Keras 3 only supports V3 `.keras` files, legacy H5 "
            "format files (`.h5` extension)."
        )

    def fixes(self) -> list[str]:
        if not since(self.on, "2.16"):
            return ["load it with tf.saved_model.loader.load, in a session"]
        return ['keras.layers.TFSMLayer(path, call_endpoint="serving_default")', "tf.saved_model.load(path)"]


@finding("TFP052", "no-keras-model")
class NoKerasModel(Finding):
    """the model was saved by TensorFlow 1, without the objects that Keras makes a model of

    ## Cause
    `load_model` reads what Keras saved. This SavedModel has a graph and signatures only.
    ## Fix
    Load it with `tf.saved_model.load`, or in a session.
    """

    def says(self) -> str:
        return "list index (0) out of range"


@finding("TFP053", "layers-elsewhere")
class LayersElsewhere(Finding):
    """the Keras of {target} does not look for layers in keras_metadata.pb, where this model has them

    ## Cause
    From 2.5 on Keras writes what it needs to make layers again into a file of its own.
    ## Fix
    Use 2.5 or later, load the model with `tf.saved_model.load`, or save it as `.h5`.
    """

    def says(self) -> str:
        return "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"


@finding("TFP054", "newer-keras")
class NewerKeras(Finding):
    """the layers were saved by the Keras of TensorFlow {saved}, newer than that of {target}

    ## Cause
    Keras makes layers and optimizers again from their settings. One that a later release
    added is an error in an earlier one; which there are is not recorded, so the verdict is
    `unknown`.
    ## Fix
    Load it with `tf.saved_model.load`, which does not make the layers again.
    """

    decides = False
    saved: str


def keras_findings(model: Model, target: Target) -> Iterator[Finding]:
    """What keeps Keras from making a model of it; all of it at load."""
    if since(target, "2.16") or not since(target, "1.15"):
        yield KerasReadsNoSavedModel(on=target)
        return
    if not has_objects(model):
        if since(target, "2.4"):
            yield NoKerasModel(on=target)
        return
    layers = [node.user_object for node in model.meta.object_graph_def.nodes if _is_layer(node)]
    if not layers:
        return
    if not since(target, "2.5") and not any(layer.metadata for layer in layers):
        yield LayersElsewhere(on=target)
    saved = model.meta.meta_info_def.tensorflow_version
    if target.build and _is_newer(saved, target.build.version):
        yield NewerKeras(on=target, saved=saved)


def _is_layer(node: pb.SavedObject) -> bool:
    return node.user_object.identifier.startswith(LAYERS)


def _is_newer(saved: str, release: str) -> bool:
    try:
        return Version(saved).release[:2] > Version(release).release[:2]
    except InvalidVersion:
        return False
