"""The layers of a Keras model as `model.summary()` shows them, for built and unbuilt models.

Output shapes and numbers of parameters are those of the built layers. A layer that was not built has no
shapes, and its parameters are counted in the file. A file without an architecture is summarized by the
layers that have weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tfport.errors import Error
from tfport.formats.keras.records import BY_LAYER, KerasFile, StoredWeight, StoredWeights
from tfport.frontends.keras.build import input_spec
from tfport.frontends.keras.config import INPUT_LAYER, LayerConfig, ModelConfig, TensorRef
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.layer import find_layer
from tfport.frontends.keras.tensor import flat_tensors
from tfport.graph.building.node_builder import Dims
from tfport.startup.dataclass import dataclass, field

OPTIMIZERS = ("optimizer", "optimizer_weights")
"""Where a file has the state of the optimizer, which is not part of the model."""
SEEDS = "seed_generator"
"""The state of random numbers, which Keras does not count as parameters."""

KERAS_PACKAGES = ("keras", "tf_keras", "keras_core", "tensorflow")
"""The packages that Keras's own classes are in."""


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """A layer: one row of the summary."""

    name: str
    class_name: str
    depth: int
    """0 for a layer of the model itself, 1 for a layer of a model inside it."""
    shapes: list[Dims]
    """The shapes of its outputs; several if its calls differ. Empty if they are unknown."""
    parameters: int | None
    trainable: int | None
    """How many of the parameters are trainable; None if that is unknown."""
    inputs: list[str]
    """The layers whose outputs it uses."""
    is_unsupported: bool = False
    """Whether tfport does not build its class."""
    is_foreign: bool = False
    """Whether the file says that its class is not part of Keras; files of Keras 2 often do not say."""


@dataclass(slots=True)
class ModelSummary:
    """What is known about the layers of a Keras file."""

    class_name: str = ""
    """`Sequential` or `Functional`; empty if the file has no architecture."""
    name: str = ""
    layers: list[LayerSummary] = field(default_factory=list)
    parameters: int | None = None
    trainable: int | None = None
    stored: dict[str, list[StoredWeight]] = field(default_factory=dict)
    """For a file without an architecture: its arrays, by the layer or object that owns them."""


def summarize(file: KerasFile, root: LayerInstance | None) -> ModelSummary:
    """Summarize a file; `root` is the model, as far as it was built."""
    config = root.config.model if root is not None else None
    counts = StoredCounts(file.weights)
    if root is None or config is None:
        return ModelSummary(parameters=counts.total(), stored=counts.owners())
    layers = list(_rows(config, root, counts))
    own = [layer for layer in layers if layer.depth == 0]
    total = counts.total() if file.weights is not None else _sum(layer.parameters for layer in own)
    return ModelSummary(config.class_name, config.name, layers, total, _sum(layer.trainable for layer in own))


def _rows(
    model: ModelConfig, parent: LayerInstance, counts: StoredCounts, path: str = "layers", depth: int = 0
) -> Iterator[LayerSummary]:
    for layer in model.layers:
        instance = parent.children.get(layer.name)
        here = f"{path}/{layer.name}"
        is_built = layer.class_name == INPUT_LAYER or (instance is not None and bool(instance.outputs))
        parameters = _built(instance) if is_built else counts.of(layer.name, here, depth)
        yield LayerSummary(
            layer.name,
            layer.class_name,
            depth,
            _shapes(layer, instance),
            parameters,
            0 if parameters == 0 else _trainable(instance) if is_built else None,
            _inputs(layer) if len(model.layers) > 1 and not _is_chain(model) else [],
            layer.model is None and layer.class_name != INPUT_LAYER and find_layer(layer) is None,
            _is_foreign(layer),
        )
        if layer.model is not None:
            yield from _rows(layer.model, instance or LayerInstance(layer), counts, here, depth + 1)


def _is_foreign(layer: LayerConfig) -> bool:
    package = layer.module.partition(".")[0]
    return ">" in layer.registered_name or (package != "" and package not in KERAS_PACKAGES)


def _shapes(layer: LayerConfig, instance: LayerInstance | None) -> list[Dims]:
    if layer.class_name == INPUT_LAYER:
        try:
            return [input_spec(layer)[0]]
        except Error:
            return []
    calls = instance.outputs if instance is not None else []
    tensors = flat_tensors(list(calls))
    return list(dict.fromkeys(tensor.dims for tensor in tensors if tensor.dims is not None))


def _built(instance: LayerInstance | None) -> int:
    return sum(math.prod(slot.shape) for slot in instance.every_weight()) if instance is not None else 0


def _trainable(instance: LayerInstance | None) -> int:
    """The number of trainable parameters of a layer and of the layers inside it."""
    if instance is None or not instance.trainable:
        return 0
    own = sum(math.prod(slot.shape) for slot in instance.weights.values() if slot.trainable)
    return own + sum(map(_trainable, instance.children.values()))


def _inputs(layer: LayerConfig) -> list[str]:
    refs = [ref for call in layer.calls for ref in flat_tensors([list(call.args), dict(call.kwargs)])]
    return list(dict.fromkeys(map(_reference, refs)))


def _reference(ref: TensorRef) -> str:
    return f"{ref.layer}[{ref.call}][{ref.output}]" if ref.call or ref.output else ref.layer


def _is_chain(model: ModelConfig) -> bool:
    """Whether each layer uses just the output of the layer before it."""
    pairs = zip(model.layers, model.layers[1:], strict=False)
    return all(_inputs(layer) == [before.name] for before, layer in pairs)


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


class StoredCounts:
    """Numbers of stored elements by layer."""

    def __init__(self, weights: StoredWeights | None) -> None:
        self.weights = weights

    def owners(self) -> dict[str, list[StoredWeight]]:
        """The arrays of the model by the layer or object that owns them."""
        lists = self.weights.lists if self.weights is not None else {}
        return {owner: arrays for owner, arrays in lists.items() if arrays and not _is_no_weight(owner)}

    def total(self) -> int | None:
        if self.weights is None:
            return None
        return sum(_elements(arrays) for arrays in self.owners().values())

    def of(self, name: str, path: str, depth: int) -> int | None:
        """The parameters of a layer; None if the file does not say."""
        if self.weights is None:
            return None
        if self.weights.layout == BY_LAYER:  # the arrays of layers inside models are not told apart
            return _elements(self.weights.lists.get(name, [])) if depth == 0 else None
        inside = [
            arrays for owner, arrays in self.owners().items() if owner == path or owner.startswith(f"{path}/")
        ]
        return sum(map(_elements, inside))


def _is_no_weight(owner: str) -> bool:
    return owner.partition("/")[0] in OPTIMIZERS or SEEDS in owner.split("/")


def _elements(arrays: Iterable[StoredWeight]) -> int:
    return sum(math.prod(array.shape) for array in arrays)
