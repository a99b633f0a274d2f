"""Write the configuration of a model in the words of a release of Keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfport.atlas.versions import version_key
from tfport.errors import Error
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.layer_options import may_be_dropped, plain, rewritten_options, typed
from tfport.fix.keras.replacements import CAUSAL, replaced
from tfport.formats.keras.records import Json
from tfport.frontends.keras.build import input_spec
from tfport.frontends.keras.config import (
    BARE_OPERATION,
    INPUT_LAYER,
    SEQUENTIAL,
    SERIALIZED_TENSOR,
    LayerCall,
    LayerConfig,
    ModelConfig,
    TensorRef,
    every_ref,
    layer_config,
)
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.layer import FUNCTION_LAYERS, find_layer, is_operation
from tfport.frontends.keras.tensor import flat_tensors, map_structure

LEAF_SINCE = "3.4"
"""The first Keras 3 that reads one input or output without a list around it."""
RECURRENT = ("SimpleRNN", "LSTM", "GRU", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
ATTENTION = "MultiHeadAttention"
"""The layer that Keras 2 builds from the shapes of its inputs, which its options state."""
OPERANDS = ("x1", "x2")
"""What the operators of Keras 3 with two operands call them."""
NOT_PASSED = ("training", "mask")
"""Arguments of calls that Keras passes itself."""


class ConfigWriter:
    """Writes models and layers for one release, and notes what it dropped and refused."""

    def __init__(self, dialect: Dialect, where: str) -> None:
        self.dialect, self.where = dialect, where
        self.dropped: dict[str, list[str]] = {}
        """Options without a meaning in the target, with the layers that had them."""
        self.replaced: dict[str, list[str]] = {}
        """Classes that became another, with their layers."""
        self.refused: list[str] = []

    def model(self, model: ModelConfig, instance: LayerInstance | None) -> dict[str, Json]:
        """A whole model."""
        if model.class_name == SEQUENTIAL:
            layers = [self._layer(layer, _child(instance, layer)) for layer in model.layers]
            return self._object(SEQUENTIAL, {"name": model.name, "layers": layers})
        layers = []
        for layer in model.layers:
            entry = self._layer(layer, _child(instance, layer))
            if layer.class_name == ATTENTION and self.dialect.stores_attention_shapes:
                entry["config"] |= _input_shapes(layer.calls[0], model, instance)
            calls = [self._call(call, layer, model, instance) for call in layer.calls]
            nodes = [] if layer.class_name == INPUT_LAYER else calls
            layers.append({**entry, "name": layer.name, "inbound_nodes": nodes})
        config = {
            "name": model.name,
            "layers": layers,
            "input_layers": self._ends(model.inputs, model),
            "output_layers": self._ends(self._counted(model.outputs, model), model),
        }
        if self.dialect.is_3:
            config["trainable"] = True
        return self._object(self.dialect.functional, config)

    def _layer(self, layer: LayerConfig, instance: LayerInstance | None) -> dict[str, Json]:
        if layer.model is not None:
            return self.model(layer.model, instance)
        if is_operation(layer) and self.dialect.is_3:
            known = self.dialect.release.find("operation", layer.class_name)
            module = known.module if known and layer.module == BARE_OPERATION else layer.module
            declared = find_layer(layer)
            defaults = {"name": layer.name, **(declared.options if declared is not None else {})}
            options = {
                name: value
                for name, value in plain(layer.config).items()
                if known is None or name in known.arguments or not may_be_dropped(name, value, defaults)
            }
            written = typed(layer.class_name, options, module, self.dialect)
            return {**written, "registered_name": layer.class_name}
        stands_for, original, layer = layer.stands_for, layer.class_name, replaced(layer, self.dialect)
        if layer.class_name != original:
            self.replaced.setdefault(f"{original} → {layer.class_name}", []).append(layer.name)
        result = rewritten_options(layer, self.dialect, self._stored_layer)
        for name in result.dropped:
            self.dropped.setdefault(name, []).append(layer.name)
        subject = stands_for or f"layer `{layer.name}` ({original}):"
        self.refused += [f"{subject} {why}" for why in result.refused]
        if "name" in result.options or layer.name:
            result.options["name"] = layer.name
        return self._object(layer.class_name, result.options)

    def _stored_layer(self, stored: Json) -> Json:
        return self._layer(layer_config(stored, self.where), None)

    def _object(self, class_name: str, config: Json) -> dict[str, Json]:
        known = self.dialect.layer(class_name)
        if known is None or not self.dialect.is_3:
            return {"class_name": class_name, "config": config}
        if known.exports:
            return typed(class_name, config, known.exports[0].rpartition(".")[0], self.dialect)
        return {**typed(class_name, config, known.module, self.dialect), "registered_name": class_name}

    def _ends(self, structure: Any, model: ModelConfig) -> Json:
        """The inputs or outputs of a model."""
        if isinstance(structure, TensorRef):
            structure = [structure]
        if isinstance(structure, list) and len(structure) == 1 and self.dialect.is_3:
            leaf = version_key(self.dialect.release.version) >= version_key(LEAF_SINCE)
            structure = structure[0] if leaf else structure
        if isinstance(structure, dict) and not self.dialect.stores_dictionaries:
            structure = [structure[key] for key in sorted(structure)]
        return self._histories(structure, model)

    def _counted(self, outputs: Any, model: ModelConfig) -> Any:
        """The outputs of a model with the numbers of calls that Keras 3 expects there and nowhere else."""
        if not self.dialect.is_3 or not self.dialect.counts_creation:
            return outputs
        inner = {
            layer.name for layer in model.layers if layer.model is not None and layer.class_name != SEQUENTIAL
        }
        return map_structure(
            lambda ref: TensorRef(ref.layer, ref.call + 1, ref.output) if ref.layer in inner else ref,
            outputs,
        )

    def _histories(self, structure: Any, model: ModelConfig) -> Json:
        if isinstance(structure, TensorRef):
            return self._history(structure, model)
        if isinstance(structure, Mapping):
            return {key: self._histories(inner, model) for key, inner in structure.items()}
        return [self._histories(inner, model) for inner in structure]

    def _history(self, ref: TensorRef, model: ModelConfig) -> list[Json]:
        is_model = any(layer.name == ref.layer and layer.model is not None for layer in model.layers)
        return [ref.layer, ref.call + is_model * self.dialect.first_call, ref.output]

    def _call(
        self, call: LayerCall, layer: LayerConfig, model: ModelConfig, instance: LayerInstance | None
    ) -> Json:
        args = list(call.args)
        kwargs = {
            name: value
            for name, value in call.kwargs.items()
            if value is not None and (name not in NOT_PASSED or any(every_ref(value)))
        }
        if self.dialect.is_3:
            if layer.class_name in RECURRENT and isinstance(args[0], list):  # the states follow the sequence
                args, kwargs = [args[0][0]], {**kwargs, "initial_state": args[0][1:]}
            if not self.dialect.waits_for_calls and call in early_calls(model):
                if is_operation(layer) and len(args) == len(OPERANDS) and isinstance(args[1], int | float):
                    args, kwargs = args[:1], {OPERANDS[1]: args[1]}
                if _is_plain(args, kwargs):
                    first = args[0] if isinstance(args[0], list | tuple) else args
                    return [[*self._history(ref, model), kwargs] for ref in first]
                why = (
                    "a result that it uses is computed by a later call of a shared layer, and "
                    f"{self.dialect.release.name} loads this only for calls with one tensor or one list, and "
                    "for sums, differences, products, maxima and minima of tensors of one rank and type"
                )
                self.refused.append(f"layer `{layer.name}` ({layer.class_name}): {why}")
            tensor = lambda ref: self._tensor(ref, model, instance)  # noqa: E731
            return {
                "args": [_mapped(tensor, argument) for argument in args],
                "kwargs": {name: _mapped(tensor, value) for name, value in kwargs.items()},
            }
        declared = find_layer(layer)
        names = declared.inputs if declared is not None else ()
        for name, value in zip(names[1:], args[1:], strict=False):
            kwargs[name] = value
        if not self.dialect.has_causal_argument and kwargs.pop(CAUSAL, False):
            self.refused.append(
                f"layer `{layer.name}` ({layer.class_name}): {self.dialect.release.name} has no {CAUSAL}"
            )
        history = lambda ref: ref.tolist() if isinstance(ref, np.ndarray) else self._history(ref, model)  # noqa: E731
        written = {name: _mapped(history, value) for name, value in kwargs.items()}
        if args and isinstance(args[0], bool | int | float | np.ndarray):  # the first operand of an operator
            return [SERIALIZED_TENSOR, -1, np.asarray(args[0]).tolist(), written]
        if layer.class_name in FUNCTION_LAYERS and isinstance(args[0], TensorRef):
            return [*self._history(args[0], model), written]
        first = args[0] if args and isinstance(args[0], list | tuple) else args[:1]
        if not all(isinstance(ref, TensorRef) for ref in first):
            self.refused.append(f"layer `{layer.name}`: its inputs are nested, which Keras 2 does not store")
            return []
        return [[*self._history(ref, model), written] for ref in first]

    def _tensor(self, ref: Any, model: ModelConfig, instance: LayerInstance | None) -> Json:
        if isinstance(ref, np.ndarray):
            return {"class_name": "__numpy__", "config": {"value": ref.tolist(), "dtype": str(ref.dtype)}}
        shape, dtype = shape_of(ref, model, instance)
        config = {"shape": shape, "dtype": dtype, "keras_history": self._history(ref, model)}
        return {"class_name": "__keras_tensor__", "config": config}


def _is_plain(args: list[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has one argument, a tensor or a list of them: the only calls that Keras 2 stores."""
    first = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    tensors = len(first) > (0 if first is args else 1) and all(isinstance(ref, TensorRef) for ref in first)
    return len(args) == 1 and tensors and not any(every_ref(dict(kwargs)))


def early_calls(model: ModelConfig) -> list[LayerCall]:
    """The calls that come before one whose result they use, if each layer makes what it can in its turn."""
    made: set[TensorRef] = set()
    early: list[LayerCall] = []
    for layer in model.layers:
        for number, call in enumerate(layer.calls):
            used = every_ref([list(call.args), dict(call.kwargs)])
            if not all(TensorRef(ref.layer, ref.call) in made for ref in used):
                early += layer.calls[number:]
                break
            made.add(TensorRef(layer.name, number))
    return early


def _input_shapes(call: LayerCall, model: ModelConfig, instance: LayerInstance | None) -> dict[str, Json]:
    """The shapes of the inputs of attention; None for what is not a tensor of its own."""
    names = ("query", "value", "key")
    arguments = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    arguments["key"] = arguments.get("key") or arguments.get("value")
    refs = {name: arguments.get(name) for name in names}
    return {
        f"{name}_shape": shape_of(ref, model, instance)[0] if isinstance(ref, TensorRef) else None
        for name, ref in refs.items()
    }


def _child(instance: LayerInstance | None, layer: LayerConfig) -> LayerInstance | None:
    return instance.children.get(layer.name) if instance is not None else None


def shape_of(ref: TensorRef, model: ModelConfig, instance: LayerInstance | None) -> tuple[Json, str]:
    """The shape and type of a tensor, for people: loaders only look at the layer."""
    owner = next((layer for layer in model.layers if layer.name == ref.layer), None)
    if owner is not None and owner.class_name == INPUT_LAYER:
        try:
            shape, dtype = input_spec(owner)
            return list(shape), str(dtype)
        except Error:
            return [None], "float32"
    child = instance.children.get(ref.layer) if instance is not None else None
    calls = child.outputs if child is not None else []
    tensors = list(flat_tensors([calls[ref.call]])) if ref.call < len(calls) else []
    if ref.output < len(tensors):
        return list(tensors[ref.output].shape), str(tensors[ref.output].dtype)
    return [None], "float32"


def _mapped(write: Any, value: Any) -> Json:
    if isinstance(value, TensorRef):
        return write(value)
    if isinstance(value, Mapping):
        return {key: _mapped(write, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(write, inner) for inner in value]
    return write(value) if isinstance(value, np.ndarray) else value
