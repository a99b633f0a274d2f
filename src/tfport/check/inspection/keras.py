"""What is in a Keras file: its layers, what saved it, how it was compiled, and what is unsafe in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tfport.formats.keras.records import Json, KerasFile
from tfport.graph.model import Model
from tfport.keras.model import KerasModel
from tfport.keras.summary import ModelSummary, summarize

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
    def has_weights(self) -> bool:
        return self.file.weights is not None

    @property
    def custom_classes(self) -> list[str]:
        """The classes that tfport does not build, each once."""
        return list(dict.fromkeys(layer.class_name for layer in self.summary.layers if layer.is_custom))

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
