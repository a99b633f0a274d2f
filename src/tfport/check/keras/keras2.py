"""The loaders of Keras 1 and 2: HDF5 files, and since 2.12 `.keras` archives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfport.atlas.keras_releases import TF_KERAS, KerasObject, KerasRelease
from tfport.check.findings.keras_files import (
    KerasConfigForm,
    KerasFileFormat,
    KerasLambda,
    MissingKerasArgument,
    MovedKerasModule,
    UnknownKerasClass,
    UnknownKerasObject,
)
from tfport.check.keras.custom import is_custom
from tfport.check.keras.environment import CUDNN
from tfport.check.keras.keras2_objects import Keras2Objects
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised, wrap
from tfport.check.keras.stored_objects import copied, decoded
from tfport.formats.keras.records import Json, KerasFile

GFILE = "tensorflow.python.platform.gfile.GFile"
FIRST_LOAD_MODEL = "1.0.7"
"""The first keras with `load_model`."""


def load_with_keras_1(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path)`."""
    layers = Keras1Layers(release)
    if not layers.since("9", FIRST_LOAD_MODEL):
        what = f"a model with its architecture: `load_model` came with keras {FIRST_LOAD_MODEL}"
        return [Raised("ImportError", "cannot import name 'load_model'", KerasFileFormat(what=what))]
    if file.layout == "weights" or file.config is None:
        return [_no_model("No model found in config file.")]
    if file.layout == "keras":
        return [_no_archives(file, layers)]
    return layers.deserialize(copied(file.config))


def load_with_keras_2(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras2Layers(release)
    if file.layout == "weights" or file.config is None:
        text = "No model found in config file."
        if layers.is_standalone and layers.since("9", "2.2.3"):  # it takes what is absent for a new group
            text = (
                f"Cannot create group in {'read-only' if layers.since('9', '2.2.5') else 'read only'} mode."
            )
        elif layers.since("2.7"):
            shown = f"<{GFILE} object at 0x…>" if layers.since("2.8") else file.where
            text = f"No model config found in the file at {shown}."
        return [_no_model(text)]
    if file.layout == "keras":
        if not layers.since("2.12"):
            return [_no_archives(file, layers)]
        archive = Keras2Archive(release)
        archive.is_safe = True
        return archive.model({**copied(file.config), "compile_config": None})
    if layers.since("2.13"):
        return Keras2Archive(release).deserialize(decoded(file.config))
    return layers.deserialize(decoded(file.config))


def _no_model(text: str) -> Raised:
    return Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))


def _no_archives(file: KerasFile, layers: Keras2Layers) -> Raised:
    """The error for an archive in a release that does not know them: it is read as another format."""
    text = "Unable to open file (file signature not found)"
    if layers.since("1.14") and not layers.since("2.8"):  # both look at the content; the others at the name
        text = f"SavedModel file does not exist at: {file.where}/{{saved_model.pbtxt|saved_model.pb}}"
    return Raised("OSError", text, KerasFileFormat(what="a `.keras` archive, which came with Keras 2.12"))


# Layers and models in HDF5 files.

FUNCTIONAL = ("Functional", "Model", "Network", "Container")
FIRST_STORED_SHAPES = "2.6"
ATTENTION_SHAPES = ("query_shape", "key_shape", "value_shape")
"""What `from_config` of MultiHeadAttention takes from a configuration."""
UNLISTED = ("RandomFourierFeatures", "SpectralNormalization")
"""Public classes that no table of the loaders has."""
FUNCTION_LAYER, CONSTANT, EINSUM = "TFOpLambda", "_CONSTANT_VALUE", ("einsum", "linalg.einsum")
RENAMED = {"BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization"}


class Keras2Layers(Keras2Objects):
    """The layers and models of one release of Keras 2."""

    def deserialize(self, config: Json) -> list[Raised]:
        """The errors of `layers.deserialize`."""
        if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
            return [self._improper(config, "")]
        name, inner = str(config["class_name"]), config["config"]
        layer = str(config.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or "")
        known = self.release.find("layer", name)
        if known is None and self.since("1.14"):
            known = self.release.find("layer", RENAMED.get(name, name))
        if known is None or name in UNLISTED:
            return [self.unknown("layer", name, layer)]
        return self.from_config(known, inner, layer)

    def from_config(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        special = self._special().get(known.name)
        if special is not None:
            return special(known, config, layer)
        if isinstance(config, dict) and isinstance(config.get("layer"), dict) and "layer" in known.arguments:
            return self._wrapper(known, config, layer)
        return self.created(known, config, layer)

    def _special(self) -> dict[str, Callable[[KerasObject, Json, str], list[Raised]]]:
        return {
            "Sequential": self._sequential,
            **dict.fromkeys(FUNCTIONAL, self._model),
            "RNN": self._rnn,
            "ConvRNN2D": self._rnn,
            "StackedRNNCells": self._stacked,
            "Lambda": self._lambda_layer,
            "MultiHeadAttention": self._attention,
        }

    def created(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """The errors of `Layer.from_config`; since 2.12 they have another text around them."""
        raised = self.construct(known, config, layer)
        if not self.since("2.12") or known.name in ("LSTM", "GRU", "SimpleRNN"):
            return raised
        return wrap(
            raised,
            TYPE_ERROR,
            lambda text: (
                f"Error when deserializing class '{known.name}' using config={config}.\n\n"
                f"Exception encountered: {text}"
            ),
        )

    def _wrapper(self, known: KerasObject, config: dict[str, Json], layer: str) -> list[Raised]:
        inner = self.deserialize(config["layer"])
        backward = config.get("backward_layer")
        inner += self.deserialize(backward) if isinstance(backward, dict) else []
        consumed = {key: value for key, value in config.items() if key != "num_constants"}
        return [*inner, *self.construct(known, consumed, layer)]

    def _rnn(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        inner = self.deserialize(config["cell"]) if isinstance(config.get("cell"), dict) else []
        consumed = {key: value for key, value in config.items() if key != "num_constants"}
        return [*inner, *self.construct(known, consumed, layer)]

    def _stacked(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        inner = [raised for cell in config.get("cells") or () for raised in self.deserialize(cell)]
        return [*inner, *self.construct(known, config, layer)]

    def _lambda_layer(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        consumed = ("function_type", "module", "output_shape_type", "output_shape_module")
        return self.construct(known, {key: v for key, v in config.items() if key not in consumed}, layer)

    def _attention(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """Since 2.6 the layer is built from stored shapes, which the Keras of TensorFlow 2.4 lacks."""
        if not self.since(FIRST_STORED_SHAPES) or not isinstance(config, dict):
            return self.created(known, config, layer)
        if missing := [name for name in ATTENTION_SHAPES if name not in config]:
            finding = MissingKerasArgument(
                layer=layer, class_name=known.name, op=known.name, attr=missing[0], argument=missing[0]
            )
            return [Raised("KeyError", f"'{missing[0]}'", finding)]
        consumed = {key: value for key, value in config.items() if key not in ATTENTION_SHAPES}
        return self.created(known, consumed, layer)

    def _sequential(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        takes_dict = self.since("1.11", "2.2.3")
        if isinstance(config, dict) and takes_dict:
            return self.layers(config.get("layers"))
        if isinstance(config, list) and (not takes_dict or self._takes_list()):
            return self.layers(config)
        if isinstance(config, list):
            return [
                self._form("AttributeError", "'list' object has no attribute 'items'", "a list of layers")
            ]
        if self.is_standalone and not self.since("9", "2.2"):
            return [self._form("KeyError", "0", "a Sequential model as a dict")]
        return [self._form(TYPE_ERROR, "string indices must be integers", "a Sequential model as a dict")]

    def _takes_list(self) -> bool:
        """Whether a Sequential model may be a list of layers: 2.1 and 2.2 expect a dict."""
        return self.is_standalone or not self.since("2.1") or self.since("2.3")

    def _form(self, error: str, text: str, what: str) -> Raised:
        return Raised(error, text, KerasConfigForm(what=what))

    def _model(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        if not isinstance(config, dict) or "layers" not in config:
            return [self._form("KeyError", "'layers'", "a model without layers")]
        return [*self.layers(config["layers"]), *constants_first(config["layers"], self.since("2.4"))]

    def layers(self, stored: Json) -> list[Raised]:
        """The errors of all layers of a model, in order."""
        return [r for config in stored or () if isinstance(config, dict) for r in self.deserialize(config)]


def constants_first(stored: Json, is_kept: bool) -> list[Raised]:
    """The errors of functions whose first argument is no tensor: `1 - x` and `tf.einsum(equation, x)`.

    `is_kept`: the release, since 2.4, reads the call as one of the model's.
    """
    problems = []
    for layer in stored if isinstance(stored, list) else ():
        config = layer.get("config") if isinstance(layer, dict) else None
        if not isinstance(config, dict) or layer.get("class_name") != FUNCTION_LAYER:
            continue
        nodes = layer.get("inbound_nodes")
        for node in nodes if isinstance(nodes, list) else ():
            if isinstance(node, list) and node[:1] == [CONSTANT] and len(node) > 2:
                problems += _constant_first(node[2], config, str(layer.get("name")), is_kept)
    return problems


def _constant_first(constant: Json, config: dict[str, Json], layer: str, is_kept: bool) -> list[Raised]:
    policy = config.get("dtype")
    policy = (policy.get("config") or {}).get("name") if isinstance(policy, dict) else policy
    if config.get("function") in EINSUM:
        expected = str(constant).count(",") + 1
        error, text = VALUE_ERROR, f'Got 0 inputs for equation "{constant}", expecting {expected}'
        what = "a call of `tf.einsum` without its tensors, which Keras 2 does not store"
    elif not is_kept:
        error, text = "AttributeError", "'Tensor' object has no attribute '_keras_history'"
        what = "a call of a function whose first argument is no tensor"
    elif isinstance(constant, float) and policy not in (None, "float32"):
        error, text = (
            TYPE_ERROR,
            "Input 'y' has a type that does not match type float32 of argument 'x'.",
        )
        what = f"the number {constant} before a tensor of another type, which is read as float32"
    else:
        return []
    return [Raised(error, text, KerasConfigForm(layer=layer, class_name=FUNCTION_LAYER, what=what))]


# `.keras` archives, which Keras 2.12 to 2.15 and tf-keras read.

LAMBDA = (
    "Requested the deserialization of a `lambda` object. This carries a potential risk of arbitrary code "
    "execution and thus it is disallowed by default. If you trust the source of the saved model, you "
    "can pass "
    "`safe_mode=False` to the loading function in order to allow `lambda` loading"
)
LAMBDA_LAYER = (
    "Requested the deserialization of a Lambda layer with a Python `lambda` inside it. This carries a "
    "potential risk of arbitrary code execution and thus it is disallowed by default. If you trust the "
    "source of the saved model, you can pass `safe_mode=False` to the loading function in order to allow "
    "Lambda layer loading."
)
FUNCTION_TYPES = ("function_type", "output_shape_type", "mask_type")
UNSAFE_CALL = ", or call `keras.config.enable_unsafe_deserialization()`"


class Keras2Archive(Keras2Layers):
    """The objects of a `.keras` archive: the model is found by its module, its layers by their names."""

    is_safe = False
    """Whether the loader refuses Python code, as it does in archives and not in HDF5 files."""

    def model(self, config: dict[str, Json]) -> list[Raised]:
        """The errors of the whole model."""
        known = self.retrieve(config)
        if isinstance(known, Raised):
            return [known]
        return self.from_config(known, config.get("config"), "")

    def retrieve(self, config: dict[str, Json]) -> KerasObject | Raised:
        """The class that a configuration names by its module, or the error."""
        if custom := is_custom(self.release, config.get("class_name"), config.get("registered_name")):
            return custom
        name, module = str(config.get("class_name")), config.get("module")
        if isinstance(module, str) and module:
            known = self.release.exports.get(f"{module}.{name}")
            if known is not None and module.startswith("keras"):
                return known
            if self.release.package == TF_KERAS and module.startswith("keras"):
                module = f"tf_{module}"
            if not self.release.has_module(module):
                text = (
                    f"Could not deserialize class '{name}' because its parent module {module} cannot "
                    "be imported. "
                    f"Full object config: {config}"
                )
                return Raised(TYPE_ERROR, text, MovedKerasModule(class_name=name, op=name, module=module))
            known = self.release.find("layer", name)
            if known is not None and known.module == module:
                return known
        decorator = "keras.saving.register_keras_serializable()"
        if not self.since("2.13"):
            decorator = "keras.utils.register_keras_serializable"
        text = (
            f"Could not locate class '{name}'. Make sure custom classes are decorated with `@{decorator}`. "
            f"Full object config: {config}"
        )
        return Raised(TYPE_ERROR, text, UnknownKerasClass(class_name=name, op=name))

    def deserialize(self, config: Json) -> list[Raised]:
        """Since 2.13 a class that no table has stays a name, if the configuration has a module.

        The model then fails when it uses the layer.
        """
        name = config.get("class_name") if isinstance(config, dict) and "module" in config else None
        if not isinstance(name, str) or not self.since("2.13"):
            return super().deserialize(config)
        if self.is_safe and name in CUDNN and isinstance(located := self.retrieve(config), Raised):
            return [located]  # public in `tf.compat.v1` only
        if self.release.find("layer", name) and name not in UNLISTED:
            return super().deserialize(config)
        inner = config.get("config")
        layer = str(config.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or "")
        finding = UnknownKerasClass(layer=layer, class_name=name, op=name)
        if config.get("module", "_") is None:
            text = (
                f"Cannot deserialize object of type `{name}`. If `{name}` is a custom class, please "
                "register it "
                "using the `@keras.saving.register_keras_serializable()` decorator."
            )
            return [Raised(TYPE_ERROR, text, finding)]
        return [Raised("AttributeError", "'str' object has no attribute '_self_tracked_trackables'", finding)]

    def _lambda_layer(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        function = config.get("function") if isinstance(config, dict) else None
        if isinstance(function, dict) and function.get("class_name") == "__lambda__":
            more = UNSAFE_CALL if self.since("2.13") else ""
            return [Raised(VALUE_ERROR, f"{LAMBDA}{more}.", KerasLambda(layer=layer))]
        if self.is_safe and isinstance(config, dict) and "lambda" in map(config.get, FUNCTION_TYPES):
            return [Raised(VALUE_ERROR, LAMBDA_LAYER, KerasLambda(layer=layer))]
        return super()._lambda_layer(known, config, layer)


# Layers and models of Keras 1 (`layer_from_config`).

MODELS = ("Model", "Container")
NAMES = {"initializer": "initialization", "activation": "activation function"}
"""How messages call a kind of object, where that is another word."""
TENSOR_PARTS = 3
"""How many parts name a tensor: layer, call and output."""


class Keras1Layers(Keras2Layers):
    """The layers and models of one release of Keras 1: classes by their names, objects by theirs."""

    def deserialize(self, config: Json) -> list[Raised]:
        if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
            return [self._form("KeyError", "'class_name'", "an object without a class")]
        name, inner = str(config["class_name"]), config["config"]
        layer = str(config.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or "")
        known = self.release.find("layer", "Model" if name in MODELS else name)
        return (
            [self.unknown("layer", name, layer)] if known is None else self.from_config(known, inner, layer)
        )

    def unknown(self, kind: str, name: str, layer: str, *, by_name: bool = False) -> Raised:
        printed = NAMES.get(kind, kind)
        if kind == "layer":
            finding = UnknownKerasClass(layer=layer, class_name=name, op=name)
            return Raised(VALUE_ERROR, f"Invalid layer: {name}", finding)
        stored = UnknownKerasObject(layer=layer, kind=printed, object_name=name)
        return Raised(VALUE_ERROR, f"Invalid {printed}: {name}", stored)

    def get(self, kind: str, value: Json, layer: str) -> list[Raised]:
        """The errors of `get_from_module`: a dict has the name of its class as `name`."""
        if not isinstance(value, dict):
            return super().get(kind, value, layer)
        if "name" not in value:
            what = "an object without a name"
            return [Raised("KeyError", "'name'", KerasConfigForm(layer=layer, what=what))]
        return super().get(kind, str(value["name"]), layer)

    def policy(self, value: Json, layer: str) -> list[Raised]:
        return []

    def construct(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """The errors of `cls(**config)`: Python's first, then the objects, then other unknown arguments."""
        raised = super().construct(known, config, layer)
        return sorted(raised, key=lambda error: not error.text.startswith("__init__()"))

    def _special(self) -> dict[str, Callable[[KerasObject, Json, str], list[Raised]]]:
        return {**super()._special(), "Merge": self._merge}

    def _merge(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        consumed = ("mode_type", "output_shape_type", "output_mask_type")
        return self.construct(known, {key: v for key, v in config.items() if key not in consumed}, layer)

    def _sequential(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        if isinstance(config, list):
            return self.layers(config)
        return [self._form("KeyError", "0", "a Sequential model as a dict")]

    def layers(self, stored: Json) -> list[Raised]:
        """The errors of all layers, each with those of its calls: arguments of calls came with Keras 2."""
        problems: list[Raised] = []
        for config in stored or ():
            problems += self.deserialize(config)
            nodes = config.get("inbound_nodes") if isinstance(config, Mapping) else None
            for node in nodes if isinstance(nodes, list) else ():
                longer = [entry for entry in node if isinstance(entry, list) and len(entry) > TENSOR_PARTS]
                if longer:
                    text = f"too many values to unpack (expected {TENSOR_PARTS})"
                    problems.append(self._form(VALUE_ERROR, text, "calls of layers with arguments"))
                    break
        return problems
