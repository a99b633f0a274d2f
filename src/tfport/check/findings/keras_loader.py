"""Would `tf.keras.models.load_model` restore a Keras model from a SavedModel? Findings 05x."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import KERAS
from tfport.check.loaders import KERAS as LOADER
from tfport.check.loaders import Loader, has_objects
from tfport.check.release_quirks import since
from tfport.errors import Error
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL

LAYERS = "_tf_keras"


@finding("TFP051", "keras-reads-no-saved-model", noticed=KERAS)
class KerasReadsNoSavedModel(Finding):
    """the Keras of {target} cannot load a SavedModel

    ## Cause
    From 2.16 on TensorFlow contains Keras 3, which reads `.keras` and `.h5` files only;
    before 1.15 Keras read `.h5` files only.
    ## Fix
    Load it with `tf.saved_model.load`, or use it as a layer:
    `keras.layers.TFSMLayer(path, call_endpoint="serving_default")`. Or install `tf_keras`
    and use `tf_keras.models.load_model`.
    ## Example
        tfport check tests/truth/keras/module-2.0.4 --on tensorflow==2.16.2 --loader keras
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


@finding("TFP052", "no-keras-model", noticed=KERAS)
class NoKerasModel(Finding):
    """the model was saved by TensorFlow 1, without the objects that Keras needs to restore it

    ## Cause
    `load_model` reads what Keras saved. This SavedModel has a graph and signatures only.
    ## Fix
    Load it with `tf.saved_model.load`, or in a session.
    ## Example
        tfport check tests/truth/keras/estimator-2.3.4 --on tensorflow==2.8.4 --loader keras
    """

    def says(self) -> str:
        return "list index (0) out of range"


@finding("TFP053", "layers-elsewhere", noticed=KERAS)
class LayersInMetadataFile(Finding):
    """the layers of this model are in keras_metadata.pb, which the Keras of {target} does not read

    ## Cause
    From 2.5 on Keras writes the settings of layers into a separate file.
    ## Fix
    Use 2.5 or later, load the model with `tf.saved_model.load`, or save it as `.h5`.
    ## Example
        tfport check tests/truth/keras/embedding-2.6.5 --on tensorflow==2.3.4 --loader keras
    """

    def says(self) -> str:
        return "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"


@finding("TFP054", "newer-keras", noticed=KERAS)
class NewerKeras(Finding):
    """the layers were saved by the Keras of TensorFlow {saved}, newer than that of {target}

    ## Cause
    Keras restores layers and optimizers from their settings. An older release does not
    know those that a later release added. They are not recorded, so the verdict is
    `unknown`.
    ## Fix
    Load it with `tf.saved_model.load`, which does not restore the layers.
    ## Example
        tfport check tests/truth/keras/operators-2.11.1 --on tensorflow==2.8.4 --loader keras
    """

    decides = False
    saved: str


@check
def keras_can_restore(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    saved_model = model.model
    if loader.name != LOADER or saved_model.format is not SAVED_MODEL:
        return
    if since(target, "2.16") or not since(target, "1.15"):
        yield KerasReadsNoSavedModel()
        return
    if not has_objects(saved_model):
        if since(target, "2.4"):
            yield NoKerasModel()
        return
    layers = [node.user_object for node in saved_model.meta.object_graph_def.nodes if _is_layer(node)]
    if not layers:
        return
    if not since(target, "2.5") and not any(layer.metadata for layer in layers):
        yield LayersInMetadataFile()
    saved = saved_model.meta.meta_info_def.tensorflow_version
    if target.build and _is_newer(saved, target.build.version):
        yield NewerKeras(saved=saved)


def _is_layer(node: pb.SavedObject) -> bool:
    return node.user_object.identifier.startswith(LAYERS)


def _is_newer(saved: str, release: str) -> bool:
    try:
        return version_key(saved).release[:2] > version_key(release).release[:2]
    except Error:
        return False
