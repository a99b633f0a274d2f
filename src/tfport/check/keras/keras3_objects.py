"""How Keras 3 finds and creates the objects of a configuration (`serialization_lib`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.atlas.keras_releases import CHECKED, IGNORED, INNER, KERAS_CORE, KerasObject, KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.findings.keras_files import (
    KerasConfigForm,
    KerasLambda,
    KerasUnsafeContent,
    MissingKerasArgument,
    MovedKerasModule,
    UnknownKerasArgument,
    UnknownKerasClass,
    UnknownKerasObject,
)
from tfport.check.keras.custom import is_custom
from tfport.check.keras.raised import ATTRIBUTE_ERROR, TYPE_ERROR, VALUE_ERROR, Raised, wrap
from tfport.check.keras.stored_objects import stored_objects
from tfport.formats.keras.records import Json

VALUES = (
    "__keras_tensor__",
    "__tensor__",
    "__numpy__",
    "__bytes__",
    "__ellipsis__",
    "__slice__",
    "__tuple__",
)
"""Class names that stand for plain values."""
BUILTIN_MODULES = (
    "activations", "constraints", "initializers", "losses", "metrics", "optimizers", "regularizers",
)  # fmt: skip
IMPORTED_PACKAGES = ("keras", "keras_hub", "keras_cv", "keras_nlp")
"""The packages that releases since 3.9 import modules from."""
IMPORTED_KINDS = ("layer", INNER, "operation", "policy")
LOADING = (
    "keras.models.load_model", "keras.preprocessing.image.load_img", "keras.saving.load_model",
    "keras.saving.load_weights", "keras.utils.get_file", "keras.utils.load_img",
)  # fmt: skip
SAFE_HDF5 = "3.11.3"
"""The first release that refuses Lambdas in HDF5 files."""
CREATED_FIRST = ("LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
"""Layers that create their cell, with its initializers, before they look at other arguments."""

BATCH_NORMALIZATION = "BatchNormalization"


class Keras3Objects:
    """The objects of one release of Keras 3, or of keras-core."""

    def __init__(self, release: KerasRelease) -> None:
        self.release = release
        self.reads_hdf5 = False
        self._key = version_key("3.0" if release.package == KERAS_CORE else release.version)

    @property
    def runs_bytecode(self) -> bool:
        """Whether the loader runs Python code of the file by default, as that of HDF5 files did."""
        return self.reads_hdf5 and not self.since(SAFE_HDF5)

    @property
    def public(self) -> str:
        """The name under which the package is imported."""
        return "keras_core" if self.release.package == KERAS_CORE else "keras"

    def since(self, version: str) -> bool:
        """Whether the release is this version of Keras 3 or later; keras-core counts as the first."""
        return self._key >= version_key(version)

    def deserialize(self, config: Json, layer: str = "") -> list[Raised]:
        """The errors of `deserialize_keras_object`."""
        if isinstance(config, list | tuple):
            return [raised for inner in config for raised in self.deserialize(inner, layer)]
        if not isinstance(config, dict):
            return []
        if "class_name" not in config or "config" not in config:
            return [raised for inner in config.values() for raised in self.deserialize(inner, layer)]
        name, inner = config["class_name"], config["config"] or {}
        if name in VALUES:
            return []
        if name == "__lambda__":
            return [] if self.runs_bytecode else [self._lambda(layer)]
        module = config.get("module")
        registered = config.get("registered_name", name)
        if name == "function":
            known = self.retrieve(str(inner), registered, module, "function", config, layer)
            return [known] if isinstance(known, Raised) else []
        known = self.retrieve(name, registered, module, "class", config, layer)
        if isinstance(known, Raised):
            return [known]
        return [*self.created(known, inner, config, layer), *self.built(known, config, layer)]

    def built(self, known: KerasObject, config: Mapping[str, Json], layer: str) -> list[Raised]:
        """The errors of `build_from_config`, with the shapes of a configuration; `Keras3Layers` adds them."""
        return []

    def created(self, known: KerasObject, inner: Json, config: Json, layer: str) -> list[Raised]:
        """The errors of `from_config` of a class that was found; type errors get another text around them."""
        raised = self.from_config(known, inner, layer)
        return wrap(
            raised,
            TYPE_ERROR,
            lambda text: (
                f"{python_class(known)} could not be deserialized properly. Please ensure that "
                "components that "
                "are Python object instances (layers, models, etc.) returned by `get_config()` are "
                "explicitly "
                f"deserialized in the model's `from_config()` method.\n\nconfig={config}.\n\n"
                f"Exception encountered: {text}"
            ),
            only=TYPE_ERROR,
        )

    def from_config(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """The errors of the constructor; `Keras3Layers` adds what layers do."""
        return self.construct(known, config, layer)

    def retrieve(
        self, name: str, registered: Json, module: Json, kind: str, config: Json, layer: str
    ) -> KerasObject | Raised:
        """The class or function that a configuration names, or the error (`_retrieve_class_or_fn`)."""
        if known := is_custom(self.release, name, registered):
            return known
        if isinstance(module, str) and module:
            if module == "keras" or module.startswith("keras."):
                public = f"{module}.{name}"
                if self.since("3.11") and public in LOADING:
                    return self._refused(public, layer)
                if known := self._public(public):
                    return known
            if kind == "function" and module == "builtins":
                for part in BUILTIN_MODULES:
                    if known := self._public(f"keras.{part}.{name}"):
                        return known
            imported = self._imported(name, registered, module, kind, config, layer)
            if imported is not None:
                return imported
        known_to = "classes are" if not self.since("3.12") else "classes and functions are"
        more = (
            ""
            if not self.since("3.12")
            else " If they are already decorated, make sure they are all imported so that the "
            "decorator is run "
            "before trying to load them."
        )
        text = (
            f"Could not locate {kind} '{name}'. Make sure custom {known_to} decorated with "
            f"`@{self.public}.saving.register_keras_serializable()`.{more} Full object config: {config}"
        )
        if kind == "function":
            return Raised(
                TYPE_ERROR, text, UnknownKerasObject(layer=layer, kind="function", object_name=name)
            )
        return Raised(TYPE_ERROR, text, UnknownKerasClass(layer=layer, class_name=name, op=name))

    def _public(self, public: str) -> KerasObject | None:
        """The object of a public name; only the first name of an object counts."""
        known = self.release.exports.get(public)
        return known if known is not None and known.exports[0] == public else None

    def _imported(
        self, name: str, registered: Json, module: str, kind: str, config: Json, layer: str
    ) -> KerasObject | Raised | None:
        """What importing the module finds."""
        package = module.partition(".")[0]
        if self.since("3.9") and package not in IMPORTED_PACKAGES:
            return None
        if not self.release.has_module(module):
            text = (
                f"Could not deserialize {kind} '{name}' because its parent module {module} cannot be "
                "imported. "
                f"Full object config: {config}"
            )
            finding = MovedKerasModule(layer=layer, class_name=name, op=name, module=module)
            return Raised(TYPE_ERROR, text, finding)
        for wanted in (name, registered) if not self.since("3.9") else (name,):
            for known in (self.release.find(k, str(wanted)) for k in IMPORTED_KINDS):
                if known is not None and (known.module == module or self._is_visible(known, module)):
                    return known
        if self.since("3.11"):
            text = f"Could not deserialize '{module}.{name}' because it is not a KerasSaveable subclass"
            return Raised(VALUE_ERROR, text, UnknownKerasClass(layer=layer, class_name=name, op=name))
        return None

    def _is_visible(self, known: KerasObject, module: str) -> bool:
        return any(public.rpartition(".")[0] == module for public in known.exports)

    def _refused(self, public: str, layer: str) -> Raised:
        text = f"Cannot deserialize `{public}`, loading functions are not allowed during deserialization"
        if self.since("3.15") or (self.since("3.12.3") and not self.since("3.13")):
            text = (
                f"Cannot deserialize `{public}` because it is not a modeling function. Non-modeling APIs are "
                "disallowed during deserialization for security. Model configuration should only contains "
                "operations, layers, metrics, losses, or registered custom objects and functions."
            )
        return Raised(VALUE_ERROR, text, KerasUnsafeContent(layer=layer, object_name=public))

    def _lambda(self, layer: str) -> Raised:
        text = (
            "Requested the deserialization of a Python lambda. This carries a potential risk of "
            "arbitrary code "
            "execution and thus it is disallowed by default. If you trust the source of the artifact, "
            "you can "
            "override this error by passing `safe_mode=False` to the loading function, or calling "
            "`keras.config.enable_unsafe_deserialization()."
        )
        if not self.since("3.11.3"):
            text = (
                "Requested the deserialization of a `lambda` object. This carries a potential risk of "
                "arbitrary "
                "code execution and thus it is disallowed by default. If you trust the source of the "
                "saved model, "
                "you can pass `safe_mode=False` to the loading function in order to allow `lambda` "
                "loading, or "
                "call `keras.config.enable_unsafe_deserialization()`."
            )
        return Raised(VALUE_ERROR, text, KerasLambda(layer=layer))

    def get(self, kind: str, value: Json, layer: str) -> list[Raised]:
        """The errors of `initializers.get`, `activations.get` and so on."""
        if value is None or not isinstance(value, str | dict):
            return []
        if isinstance(value, str):
            return [] if self.release.find(kind, value) else [self._unknown(kind, value, value, layer)]
        if kind == "activation" and self.since("3.10"):
            return self.deserialize(value, layer)
        if "class_name" not in value:
            text = f"Unknown `config` as a `dict`, config={value}"
            return [Raised(VALUE_ERROR, text, KerasConfigForm(layer=layer, what="an object without a class"))]
        name = value["class_name"]
        if is_custom(self.release, name, value.get("registered_name"), value.get("config")):
            return []
        if name == "function":
            name = value.get("config") if value.get("module") == "builtins" else value.get("registered_name")
        elif value.get("module", "_") is None:
            text = (
                f"Cannot deserialize object of type `{name}`. If `{name}` is a custom class, please "
                "register it "
                "using the `@keras.saving.register_keras_serializable()` decorator."
            )
            finding = UnknownKerasObject(layer=layer, kind=kind, object_name=str(name))
            return [Raised(TYPE_ERROR, text, finding)]
        known = self.release.find(kind, str(name))
        if known is None:
            return [self._unknown(kind, str(name), value, layer)]
        if known.is_function:
            return []
        public = {
            "module": known.exports[0].rpartition(".")[0] if known.exports else known.module,
            "class_name": known.exports[0].rpartition(".")[2] if known.exports else known.name,
            "config": value.get("config"),
            "registered_name": None,
        }
        config = value.get("config") or {}
        if self.release.package == KERAS_CORE:
            return self.from_config(known, config, layer)
        return self.created(known, config, public, layer)

    def _unknown(self, kind: str, name: str, value: Json, layer: str) -> Raised:
        what = "activation function" if kind == "activation" else kind
        text = f"Could not interpret {what} identifier: {value}"
        return Raised(VALUE_ERROR, text, UnknownKerasObject(layer=layer, kind=kind, object_name=name))

    def policy(self, value: Json, layer: str) -> list[Raised]:
        """The errors of a stored dtype policy."""
        if not isinstance(value, dict):
            return []
        if not self.since("3.3"):
            return self.deserialize(value, layer)
        name = value.get("class_name")
        if known := self.release.find("policy", str(name)):
            config = value.get("config")
            is_named = not isinstance(config, dict) or "name" in config
            return [] if is_named or self.since("3.4") else [self._without_name(known, layer)]
        if value.get("module", "_") is None:
            return self.get("policy", value, layer)
        finding = UnknownKerasObject(layer=layer, kind="dtype policy", object_name=str(name))
        return [Raised(ATTRIBUTE_ERROR, "'str' object has no attribute 'quantization_mode'", finding)]

    def _without_name(self, known: KerasObject, layer: str) -> Raised:
        """The error for a quantized policy, which 3.3 reads by its name; later releases store a mode."""
        text = "DTypePolicy.__new__() missing 1 required positional argument: 'name'"
        finding = MissingKerasArgument(
            layer=layer, class_name=known.name, op=known.name, attr="name", argument="name"
        )
        return Raised(TYPE_ERROR, text, finding)

    def construct(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """The errors of `cls(**config)`: arguments, and the objects among them."""
        if not isinstance(config, dict):
            return []
        arguments = list(self.arguments(known, config, layer))
        if known.kind != "layer":
            return arguments
        arguments += self._name(config.get("name"), layer)
        first = self.policy(config.get("dtype"), layer) if self.release.package == KERAS_CORE else []
        nested = [r for _, kind, value in stored_objects(config) for r in self.get(kind, value, layer)]
        if known.name in CREATED_FIRST:
            return [*first, *nested, *arguments]
        return [*arguments, *first, *self._axis(known, config, layer), *nested]

    def _axis(self, known: KerasObject, config: Mapping[str, Json], layer: str) -> list[Raised]:
        """The error for the axis of batch normalization, which Keras 2 stores as a list."""
        if known.name != BATCH_NORMALIZATION or not isinstance(axis := config.get("axis"), list):
            return []
        text = "int() argument must be a string, a bytes-like object or a real number, not 'list'"
        finding = KerasConfigForm(
            layer=layer, class_name=known.name, op=known.name, attr="axis", what=f"`axis={axis}`, a list"
        )
        return [Raised(TYPE_ERROR, text, finding)]

    def _name(self, name: Json, layer: str) -> list[Raised]:
        """The error for the name of a layer: Keras 3 uses names as parts of paths."""
        if not isinstance(name, str) or "/" not in name:
            return []
        text = (
            "Argument `name` must be a string and cannot contain character `/`. Received: "
            f"name={name} (of type {type(name)})"
        )
        return [Raised(VALUE_ERROR, text, KerasConfigForm(layer=layer, what="a layer with `/` in its name"))]

    def arguments(self, known: KerasObject, config: Mapping[str, Any], layer: str) -> list[Raised]:
        """The errors for arguments that are missing or unknown."""
        missing = [name for name in known.required if name not in config]
        unknown = {name: value for name, value in config.items() if name not in known.arguments}
        if missing and known.kind == "layer":
            return [
                Raised(
                    TYPE_ERROR,
                    missing_text(known, missing),
                    MissingKerasArgument(
                        layer=layer, class_name=known.name, op=known.name, attr=name, argument=name
                    ),
                )
                for name in missing
            ]
        if not unknown or known.rest == IGNORED:
            return []
        text = f"Unrecognized keyword arguments passed to {known.name}: {unknown}"
        if known.rest != CHECKED:
            text = (
                f"{known.last}.__init__() got an unexpected keyword argument '{next(iter(unknown))}'"
                if known.last
                else f"{known.name}() takes no arguments"
            )
        error = VALUE_ERROR if known.rest == CHECKED else TYPE_ERROR
        return [
            Raised(
                error,
                text,
                UnknownKerasArgument(
                    layer=layer, class_name=known.name, op=known.name, attr=name, argument=name
                ),
            )
            for name in unknown
        ]


def missing_text(known: KerasObject, missing: list[str]) -> str:
    """What Python says about missing arguments."""
    names = [f"'{name}'" for name in missing]
    listed = (
        names[0] if len(names) == 1 else ", ".join(names[:-1]) + f"{',' * (len(names) > 2)} and {names[-1]}"
    )
    plural = "s" if len(names) > 1 else ""
    return f"{known.name}.__init__() missing {len(names)} required positional argument{plural}: {listed}"


def python_class(known: KerasObject) -> str:
    """How Python prints a class."""
    return f"<class '{known.module}.{known.name}'>"
