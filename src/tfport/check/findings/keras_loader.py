"""Would `tf.keras.models.load_model` restore a Keras model from a SavedModel? Findings 05x."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.keras_releases import TF_KERAS
from tfport.atlas.target import KERAS_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.keras.generation import is_keras_3, unsupported_format
from tfport.check.loader_stages import KERAS
from tfport.check.loaders import KERAS as LOADER
from tfport.check.loaders import Loader, has_objects
from tfport.check.release_quirks import since
from tfport.errors import Error
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model

LAYERS = "_tf_keras"
DEFAULT = "serving_default"


@finding("TFP051", "keras-reads-no-saved-model", noticed=KERAS)
class KerasReadsNoSavedModel(Finding):
    """`load_model` in {keras} does not read SavedModels

    ## Cause
    From 2.16 on TensorFlow contains Keras 3, which reads `.keras` and `.h5` files only;
    before 1.15, Keras read only `.h5` files, and so did the package keras before 2.4.
    ## Fix
    `tfport fix MODEL --for keras==3.15.1 -o model.keras` writes a file that Keras 3 loads,
    even without TensorFlow; `--as-graph` does so for a graph that is not made of Keras layers.
    For inference, use it as a layer: `keras.layers.TFSMLayer(path,
    call_endpoint="serving_default")`, or load it with `tf.saved_model.load`. For the model
    with its layers, use Keras 2: `tf_keras.models.load_model`, or
    `tf.keras.models.load_model` of TensorFlow up to 2.15.
    ## Example
        tfport check tests/truth/keras/module-2.0.4 --on tensorflow==2.16.2 --loader keras
    """

    endpoint: str = "serving_default"
    """The signature that a layer would call."""
    has_layers: bool = True
    """Whether Keras 2 would restore layers, not only functions."""

    @property
    def keras(self) -> str:
        release = self.on.keras
        return (
            release.name
            if release is not None and self.on.kind == KERAS_KIND
            else f"the Keras of {self.on.name}"
        )

    @property
    def _is_keras_3(self) -> bool:
        return is_keras_3(self.on.keras) if self.on.keras is not None else since(self.on, "2.16")

    def says(self) -> str:
        if not self._is_keras_3:
            return "Unable to open file (file read failed: … error message = 'Is a directory')"
        return unsupported_format("MODEL", self.on.keras)

    def fixes(self) -> list[str]:
        if not self._is_keras_3:
            return ["load it with tf.saved_model.loader.load, in a session"]
        restored = (
            "with its layers" if self.has_layers else "with its functions only, because it has no layers"
        )
        as_graph = "" if self.has_layers else " --as-graph"
        return [
            f"tfport fix MODEL --for {self.on.requirement} -o model.keras{as_graph}",
            f'for inference: keras.layers.TFSMLayer(path, call_endpoint="{self.endpoint}"), with TensorFlow',
            f"in Keras 2, {restored}: tf_keras.models.load_model(path), or "
            "tf.keras.models.load_model(path) of tensorflow==2.15.1",
            "tf.saved_model.load(path)",
        ]


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
    """this model's layers are in keras_metadata.pb, which Keras in {target} does not read

    ## Cause
    From 2.5 on, Keras writes layer settings into a separate file.
    ## Fix
    Use 2.5 or later, load the model with `tf.saved_model.load`, or save it as `.h5`.
    ## Example
        tfport check tests/truth/keras/embedding-2.6.5 --on tensorflow==2.3.4 --loader keras
    """

    def says(self) -> str:
        return "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"


@finding("TFP054", "newer-keras", noticed=KERAS)
class NewerKeras(Finding):
    """TensorFlow {saved}'s Keras saved the layers; it is newer than the Keras in {target}

    ## Cause
    Keras restores layers and optimizers from their settings. An older release does not know
    settings that a later release added. tfport has no record of these, so the verdict is `unknown`.
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
    if (since(target, "2.16") and not _is_tf_keras(target)) or not since(target, "1.15"):
        yield no_saved_models(saved_model)
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


def no_saved_models(model: Model) -> KerasReadsNoSavedModel:
    """The finding about a SavedModel, with the signature to call instead."""
    names = sorted(model.signatures)
    endpoint = DEFAULT if DEFAULT in names or not names else names[0]
    nodes = model.meta.object_graph_def.nodes
    return KerasReadsNoSavedModel(endpoint=endpoint, has_layers=any(map(_is_layer, nodes)))


def _is_tf_keras(target: Target) -> bool:
    """Whether Keras 2 is installed beside a TensorFlow that comes with Keras 3."""
    return target.named_keras is not None and target.named_keras.package == TF_KERAS


def _is_layer(node: pb.SavedObject) -> bool:
    return node.user_object.identifier.startswith(LAYERS)


def _is_newer(saved: str, release: str) -> bool:
    try:
        return version_key(saved).release[:2] > version_key(release).release[:2]
    except Error:
        return False
