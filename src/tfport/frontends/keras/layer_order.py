"""The order in which Keras has the layers of a model, which decides which weights each of them gets.

Keras does not keep the order of the configuration. It sorts the layers of a functional model by distance
from the outputs, the farthest first, and layers of the same distance in the order in which a walk from the
outputs finds them. `.h5` files list weights in this order, and `.keras` files count layers of a class in it:
neither is matched by the names of layers. All releases sort alike (`map_graph` in Keras 3,
`_map_graph_network` before).
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.frontends.keras.config import SEQUENTIAL, LayerCall, LayerConfig, ModelConfig, TensorRef
from tfport.frontends.keras.tensor import flat_tensors


def layers_in_order(model: ModelConfig) -> list[LayerConfig]:
    """The layers of a model as Keras orders them; layers that no output needs come last."""
    if model.class_name == SEQUENTIAL:
        return model.layers
    layers = {layer.name: layer for layer in model.layers}
    numbers: dict[str, int] = {}
    depths: dict[TensorRef, int] = {}
    layer_depths: dict[str, int] = {}
    for call in reversed(list(_walk(model, layers, numbers))):  # each after the calls that use its results
        depth = max(depths.get(call, 0), layer_depths.get(call.layer, 0))
        layer_depths[call.layer] = depth
        for used in _used(layers, call):
            depths[used] = max(depth + 1, depths.get(used, 0))
    for ref in flat_tensors(model.inputs):  # inputs without an effect are still inputs
        numbers.setdefault(ref.layer, -1)
        layer_depths.setdefault(ref.layer, 0)

    def key(layer: LayerConfig) -> tuple[bool, int, int]:
        name = layer.name
        return name not in layer_depths, -layer_depths.get(name, 0), numbers.get(name, 0)

    return sorted(model.layers, key=key)


def _walk(model: ModelConfig, layers: dict[str, LayerConfig], numbers: dict[str, int]) -> Iterator[TensorRef]:
    """The calls that the outputs need, each after those whose results it uses; numbers layers on the way."""
    seen: set[TensorRef] = set()
    for output in flat_tensors(model.outputs):
        start = TensorRef(output.layer, output.call)
        waiting = [(start, iter([start]))]  # an explicit stack: models may be deeper than Python's
        while waiting:
            done, rest = waiting[-1]
            call = next(rest, None)
            if call is None:
                waiting.pop()
                if waiting:
                    yield done
            elif call not in seen:
                seen.add(call)
                numbers.setdefault(call.layer, len(numbers))
                waiting.append((call, _used(layers, call)))


def _used(layers: dict[str, LayerConfig], call: TensorRef) -> Iterator[TensorRef]:
    """The calls whose results a call uses, in the order of its arguments."""
    layer = layers.get(call.layer)
    stored = layer.calls[call.call] if layer is not None and call.call < len(layer.calls) else LayerCall()
    used = flat_tensors([list(stored.args), dict(stored.kwargs)])
    return (TensorRef(ref.layer, ref.call) for ref in used)
