"""The arrays of a rewritten model: those of the original, in the layout and meaning of the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.replacements import CUDNN, HARD_SIGMOID, slope
from tfport.frontends.keras.data_format import CHANNELS_FIRST
from tfport.frontends.keras.instance import LayerInstance, WeightSlot
from tfport.frontends.keras.layer_order import layers_in_order
from tfport.frontends.keras.version import KerasVersion
from tfport.frontends.keras.weights import weights_in_order, written_paths
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

GATES = {"CuDNNLSTM": 4, "CuDNNGRU": 3}
_GATE, _NEW = "recurrent_activation", "activation"
ACTIVATIONS = {
    "LSTMCell": (_GATE, _GATE, _NEW, _GATE),
    "ConvLSTMCell": (_GATE, _GATE, _NEW, _GATE),
    "GRUCell": (_GATE, _GATE, _NEW),
    "SimpleRNNCell": (_NEW,),
}
"""The option that is the activation of each part of a cell's weights, in their order."""
GATES_OF_KERAS_1 = {"LSTMCell": "ifco", "ConvLSTMCell": "ifco", "GRUCell": "zrh"}
"""The gates whose weights Keras 1 stores by themselves, in the order of Keras 2."""
ACTIVATED_STATES = ("LSTMCell", "ConvLSTMCell")
"""Cells that apply their activation to a state too, where weights cannot be scaled."""


@dataclass(frozen=True, slots=True)
class WeightTransfer:
    """How the weights of a model become those of the rewritten model."""

    old: KerasVersion
    new: KerasVersion
    renamed: Mapping[str, str]
    """The new names of layers, with the old ones."""

    def arrays(
        self, source: LayerInstance, target: LayerInstance
    ) -> Iterator[tuple[WeightSlot, NDArray[Any]]]:
        """The arrays for the weights of a rewritten layer and of the layers inside it."""
        if source.config.class_name in CUDNN and "cell" in target.children:
            converted = _from_cudnn(source)
            yield from ((slot, converted[name]) for name, slot in target.children["cell"].weights.items())
            return
        factor = slope(self.old) / slope(self.new)
        joined = _joined_gates(source)
        for name, slot in target.weights.items() if joined else ():
            yield slot, _scaled(source, joined[name], factor)
        for slot, before in _paired(source, target) if not joined else ():
            yield slot, _scaled(source, array_of(before), factor)
        for name, child in target.children.items():
            original = source.children.get(self.renamed.get(name, name))
            if original is not None:
                yield from self.arrays(original, child)
            elif any(True for _ in child.every_weight()):
                raise CannotRun(f"layer `{child.name}`: the original has no such layer")


def _joined_gates(cell: LayerInstance) -> dict[str, NDArray[Any]]:
    """The weights of a cell of Keras 1, which stores those of each gate by themselves, in one array each."""
    gates = GATES_OF_KERAS_1.get(cell.config.class_name, "")
    if not gates or f"W_{gates[0]}" not in cell.weights:
        return {}
    kinds = {"kernel": "W", "recurrent_kernel": "U", "bias": "b"}
    joined: dict[str, NDArray[Any]] = {}
    for name, kind in kinds.items():
        parts = [array_of(cell.weights[f"{kind}_{gate}"]) for gate in gates]
        if cell.config.config.get("data_format") == CHANNELS_FIRST and parts[0].ndim > 1:
            parts = [part.transpose(2, 3, 1, 0) for part in parts]
        joined[name] = np.concatenate(parts, axis=-1)
    return joined


def _paired(source: LayerInstance, target: LayerInstance) -> Iterator[tuple[WeightSlot, WeightSlot]]:
    """The weights of a rewritten layer with those of the original: by name, or in order if names changed."""
    own = dict(source.weights)
    if set(own) != set(target.weights) and len(own) == len(target.weights):
        own = dict(zip(target.weights, source.weights.values(), strict=True))
    for name, slot in target.weights.items():
        if name not in own or own[name].shape != slot.shape:
            raise CannotRun(f"layer `{target.name}`: the original has no weight `{name}` {slot.shape}")
        yield slot, own[name]


def scaled_cells(root: LayerInstance, old: KerasVersion, new: KerasVersion) -> list[str]:
    """The layers whose weights are scaled, as their gates are hard sigmoids of another slope."""
    if slope(old) == slope(new):
        return []
    inner = [name for child in root.children.values() for name in scaled_cells(child, old, new)]
    has_gates = any(any(_hard_parts(child)) for child in root.children.values())
    return [root.name] * has_gates + inner


def array_of(slot: WeightSlot) -> NDArray[Any]:
    value = slot.node.attrs["value"]
    assert isinstance(value, Tensor)
    return value.numpy()


def _from_cudnn(source: LayerInstance) -> dict[str, NDArray[Any]]:
    """The weights of LSTM or GRU: cuDNN has the matrix of each gate as (units, inputs), and two biases."""
    count = GATES[source.config.class_name]
    kernel, recurrent, bias = (array_of(source.weights[n]) for n in ("kernel", "recurrent_kernel", "bias"))
    both = bias.reshape(2, -1)
    return {
        "kernel": np.hstack([part.reshape(part.shape[::-1]).T for part in np.hsplit(kernel, count)]),
        "recurrent_kernel": np.hstack([part.T for part in np.hsplit(recurrent, count)]),
        "bias": both.sum(axis=0) if source.config.class_name == "CuDNNLSTM" else both,
    }


def _scaled(cell: LayerInstance, array: NDArray[Any], factor: float) -> NDArray[Any]:
    """The weights of a cell whose gates are hard sigmoids of another slope: h(x) there is h(f·x) here."""
    if factor == 1 or not any(hard := _hard_parts(cell)):
        return array
    if cell.config.class_name in ACTIVATED_STATES and cell.config.config.get(_NEW) == HARD_SIGMOID:
        raise CannotRun(
            f"layer `{cell.name}`: hard_sigmoid is applied to its state, but is a different function there"
        )
    factors = np.repeat([factor if is_hard else 1.0 for is_hard in hard], array.shape[-1] // len(hard))
    return np.asarray(array * factors, array.dtype)


def _hard_parts(cell: LayerInstance) -> list[bool]:
    """Which parts of the weights of a cell go into a hard sigmoid."""
    options = cell.config.config
    return [options.get(option) == HARD_SIGMOID for option in ACTIVATIONS.get(cell.config.class_name, ())]


def by_layer(
    root: LayerInstance, arrays: dict[int, NDArray[Any]], dialect: Dialect
) -> dict[str, list[tuple[str, NDArray[Any]]]]:
    """The arrays of each layer of the outermost model, as `.h5` files list them."""
    suffix = "" if dialect.is_3 else ":0"
    lists: dict[str, list[tuple[str, NDArray[Any]]]] = {}
    assert root.config.model is not None
    for layer in layers_in_order(root.config.model):
        lists[layer.name] = []
        instance = root.children.get(layer.name)
        taken: dict[str, int] = {}
        for owner, slot in weights_in_order(instance, dialect.semantics) if instance is not None else ():
            name = "/".join(filter(None, (owner, slot.name)))
            number = taken[name] = taken.get(name, -1) + 1
            unique = f"{name}_{number}" if number else name
            lists[layer.name].append((f"{unique}{suffix}", arrays[id(slot)]))
    return lists


def by_path(
    root: LayerInstance, arrays: dict[int, NDArray[Any]]
) -> dict[str, list[tuple[str, NDArray[Any]]]]:
    """The arrays by the path of the object that owns them, as `.keras` files have them.

    Objects without arrays are there too: Keras 3.0 to 3.5 look for the one of the model itself.
    """
    return {path: [(slot.name, arrays[id(slot)]) for slot in slots] for path, slots in written_paths(root)}
