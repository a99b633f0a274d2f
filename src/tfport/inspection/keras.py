"""What is in a Keras file: its layers, what saved it, how it was compiled, and what is unsafe in it.

A SavedModel of Keras 2 has the same beside its graph; the layers are built for their shapes only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from tfport.atlas.keras_releases import keras_names
from tfport.errors import Error
from tfport.formats.keras.records import Json, KerasFile
from tfport.formats.keras.saved_model import SAVED_MODEL, keras_config_of_saved_model
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.summary import LayerSummary, ModelSummary, summarize
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass

COMPILE_SETTINGS = ("loss", "metrics", "weighted_metrics", "loss_weights", "jit_compile")


@dataclass(frozen=True, slots=True)
class KerasInspection:
    """The Keras part of an inspection."""

    file: KerasFile
    summary: ModelSummary
    no_graph: str
    """Why the model cannot run; empty if it can."""

    @property
    def has_architecture(self) -> bool:
        return self.file.config is not None

    @property
    def is_saved_model(self) -> bool:
        return self.file.layout == SAVED_MODEL

    @property
    def has_weights(self) -> bool:
        return self.file.weights is not None or self.is_saved_model

    @property
    def custom_classes(self) -> list[str]:
        """The classes that are not part of Keras and that tfport does not build, each once."""
        return list(dict.fromkeys(layer.class_name for layer in self.summary.layers if is_custom(layer)))

    @property
    def optimizer(self) -> tuple[str, Mapping[str, Json]]:
        """The class of the optimizer and its settings; an empty class if there is none."""
        training = self.file.training or {}
        stored = training.get("optimizer_config") or training.get("optimizer")
        if isinstance(stored, str):
            return stored, {}
        if not isinstance(stored, Mapping) or not isinstance(stored.get("class_name"), str):
            return "", {}
        config = stored.get("config")
        return stored["class_name"], config if isinstance(config, Mapping) else {}

    @property
    def compiled(self) -> dict[str, list[str]]:
        """The settings of `model.compile`, as names."""
        training = self.file.training or {}
        settings = {name: list(names_in(training.get(name))) for name in COMPILE_SETTINGS}
        return {name: names for name, names in settings.items() if names}


def inspect_keras(model: Model, file: KerasFile) -> KerasInspection:
    """Describe the Keras file of a model."""
    root = model.root if isinstance(model, KerasModel) else None
    return KerasInspection(file, summarize(file, root), model.no_graph)


def inspect_keras_of_saved_model(model: Model) -> KerasInspection | None:
    """Describe the Keras model that a SavedModel was saved from; None if there is none."""
    file = keras_config_of_saved_model(model.files, model.meta.object_graph_def)
    if file is None:
        return None
    builder = ModelBuilder(file, model.graph.ops)
    with suppress(Error):  # the graph of the SavedModel runs, whatever tfport can build
        builder.build_layers()
    return KerasInspection(file, summarize(file, builder.root), "")


def is_custom(layer: LayerSummary) -> bool:
    """Whether the class of a layer is neither part of Keras nor declared."""
    of_keras = any(layer.class_name in keras_names(kind) for kind in ("layer", "operation"))
    return layer.is_unsupported and (layer.is_foreign or not of_keras)


def names_in(setting: Json) -> Iterator[str]:
    """The names in a setting: of functions, classes, or outputs with these."""
    if isinstance(setting, Mapping):
        if isinstance(setting.get("class_name"), str):
            config = setting.get("config")
            named = config.get("name") if isinstance(config, Mapping) else config
            yield named if isinstance(named, str) else setting["class_name"]
            return
        for output, inner in setting.items():
            yield from (f"{output}: {name}" for name in names_in(inner))
    elif isinstance(setting, list | tuple):
        for inner in setting:
            yield from names_in(inner)
    elif setting is not None and setting is not False:
        yield str(setting)
