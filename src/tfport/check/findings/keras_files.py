"""Findings about Keras files: what the `load_model` of a Keras release does not accept.

`check.keras` simulates the loaders and yields them; their stage is known, so no `@check` is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfport.check.findings.finding import LOAD, Finding, finding
from tfport.check.loader_stages import KERAS

if TYPE_CHECKING:
    from tfport.atlas.keras_releases import KerasRelease

WHOLE_MODEL = "the model"


class KerasFileFinding(Finding):
    """The base of the findings about Keras files."""

    layer: str = ""
    """The name of the layer, as the file has it; empty for the model itself."""
    class_name: str = ""
    says_text: str = ""
    """The exception of the loader."""
    why: str = ""
    ways: tuple[str, ...] = ()
    stage: str | None = LOAD

    @property
    def place(self) -> str:
        """The layer, for messages."""
        return f"layer `{self.layer}`" if self.layer else WHOLE_MODEL

    @property
    def message(self) -> str:
        """The title with its placeholders filled, without a place if it is about the whole model."""
        return super().message.removeprefix(f"{WHOLE_MODEL}: ")

    @property
    def release(self) -> KerasRelease | None:
        """The Keras of the target."""
        return self.on.keras

    def cause(self) -> str:
        return self.why

    def says(self) -> str | None:
        return self.says_text or None

    def fixes(self) -> list[str]:
        return list(self.ways)


@finding("TFP701", "unknown-keras-class", noticed=KERAS)
class UnknownKerasClass(KerasFileFinding):
    """{place}: {target} has no class `{class_name}`

    ## Cause
    The configuration names a class that this release of Keras does not have: it was added later,
    removed or renamed, or it belongs to the program that saved the model.
    ## Fix
    Use a release that has it. If the class is your own, pass it to the loader
    (`load_model(path, custom_objects={…})`) or register it with
    `@keras.saving.register_keras_serializable()`.
    ## Example
        tfport check tests/check/keras/files/removed_class.h5 --on keras==3.15.1
    """


@finding("TFP702", "unknown-keras-argument", noticed=KERAS)
class UnknownKerasArgument(KerasFileFinding):
    """{place}: `{class_name}` of {target} does not take the argument `{argument}`

    ## Cause
    The configuration of a class has a key that the constructor of this release does not
    accept: the argument was added later, or was removed.
    ## Fix
    Use a release that accepts it. If its value is what this release does anyway, remove the key;
    `tfport fix` does so if the meaning stays the same.
    ## Example
        tfport check tests/check/keras/files/removed_argument.h5 --on keras==3.15.1
    """

    argument: str


@finding("TFP703", "missing-keras-argument", noticed=KERAS)
class MissingKerasArgument(KerasFileFinding):
    """{place}: `{class_name}` of {target} needs the argument `{argument}`, which the file does not have

    ## Cause
    This release's constructor has an argument without a default. The release that saved the file
    did not have it, or gave it another name (Keras 1's `output_dim` is Keras 2's `units`).
    ## Fix
    Use a release closer to the one that saved the file, or rewrite the file with `tfport fix`.
    ## Example
        tfport check tests/check/keras/files/keras_1_dense.h5 --on tensorflow==2.4.4
    """

    argument: str


@finding("TFP704", "unknown-keras-object", noticed=KERAS)
class UnknownKerasObject(KerasFileFinding):
    """{place}: {target} has no {kind} `{object_name}`

    ## Cause
    Initializers, activations, regularizers, constraints and dtype policies are stored by
    name. This release does not know the name: it was added later, was removed, or is a function in
    the program that saved the model; `<lambda>` is a function without a name.
    ## Fix
    Use a release that has it, or pass the function to the loader: `load_model(path,
    custom_objects={"name": function})`.
    ## Example
        tfport check tests/check/keras/files/custom_activation.h5 --on keras==3.15.1
    """

    kind: str
    object_name: str


@finding("TFP705", "moved-keras-module", noticed=KERAS)
class MovedKerasModule(KerasFileFinding):
    """{place}: {target} has no module `{module}`, where the file expects `{class_name}`

    ## Cause
    Files in the `.keras` format name each class's module. This module belongs to another Keras
    (`keras.src.engine` is Keras 2, `tf_keras` the package of that name), or to the program that
    saved the model.
    ## Fix
    Load the file with the Keras that saved it, or rewrite it with `tfport fix`. If the class is
    your own, install its package and register the class with
    `@keras.saving.register_keras_serializable()`.
    ## Example
        tfport check tests/check/keras/files/moved_module.json --on keras==3.0.5
    """

    module: str


@finding("TFP706", "keras-file-format", noticed=KERAS)
class KerasFileFormat(KerasFileFinding):
    """{target} does not read this kind of file: {what}

    ## Cause
    Keras 1 and Keras 2 before 2.12 read only HDF5 files; Keras 3 reads `.keras` archives and HDF5
    files whose names end in `.h5` or `.hdf5`. A file that contains only weights needs the code that
    builds the model.
    ## Fix
    Rename the file if only its name is wrong; otherwise save or rewrite it in the other
    format (`tfport fix`).
    ## Example
        tfport check tests/check/keras/files/only_weights.h5 --on keras==3.15.1
    """

    what: str


@finding("TFP707", "keras-config-form", noticed=KERAS)
class KerasConfigForm(KerasFileFinding):
    """{place}: {target} does not read this form of configuration: {what}

    ## Cause
    The form of configurations changed between releases: Sequential models were lists before Keras
    2.2.3, layer calls were lists before Keras 3, and new kinds of values were added.
    ## Fix
    Rewrite the file for this release with `tfport fix`, or load it with a release from its time.
    ## Example
        tfport check tests/check/keras/files/list_of_layers.h5 --on keras==3.15.1
    """

    what: str


@finding("TFP710", "keras-weights", noticed=KERAS)
class KerasWeightsMismatch(KerasFileFinding):
    """{place}: {target} does not load its weights: {what}

    ## Cause
    The release creates different weights for the layer than the file has: a different number of
    arrays, a different order, or different shapes.
    ## Fix
    Load the file with the release that saved it, or rewrite it with `tfport fix`.
    ## Example
        tfport check tests/check/keras/files/old_gru.h5 --on tensorflow==2.4.4
    """

    what: str


@finding("TFP709", "keras-compile-settings", "warning", noticed=KERAS)
class KerasCompileSettings(KerasFileFinding):
    """{target} loads the model only with `compile=False`: it does not accept {what}

    ## Cause
    The file stores how the model was compiled. `load_model(path)` compiles it again with the
    release's own optimizer, losses and metrics, but some of those in the file were added later,
    take different arguments, or belong to the program that saved the model. Predictions do not need
    them.
    ## Fix
    Pass `compile=False` to `load_model`, and compile the model again if you train it. Pass your own
    losses and metrics as `custom_objects`.
    ## Example
        tfport check tests/check/keras/files/old_optimizer.h5 --on keras==3.15.1
    """

    what: str


@finding("TFP711", "keras-input-shape", noticed=KERAS)
class KerasInputRank(KerasFileFinding):
    """{place}: {target} takes the batch in the stored input shape {shape} for one more dimension

    ## Cause
    Keras 3's HDF5 loader passes `batch_input_shape`, which includes the batch, as `input_shape`,
    which does not. A model whose first layer stores its input shape gets an input with one
    dimension too many.
    ## Fix
    Rewrite the file with `tfport fix`: it adds an input layer.
    ## Example
        tfport check tests/check/keras/files/shape_in_first_layer.h5 --on keras==3.15.1
    """

    shape: str


@finding("TFP720", "keras-lambda", noticed=KERAS)
class KerasLambda(KerasFileFinding):
    """{place} contains Python code, which {target} does not load by default

    ## Cause
    A Lambda layer stores the bytecode of a Python function. Loading it would run code from
    the file, so Keras refuses it unless the caller passes `safe_mode=False`.
    ## Fix
    If you trust the file, pass `safe_mode=False` under the Python version that saved it; another
    Python's bytecode does not load, or crashes. Better still, replace the Lambda with a layer.
    ## Example
        tfport check tests/check/keras/files/lambda_layer.h5 --on keras==3.15.1
    """


@finding("TFP721", "keras-lambda-python", noticed=KERAS)
class KerasLambdaPython(KerasFileFinding):
    """{place} contains Python bytecode, which needs {pythons}

    ## Cause
    The file stores a Python function as marshalled bytecode, and does not say for which Python; its
    layout narrows it down to a few versions. Others fail (`bad marshal data`), crash, or run
    something else, so the verdict is `unknown` unless none of the target's Pythons fits. Loading
    the file runs code from it.
    ## Fix
    Load it under the Python that saved it, and only if you trust the file; or replace the Lambda
    with a layer.
    ## Example
        tfport check tests/check/keras/files/lambda_layer.h5 --on tensorflow==2.4.4
    """

    pythons: str


@finding("TFP722", "keras-unsafe-content", noticed=KERAS)
class KerasUnsafeContent(KerasFileFinding):
    """{place}: {target} refuses `{object_name}`, which a model should not contain

    ## Cause
    The configuration names a function that loads files, or an object outside Keras: loading
    it could run code or read files. Recent releases refuse it; older ones execute it.
    ## Fix
    Do not load the file unless you know where it comes from.
    ## Example
        tfport check tests/check/keras/files/loading_function.json --on keras==3.15.1
    """

    object_name: str


@finding("TFP730", "keras-backend-layer", noticed=KERAS)
class KerasBackendLayer(KerasFileFinding):
    """{place}: `{class_name}` runs only with the {backend} backend

    ## Cause
    The layer wraps an object of one framework.
    ## Fix
    Load the model with that backend (`KERAS_BACKEND={backend}`).
    ## Example
        tfport check tests/check/keras/files/backend_layer.h5 --on keras==3.15.1
    """

    backend: str


@finding("TFP731", "keras-tensorflow-layer", noticed=KERAS)
class KerasTensorFlowLayer(KerasFileFinding):
    """{place}: `{class_name}` of {target} needs an installed TensorFlow

    ## Cause
    Keras 3 uses TensorFlow to compute string and integer lookups, text vectors and hashes, whatever
    its backend. Without TensorFlow, it cannot create the layer.
    ## Fix
    Install TensorFlow along with Keras, and name it in the target: `--on "keras==3.15.1
    tensorflow==2.21.0"`.
    ## Example
        tfport check tests/check/keras/files/string_lookup.h5 --on keras==3.15.1
    """


@finding("TFP732", "keras-gpu-layer", noticed=KERAS)
class KerasGpuLayer(KerasFileFinding):
    """{place}: `{class_name}` runs only on a GPU

    ## Cause
    The layer calls cuDNN, which has no CPU version. The model loads, but its first call fails: the
    op CudnnRNN has no CPU kernel.
    ## Fix
    If there is a GPU, check with `--device gpu`. Otherwise rewrite the file with `tfport fix`,
    or load its weights into LSTM or GRU (`recurrent_activation="sigmoid"`,
    `reset_after=True`).
    ## Example
        tfport check tests/check/keras/files/removed_class.h5 --on tensorflow==1.15.5
    """


@finding("TFP740", "keras-changed-meaning", noticed=KERAS)
class KerasChangedMeaning(KerasFileFinding):
    """{place} loads in {target}, but computes something else: {what}

    ## Cause
    The release accepts the configuration but gives it a different meaning than the release that
    saved the file, without an error or a warning.
    ## Fix
    Rewrite the file with `tfport fix`, which writes out what was meant, or use a release that gives
    the same result.
    ## Example
        tfport check tests/check/keras/files/hard_sigmoid.h5 --on keras==3.15.1
    """

    what: str


@finding("TFP741", "keras-endless-load", noticed=KERAS)
class KerasEndlessLoad(KerasFileFinding):
    """{place}: {target} never finishes loading the model

    ## Cause
    The loader repeats a call that cannot succeed: the file counts a nested model's calls from 1,
    and this release counts them from 0.
    ## Fix
    Use another release, or rewrite the file with `tfport fix`.
    ## Example
        tfport check tests/check/keras/files/nested_model.h5 --on keras==3.5.0
    """
