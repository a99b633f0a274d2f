"""How Keras 1 creates layers and models from their configurations (`layer_from_config`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfport.atlas.keras_releases import KerasObject
from tfport.check.findings.keras_files import KerasConfigForm, UnknownKerasClass, UnknownKerasObject
from tfport.check.keras.keras2_layers import Keras2Layers
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.formats.keras.records import Json

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
