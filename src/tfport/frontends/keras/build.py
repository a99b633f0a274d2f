"""Build the graph of a Keras model: every call of a layer becomes TensorFlow ops.

`ModelBuilder(file, ops).build()` fills its graph and returns the signature. The layers come from
`frontends.keras.layers`, the elements of the weights from the file, on request. If parts cannot be
built, the error names all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import CannotRun, Error, UnreadableFile
from tfport.formats.keras.records import KerasFile
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.keras.assets import layer_asset
from tfport.frontends.keras.config import (
    INPUT_SHAPES,
    LayerCall,
    LayerConfig,
    ModelConfig,
    TensorRef,
    model_config,
)
from tfport.frontends.keras.dtype_policy import DTypePolicy
from tfport.frontends.keras.instance import LayerInstance, WeightSlot
from tfport.frontends.keras.layer import DeclaredLayer, find_layer, options_of
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.problems import problems_of, unknown_class
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors, map_structure
from tfport.frontends.keras.version import KerasVersion
from tfport.frontends.keras.weights import set_weights
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.frame_loop import OpenFrame
from tfport.graph.graph import Graph, Node
from tfport.graph.infer_shapes import InferredShapes
from tfport.graph.model import MAIN_OP, NameOrder
from tfport.graph.op_signature import OpTable
from tfport.graph.shapes import Shape

SIGNATURE, PREDICT = "serving_default", "tensorflow/serving/predict"
PRODUCER = 24
"""The GraphDef version of TensorFlow 1.4: ops mean what they do now, and no op is deprecated yet."""
CALL_ONLY = ("training", "mask", "name")
"""Arguments of a call that no layer function takes: inference does not train, and masks are on tensors."""
MALFORMED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, StopIteration,
             TypeError, ValueError)  # fmt: skip
"""What Python raises where a configuration has a value of another kind than Keras writes."""
Calls = dict[TensorRef, list[LayerTensor]]
"""The outputs of each call; the references have output 0."""


class ModelBuilder:
    """Builds the calls of all layers into one graph."""

    def __init__(self, file: KerasFile, ops: OpTable) -> None:
        self.graph = Graph(ops)
        self.graph.rest.versions.producer = PRODUCER
        self.where = file.where
        self.file = file
        self.version = KerasVersion.of(file)
        self.inferred = InferredShapes()
        self.unset_weights: list[WeightSlot] = []
        self.initializers: list[Node] = []
        """Nodes that fill tables when the model is loaded."""
        self.frame: OpenFrame | None = None
        """The loop whose iteration is being built."""
        self.root: LayerInstance | None = None
        """The model, with the layers that were built so far."""
        self.name_orders: dict[str, NameOrder] = {}

    def build(self) -> pb.MetaGraphDef:
        """Build the whole model; returns its signature and what to run when it is loaded.

        CannotRun names all that is missing.
        """
        root, meta = self.build_layers()
        set_weights(root, self.file, self.unset_weights, self.version)
        return meta

    def build_layers(self) -> tuple[LayerInstance, pb.MetaGraphDef]:
        """Build the model without the values of its weights."""
        if self.file.config is None:
            raise CannotRun(
                f"{self.where}: has weights but no architecture; name the architecture in JSON, or save the "
                "whole model with model.save"
            )
        try:
            return self._build(model_config(self.file.config, self.where))
        except Error as error:
            named = str(error).startswith(self.where)
            raise (error if named else CannotRun(f"{self.where}: {error}")) from error.__cause__
        except MALFORMED as error:
            raise UnreadableFile(f"{self.where}: the model's configuration is damaged: {error}") from error

    def _build(self, config: ModelConfig) -> tuple[LayerInstance, pb.MetaGraphDef]:
        self.root = LayerInstance(LayerConfig(config.class_name, config.name, {}, model=config))
        problems = problems_of(config, self.where, self.version)
        try:
            inputs = self.placeholders(config)
            outputs = self.run(self.root, config, inputs, "")
        except Error:
            if not problems:
                raise
        if problems:  # only now: what was built up to the first of them has its shapes
            raise CannotRun(f"{self.where}: " + "; ".join(problems))
        meta = pb.MetaGraphDef()
        described = _named_outputs(config, outputs)
        meta.signature_def[SIGNATURE].CopyFrom(_signature(inputs, described))
        self.name_orders[SIGNATURE] = NameOrder(tuple(inputs), tuple(described))
        if self.initializers:
            init = self.graph.add("NoOp", name="init_all_tables", controls=self.initializers)
            meta.collection_def[MAIN_OP].node_list.value.append(init.name)
        return self.root, meta

    def asset(self, layer: LayerConfig, name: str) -> bytes | None:
        """A file that a layer keeps in the archive; None if there is none."""
        model = self.root.config.model if self.root is not None else None
        return None if model is None else layer_asset(self.file, model, layer, name)

    def placeholders(self, config: ModelConfig) -> dict[str, LayerTensor]:
        """The inputs of the model, by the name of their layer."""
        by_name = {layer.name: layer for layer in config.layers}
        return {ref.layer: self._placeholder(by_name[ref.layer]) for ref in flat_tensors(config.inputs)}

    def _placeholder(self, layer: LayerConfig) -> LayerTensor:
        shape, dtype = input_spec(layer)
        attrs = {"dtype": dtype, "shape": Shape(shape)}
        node = self.graph.add("Placeholder", (), attrs, name=layer.name)
        return LayerTensor(node.output(0), shape)

    def run(
        self, instance: LayerInstance, config: ModelConfig, inputs: Mapping[str, LayerTensor], scope: str
    ) -> Any:
        """Build the calls of a model for these inputs; returns its outputs in their structure."""
        calls: Calls = {TensorRef(name): [tensor] for name, tensor in inputs.items()}
        for layer, number in _in_order(config, self.where):
            here = TensorRef(layer.name, number)
            if here in calls:
                continue
            child = instance.children.setdefault(layer.name, LayerInstance(layer))
            call = layer.calls[number]
            args, kwargs = map_structure(lambda ref: _resolved(ref, calls), _arguments(call))
            path = "/".join(filter(None, (scope, layer.name)))
            calls[here] = list(flat_tensors(self.call(child, args, kwargs, path)))
        return map_structure(lambda ref: _resolved(ref, calls), config.outputs)

    def call(
        self, instance: LayerInstance, args: Sequence[Any], kwargs: Mapping[str, Any], scope: str
    ) -> Any:
        """Call a layer or a model; returns a tensor, or a structure of tensors."""
        outputs = self._call(instance, args, kwargs, scope)
        instance.outputs.append(outputs)
        return outputs

    def _call(
        self, instance: LayerInstance, args: Sequence[Any], kwargs: Mapping[str, Any], scope: str
    ) -> Any:
        config = instance.config
        if config.model is not None:
            return self.run(instance, config.model, _bound(config.model, args, kwargs, self.where), scope)
        declared = find_layer(config)
        if declared is None:
            raise CannotRun(f"{self.where}: {unknown_class(config)}")
        b = LayerBuilder(self, instance, scope)
        try:
            return _called(b, declared, args, kwargs)
        except MALFORMED as error:
            raise b.refuse(f"its configuration is damaged: {error}") from error


def input_spec(layer: LayerConfig) -> tuple[tuple[int | None, ...], DType]:
    """The shape and type of an input layer."""
    stored = next((layer.config[key] for key in INPUT_SHAPES if layer.config.get(key) is not None), None)
    if isinstance(stored, dict) and stored.get("class_name") == "__tuple__":
        stored = stored.get("items")
    if not isinstance(stored, list | tuple) or not all(s is None or type(s) is int for s in stored):
        raise CannotRun(f"input `{layer.name}`: its shape is not in the file")
    stated = layer.config.get("dtype") or layer.config.get("input_dtype")  # the latter in Keras 1
    dtype = DTypePolicy.of(stated).compute if stated else FLOAT32
    if layer.config.get("ragged"):
        raise CannotRun(f"input `{layer.name}`: it is ragged, and a plain tensor does not say where rows end")
    if layer.config.get("sparse") and not dtype.is_floating:
        raise CannotRun(
            f"input `{layer.name}`: it is a sparse {dtype} tensor, in which a missing element is not a zero"
        )
    return tuple(stored), dtype


def _in_order(config: ModelConfig, where: str) -> list[tuple[LayerConfig, int]]:
    """The calls of a model, each after those whose outputs it uses."""
    waiting: dict[TensorRef, set[TensorRef]] = {}
    users: dict[TensorRef, list[TensorRef]] = {}
    layers = {layer.name: layer for layer in config.layers}
    for layer in config.layers:
        for number, call in enumerate(layer.calls):
            here = TensorRef(layer.name, number)
            used = {TensorRef(ref.layer, ref.call) for ref in flat_tensors(_arguments(call))}
            waiting[here] = used
            for ref in used:
                users.setdefault(ref, []).append(here)
    ready = [here for here, used in waiting.items() if not used]
    order = []
    for here in ready:  # grows during the loop
        order.append((layers[here.layer], here.call))
        for user in users.get(here, ()):
            waiting[user].discard(here)
            if not waiting[user]:
                ready.append(user)
    if left := [here for here, used in waiting.items() if used]:
        missing = next((ref for here in left for ref in waiting[here] if ref not in waiting), None)
        why = (
            f"uses `{missing.layer}`, which is not in the model"
            if missing
            else "is part of a cycle of layers"
        )
        raise CannotRun(f"{where}: layer `{left[0].layer}` {why}")
    return order


def _arguments(call: LayerCall) -> list[Any]:
    return [list(call.args), dict(call.kwargs)]


def _resolved(ref: Any, calls: Calls) -> Any:
    if not isinstance(ref, TensorRef):
        return ref
    outputs = calls.get(TensorRef(ref.layer, ref.call), [])
    if ref.output >= len(outputs):
        raise CannotRun(f"layer `{ref.layer}`, call {ref.call}: has no output {ref.output}")
    return outputs[ref.output]


def _bound(
    config: ModelConfig, args: Sequence[Any], kwargs: Mapping[str, Any], where: str
) -> dict[str, LayerTensor]:
    """The tensors that a call passes to the inputs of an inner model."""
    names = [ref.layer for ref in flat_tensors(config.inputs)]
    tensors = list(flat_tensors(list(args)))
    if len(tensors) != len(names):
        raise CannotRun(
            f"{where}: model `{config.name}` has {len(names)} inputs, and is called with {len(tensors)}"
        )
    return dict(zip(names, tensors, strict=True))


def _called(b: LayerBuilder, declared: DeclaredLayer, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    options, problems = options_of(declared, b.instance.config.config)
    if problems:
        raise b.refuse("; ".join(problems))
    inputs, keywords = list(args), dict(kwargs)
    if declared.casts_inputs:
        inputs, keywords = map_structure(lambda x: _cast(b, x), [inputs, keywords])
    if inputs and "mask" in keywords and "mask" not in declared.inputs:
        inputs[0] = _with_masks(inputs[0], keywords["mask"])
    b.keywords, named = keywords, {}
    for name, value in keywords.items():
        if name in declared.inputs:
            named[name] = value
        elif not declared.takes_any_argument and name not in CALL_ONLY and value is not None:
            raise b.refuse(f"the argument `{name}` of its call is unknown")
    outputs = declared.function(b, *inputs, **named, **options)
    if declared.keeps_mask and isinstance(outputs, LayerTensor) and outputs.mask is None:
        first = next(iter(flat_tensors(inputs)), None)
        return outputs.with_mask(first.mask if first is not None else None)
    return outputs


def _with_masks(inputs: Any, masks: Any) -> Any:
    """A tensor with a mask, or a list of tensors with a mask for each."""
    if isinstance(inputs, LayerTensor):
        return inputs.with_mask(masks) if isinstance(masks, LayerTensor) else inputs
    if isinstance(inputs, list | tuple) and isinstance(masks, list | tuple):
        masks = [*masks, *[None] * (len(inputs) - len(masks))]
        return [_with_masks(x, mask) for x, mask in zip(inputs, masks, strict=False)]
    return inputs


def _cast(b: LayerBuilder, x: Any) -> Any:
    """An input in the type that the layer computes in, if both are floating-point."""
    if isinstance(x, LayerTensor) and x.dtype.is_floating and b.dtype.is_floating:
        return b.cast(x, b.dtype)
    return x


def _named_outputs(config: ModelConfig, outputs: Any) -> dict[str, LayerTensor]:
    refs = list(flat_tensors(config.outputs))
    keys = sorted(outputs) if isinstance(outputs, dict) else [ref.layer for ref in refs]
    named: dict[str, LayerTensor] = {}
    for key, tensor in zip(keys, flat_tensors(outputs), strict=True):
        name, number = key, 0
        while name in named:
            number += 1
            name = f"{key}_{number}"
        named[name] = tensor
    return named


def _signature(inputs: Mapping[str, LayerTensor], outputs: Mapping[str, LayerTensor]) -> pb.SignatureDef:
    signature = pb.SignatureDef(method_name=PREDICT)
    for name, tensor in inputs.items():
        _describe(signature.inputs[name], tensor)
    for name, tensor in outputs.items():
        _describe(signature.outputs[name], tensor)
    return signature


def _describe(info: pb.TensorInfo, tensor: LayerTensor) -> None:
    value = tensor.value
    info.name = f"{value.node.name}:{value.index}"
    info.dtype = tensor.dtype.number  # type: ignore[assignment]
    info.tensor_shape.CopyFrom(Shape(tensor.dims).to_proto())
