"""How Keras 2.12 to 2.15, and tf-keras, read `.keras` archives."""

from __future__ import annotations

from tfport.atlas.keras_releases import TF_KERAS, KerasObject
from tfport.check.findings.keras_files import KerasLambda, MovedKerasModule, UnknownKerasClass
from tfport.check.keras.keras2_layers import Keras2Layers
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised
from tfport.formats.keras.records import Json

LAMBDA = (
    "Requested the deserialization of a `lambda` object. This carries a potential risk of arbitrary code "
    "execution and thus it is disallowed by default. If you trust the source of the saved model, you "
    "can pass "
    "`safe_mode=False` to the loading function in order to allow `lambda` loading"
)
UNSAFE_CALL = ", or call `keras.config.enable_unsafe_deserialization()`"


class Keras2Archive(Keras2Layers):
    """The objects of a `.keras` archive: the model is found by its module, its layers by their names."""

    def model(self, config: dict[str, Json]) -> list[Raised]:
        """The errors of the whole model."""
        known = self.retrieve(config)
        if isinstance(known, Raised):
            return [known]
        return self.from_config(known, config.get("config"), "")

    def retrieve(self, config: dict[str, Json]) -> KerasObject | Raised:
        """The class that a configuration names by its module, or the error."""
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
        if not isinstance(name, str) or not self.since("2.13") or self.release.find("layer", name):
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
        return super()._lambda_layer(known, config, layer)
