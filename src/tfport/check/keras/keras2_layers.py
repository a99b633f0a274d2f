"""How Keras 2 creates layers and models from their configurations in HDF5 files."""

from __future__ import annotations

from collections.abc import Callable

from tfport.atlas.keras_releases import KerasObject
from tfport.check.findings.keras_files import KerasConfigForm
from tfport.check.keras.keras2_objects import Keras2Objects
from tfport.check.keras.raised import TYPE_ERROR, Raised, wrap
from tfport.formats.keras.records import Json

FUNCTIONAL = ("Functional", "Model", "Network", "Container")
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
        if known is None:
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
        return self.layers(config["layers"])

    def layers(self, stored: Json) -> list[Raised]:
        """The errors of all layers of a model, in order."""
        return [r for config in stored or () if isinstance(config, dict) for r in self.deserialize(config)]
