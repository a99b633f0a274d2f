"""The configuration of a Keras model in one form, whichever version saved it.

`model_config(stored)` reads the JSON of a file: Sequential models as lists or dicts, functional models
with the calls of Keras 1, 2 or 3, and models inside models. Every layer has its calls; the arguments of a
call are plain JSON with a `TensorRef` in place of each tensor. What the options of a layer mean is
decided by its declaration (`frontends.keras.layers`), and whether a release accepts them by `check.keras`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.keras.records import Json
from tfport.frontends.keras import keras1
from tfport.frontends.keras.output_padding import with_output_padding
from tfport.startup.dataclass import dataclass, field

SEQUENTIAL, FUNCTIONAL = "Sequential", ("Functional", "Model", "Container")
INPUT_LAYER, MERGE = "InputLayer", "Merge"
INPUT_SHAPES = ("batch_shape", "batch_input_shape")
KERAS_TENSOR, SERIALIZED_TENSOR = "__keras_tensor__", "_CONSTANT_VALUE"
BARE_OPERATION = "keras.ops"
"""The module of an operation whose module is not stored."""
STORED_ARRAYS = ("__numpy__", "__tensor__")
DEEPEST = 40
"""Models inside models inside models, and arguments inside arguments, down to this depth."""


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor: an output of one of the calls of a layer."""

    layer: str
    call: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One call of a layer; tensors among the arguments are `TensorRef`s."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LayerConfig:
    """A layer: its class, its options as stored, and its calls in the model around it."""

    class_name: str
    name: str
    config: Mapping[str, Json]
    calls: list[LayerCall] = field(default_factory=list)
    module: str = ""
    """The module that Keras 2.12 and later store: `keras.layers`."""
    registered_name: str = ""
    """For a custom class: the name with its package, `my_package>MyLayer`."""
    model: ModelConfig | None = None
    """The layers inside it, if it is a model."""
    stands_for: str = ""
    """The layer of the file that it was written for, and why: what a refusal of it names instead."""


@dataclass(slots=True)
class ModelConfig:
    """A model: layers in the order of the file, and its inputs and outputs as nested lists or dicts."""

    class_name: str
    name: str
    layers: list[LayerConfig]
    inputs: Any
    outputs: Any


def model_config(stored: Mapping[str, Json], where: str) -> ModelConfig:
    """The model in a configuration of any version."""
    layer = layer_config(keras1.with_dim_ordering(stored), where)
    if layer.model is None:
        raise UnreadableFile(
            f"{where}: the model is of the class `{layer.class_name}`, whose layers are Python code and not "
            "in the file; save it as a functional or Sequential model"
        )
    return layer.model


def layer_config(stored: Json, where: str, depth: int = 0) -> LayerConfig:
    """A layer as wrappers store it: `{"class_name": …, "config": …}`."""
    stored = keras1.with_class_name(stored)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("class_name"), str):
        raise UnreadableFile(f"{where}: expected a layer with a `class_name`, found {_brief(stored)}")
    if depth > DEEPEST:
        raise UnreadableFile(f"{where}: models are nested more than {DEEPEST} levels deep")
    config = stored.get("config")
    class_name, options = keras1.translated(
        stored["class_name"], config if isinstance(config, Mapping) else {}
    )
    name = stored.get("name") or options.get("name") or ""
    layer = LayerConfig(
        class_name,
        str(name),
        options,
        module=stored.get("module") or "",
        registered_name=stored.get("registered_name") or "",
    )
    if class_name == SEQUENTIAL:
        layer.model = _sequential(layer.name, config, options, where, depth)
    elif isinstance(options.get("layers"), list) and "output_layers" in options:
        layer.model = _functional(layer, options, where, depth)
    layer.name = layer.name or (layer.model.name if layer.model else "")
    return layer


def _sequential(name: str, config: Json, options: Mapping[str, Json], where: str, depth: int) -> ModelConfig:
    stored = config if isinstance(config, list) else options.get("layers")
    if not isinstance(stored, list) or not stored:
        raise UnreadableFile(f"{where}: a Sequential model without layers")
    layers = [layer_config(entry, where, depth + 1) for entry in with_output_padding(stored)]
    if layers[0].class_name == MERGE and layers[0].config.get("layers"):
        inputs = _inputs_before_merge(layers[0], where, depth)
    elif layers[0].class_name != INPUT_LAYER:
        inputs = [_input_before(layers[0], options.get("build_input_shape"))]
    else:
        inputs = [layers.pop(0)]
    _name_all(inputs + layers)
    refs = [TensorRef(layer.name) for layer in inputs]
    tensor: Any = refs[0] if len(refs) == 1 else refs
    for layer in inputs:
        layer.calls = [LayerCall()]
    first, output = tensor, tensor
    for layer in layers:
        layer.calls = [LayerCall((output,))]
        output = TensorRef(layer.name)
    return ModelConfig(SEQUENTIAL, name or "sequential", inputs + layers, first, output)


def _inputs_before_merge(merge: LayerConfig, where: str, depth: int) -> list[LayerConfig]:
    """The inputs of the models that a Merge layer of Keras 1 joins at the start of a Sequential model."""
    branches = [layer_config(stored, where, depth + 1) for stored in merge.config["layers"]]
    if any(branch.model is None for branch in branches):
        raise UnreadableFile(f"{where}: layer `{merge.name}` joins something that is not a model")
    return [
        LayerConfig(INPUT_LAYER, layer.name, layer.config)
        for branch in branches
        if branch.model is not None
        for layer in branch.model.layers
        if layer.class_name == INPUT_LAYER
    ]


def _input_before(layer: LayerConfig, build_shape: Json) -> LayerConfig:
    """The input of a Sequential model that its first layer, or the model, describes."""
    config: dict[str, Json] = {"name": f"{layer.name}_input" if layer.name else "input"}
    first = layer
    while first.model is not None:  # a model whose first layer is a model
        first = first.model.layers[0]
    wrapped = first.config.get("layer")
    inner = wrapped.get("config") if isinstance(wrapped, Mapping) else None
    for options in (first.config, inner if isinstance(inner, Mapping) else {}):
        for key in (*INPUT_SHAPES, "input_shape", "input_dim"):
            if options.get(key) is not None and "batch_shape" not in config:
                config["batch_shape"] = _with_batch(key, options)
    config.setdefault("batch_shape", build_shape)
    dtype = first.config.get("input_dtype") or first.config.get("dtype")
    config["dtype"] = dtype if isinstance(dtype, str) else None
    return LayerConfig(INPUT_LAYER, config["name"], config)


def _with_batch(key: str, options: Mapping[str, Json]) -> Json:
    if key in INPUT_SHAPES:
        return options[key]
    if key == "input_dim":
        length = [options["input_length"]] if "input_length" in options else []
        return [None, *length, options[key]]
    return [None, *options[key]]


def _name_all(layers: list[LayerConfig]) -> None:
    """Give names to layers that have none, as files before Keras 1 do."""
    taken = {layer.name for layer in layers}
    for layer in layers:
        number = 1
        while not layer.name:
            candidate = f"{layer.class_name.lower()}_{number}"
            layer.name = "" if candidate in taken else candidate
            number += 1
        taken.add(layer.name)


def _functional(layer: LayerConfig, options: Mapping[str, Json], where: str, depth: int) -> ModelConfig:
    layers, is_3 = [], False
    for entry in with_output_padding(options["layers"]):
        inner = layer_config(entry, where, depth + 1)
        nodes = entry.get("inbound_nodes")
        inner.calls = [_call(node, where) for node in nodes] if isinstance(nodes, list) else []
        is_3 = is_3 or _are_new_calls(nodes)
        if _is_bare_operation(inner, nodes):
            inner.module = BARE_OPERATION
        if not inner.calls and inner.class_name == INPUT_LAYER:
            inner.calls = [LayerCall()]
        layers.append(inner)
    outputs = _refs(options["output_layers"], where)
    return ModelConfig(
        layer.class_name,
        layer.name or "model",
        layers,
        _input_layers(_refs(options.get("input_layers"), where), layers),
        _numbered_from_zero(layers, outputs, is_3),
    )


def _numbered_from_zero(layers: list[LayerConfig], outputs: Any, is_3: bool) -> Any:
    """Number the calls of inner models from 0; returns the outputs of the model with these numbers.

    Most versions count the creation of a functional model as its call 0, so that nothing refers to that.
    Keras 3 counts so in the outputs of the model only, where it takes 0 for the last call.
    """
    calls = [[list(call.args), dict(call.kwargs)] for layer in layers for call in layer.calls]
    used: dict[str, set[int]] = {layer.name: set() for layer in layers if layer.model is not None}
    for ref in every_ref(calls if is_3 else [calls, outputs]):
        if ref.layer in used:
            used[ref.layer].add(ref.call)
    shifted = {name: 0 for name, numbers in used.items() if numbers and 0 not in numbers}

    def shift(value: Any, last: Mapping[str, int]) -> Any:
        if isinstance(value, TensorRef) and value.layer in last:
            return TensorRef(value.layer, (value.call or last[value.layer]) - 1, value.output)
        if isinstance(value, list | tuple):
            return type(value)(shift(inner, last) for inner in value)
        return {key: shift(inner, last) for key, inner in value.items()} if isinstance(value, dict) else value

    if shifted:
        for layer in layers:
            layer.calls = [
                LayerCall(shift(c.args, shifted), shift(dict(c.kwargs), shifted)) for c in layer.calls
            ]
    inner = {
        layer.name: len(layer.calls) for layer in layers if layer.model and layer.class_name != SEQUENTIAL
    }
    return shift(outputs, inner if is_3 else shifted)


def every_ref(value: Any) -> Iterator[TensorRef]:
    if isinstance(value, TensorRef):
        yield value
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from every_ref(inner)


def _input_layers(inputs: Any, layers: list[LayerConfig]) -> Any:
    """The inputs of a model; Keras 1 names a layer that returns its input in place of the input."""
    before = {
        layer.name: layer.calls[0].args[0]
        for layer in layers
        if layer.class_name != INPUT_LAYER and layer.calls and layer.calls[0].args
    }
    sources = {layer.name for layer in layers if layer.class_name == INPUT_LAYER}

    def source(ref: Any) -> Any:
        previous = before.get(ref.layer) if isinstance(ref, TensorRef) else None
        return previous if isinstance(previous, TensorRef) and previous.layer in sources else ref

    return [source(ref) for ref in inputs] if isinstance(inputs, list) else source(inputs)


def _is_bare_operation(layer: LayerConfig, nodes: Json) -> bool:
    """Whether it is an operation of Keras 3 in an HDF5 file, which does not store its module.

    Layers store whether they are trainable; operations such as Add and layers of that name differ in it.
    """
    if layer.class_name.startswith("SpatialDropout"):  # the layers that store less than others
        return False
    return (
        _are_new_calls(nodes) and not layer.module and layer.model is None and "trainable" not in layer.config
    )


def _are_new_calls(nodes: Json) -> bool:
    """Whether calls are stored as Keras 3 stores them."""
    return isinstance(nodes, list) and any(isinstance(node, Mapping) and "args" in node for node in nodes)


def _call(node: Json, where: str) -> LayerCall:
    if isinstance(node, Mapping) and "args" in node:  # Keras 3
        args, kwargs = node["args"], node.get("kwargs") or {}
        return LayerCall(tuple(_tensors3(a) for a in args), {k: _tensors3(v) for k, v in kwargs.items()})
    kwargs = {}
    for history in _histories(node):
        if len(history) > 3 and isinstance(history[3], Mapping):
            kwargs.update(history[3])
    structure = _refs(node, where)
    if isinstance(structure, list) and len(structure) == 1:
        structure = structure[0]
    return LayerCall((structure,), {name: _tensors2(value) for name, value in kwargs.items()})


def _histories(node: Json, depth: int = 0) -> Iterator[list[Json]]:
    """The entries `[layer, call, output, keyword arguments]` in the structure of a Keras 2 call."""
    if _is_history(node):
        yield node
    elif isinstance(node, list | Mapping) and depth < DEEPEST:
        for inner in node.values() if isinstance(node, Mapping) else node:
            yield from _histories(inner, depth + 1)


def _is_history(value: Json) -> bool:
    return (
        isinstance(value, list)
        and 3 <= len(value) <= 4
        and isinstance(value[0], str)
        and isinstance(value[1], int)
        and (isinstance(value[2], int) or value[0] == SERIALIZED_TENSOR)
    )


def _refs(value: Json, where: str, depth: int = 0) -> Any:
    """The tensors of a Keras 2 call, or of the inputs or outputs of a model."""
    if _is_history(value):
        return value[2] if value[0] == SERIALIZED_TENSOR else TensorRef(*value[:3])
    if depth > DEEPEST or not isinstance(value, list | Mapping):
        raise UnreadableFile(f"{where}: expected [layer, call, output], found {_brief(value)}")
    if isinstance(value, Mapping):
        return {key: _refs(inner, where, depth + 1) for key, inner in value.items()}
    return [_refs(inner, where, depth + 1) for inner in value]


def _tensors2(value: Json, depth: int = 0) -> Any:
    """A keyword argument of Keras 2: lists `[layer, call, output]` are tensors."""
    if _is_history(value) and len(value) == 3:
        return TensorRef(*value)
    if isinstance(value, list) and depth < DEEPEST:
        return [_tensors2(inner, depth + 1) for inner in value]
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {key: _tensors2(inner, depth + 1) for key, inner in value.items()}
    return value


def _tensors3(value: Json, depth: int = 0) -> Any:
    """An argument of Keras 3: objects of the class `__keras_tensor__` are tensors."""
    if depth > DEEPEST:
        return value
    if isinstance(value, Mapping):
        if value.get("class_name") == KERAS_TENSOR:
            history = value.get("config", {}).get("keras_history")
            return TensorRef(*history[:3]) if isinstance(history, list) and len(history) >= 3 else value
        if value.get("class_name") in STORED_ARRAYS and isinstance(value.get("config"), Mapping):
            return _array(value["config"])
        if value.get("class_name") == "__tuple__":
            return tuple(_tensors3(inner, depth + 1) for inner in value.get("items", ()))
        return {key: _tensors3(inner, depth + 1) for key, inner in value.items()}
    return [_tensors3(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def _array(config: Mapping[str, Json]) -> Any:
    """An array among the arguments."""
    import numpy as np  # imported here, as few models have them

    return np.asarray(config.get("value"), config.get("dtype"))


def _brief(value: Json) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
