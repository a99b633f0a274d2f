"""What a layer function uses to add nodes, weights and inner layers: its first argument, `b`.

`b.Relu(x)` and `b.Mul(x, y)` add elementwise ops; plain numbers become constants of the type of the
tensors beside them. `b.node(op, …)` adds any other op, and `b.tensor(node, shape)` says which shape its
result has; `keras.shapes` and the modules beside it do both for common ops. Ops are the oldest ones with
the meaning that is needed, so that the graph runs on as many releases as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfport.errors import CannotRun, MalformedGraph
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import layer_config
from tfport.frontends.keras.dtype_policy import DTypePolicy
from tfport.frontends.keras.instance import LayerInstance, StoredForm, WeightSlot
from tfport.frontends.keras.tensor import Dims, LayerTensor, broadcast_dims, map_structure
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.node_inputs import attr_value, node_inputs, type_of, typed_array
from tfport.graph.op_facts.kinds import ELEMENTWISE
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tfport.frontends.keras.build import ModelBuilder

MOST_NODES = 50_000
"""The nodes of one call of a layer: an unrolled loop over thousands of steps needs fewer."""


class LayerBuilder:
    """Adds the nodes of one layer."""

    def __init__(self, model: ModelBuilder, instance: LayerInstance, scope: str) -> None:
        self.model, self.instance, self.scope = model, instance, scope
        self._nodes = 0
        self.policy = DTypePolicy.of(instance.config.config.get("dtype"))
        self.keywords: Mapping[str, Any] = {}
        """The keyword arguments of the call."""

    @property
    def version(self) -> KerasVersion:
        """The version that saved the model, whose meaning of options counts."""
        return self.model.version

    @property
    def dtype(self) -> DType:
        """The type that the layer computes in."""
        return self.policy.compute

    def __getattr__(self, op: str) -> Callable[..., LayerTensor]:
        if op not in ELEMENTWISE:
            raise AttributeError(op)
        return lambda *inputs, **attrs: self._elementwise(op, inputs, attrs)

    def _elementwise(self, op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> LayerTensor:
        shape: Dims = ()
        for operand in inputs:
            dims = operand.shape if isinstance(operand, LayerTensor) else _dims(operand)
            shape = broadcast_dims(shape, dims)
        return self.tensor(self.node(op, *inputs, **attrs), shape)

    def node(self, op: str, *inputs: Any, **attrs: Any) -> Node:
        """Add a node; inputs are tensors, values, nodes, numbers, arrays, or lists of these."""
        graph = self.model.graph
        signature = graph.ops.get(op)
        if signature is None:
            raise MalformedGraph(f"a layer builds {op}, an unknown op")
        explicit: dict[str, Attr] = {n: attr_value(v, signature.attr_types[n]) for n, v in attrs.items()}
        plain = [map_structure(_value, operand) for operand in inputs]
        values = node_inputs(signature, plain, explicit, self._constant)
        frame = self.model.frame
        if frame is not None:
            values = [frame.inside(value) for value in values]
        # without defaults: attributes that newer releases added would stop older ones from loading it
        node = self._add(op, values, explicit, op)
        if frame is not None:
            frame.add(node)
        return node

    @contextmanager
    def before_loops(self) -> Iterator[None]:
        """Nodes added meanwhile are outside of all loops: for what depends on weights only."""
        frame, self.model.frame = self.model.frame, None
        try:
            yield
        finally:
            self.model.frame = frame

    def tensor(self, result: Node | Value, shape: Sequence[int | None]) -> LayerTensor:
        """The first output of a node, or a value, with its shape."""
        return LayerTensor(result.output(0) if isinstance(result, Node) else result, tuple(shape))

    def constant(self, value: ArrayLike, dtype: DType | None = None) -> LayerTensor:
        """A constant; plain numbers without a type become int32, float32, bool or string."""
        return LayerTensor(self._constant(value, dtype), _dims(value))

    def _constant(self, value: ArrayLike, dtype: DType | None) -> Value:
        kind = dtype or type_of(value)
        array = typed_array(value, kind)
        attrs: dict[str, Attr] = {"dtype": kind, "value": Tensor.from_numpy(array, kind)}
        return self._add("Const", (), attrs, "Const").output(0)

    def _add(self, op: str, values: Sequence[Value], attrs: dict[str, Attr], name: str) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self.refuse(f"its options ask for more than {MOST_NODES:,} nodes")
        return self.model.graph.add(op, values, attrs, name=f"{self.scope}/{name}")

    def cast(self, x: LayerTensor, dtype: DType) -> LayerTensor:
        """The tensor in another type; itself if it has that type."""
        if x.dtype == dtype:
            return x
        return LayerTensor(self.node("Cast", x, DstT=dtype).output(0), x.shape, x.mask)

    def weight(
        self,
        name: str,
        shape: Sequence[int | None],
        *,
        trainable: bool = True,
        dtype: DType | None = None,
        forms: tuple[StoredForm, ...] = (),
    ) -> LayerTensor:
        """A weight of the layer, in the type that the layer computes in.

        Every call of the layer must ask for all of its weights in the order in which Keras creates them.
        `dtype` is the type in which the weight is stored and used, where the policy does not decide it;
        `forms` are those in which the file may store it, if they are not its shape.
        """
        sizes = tuple(size for size in shape if size is not None)
        if len(sizes) != len(shape):
            raise self.refuse(f"its weight `{name}` depends on a size of its input that is unknown")
        slot = self.instance.weights.get(name)
        if slot is None:
            kind = dtype or self.policy.variable
            node = self._add("Const", (), {"dtype": kind}, name)
            slot = self.instance.weights[name] = WeightSlot(name, sizes, kind, trainable, node, forms)
            self.model.unset_weights.append(slot)
        elif slot.shape != sizes:
            raise self.refuse(f"its weight `{name}` is used with the shapes {slot.shape} and {sizes}")
        stored = LayerTensor(slot.node.output(0), sizes)
        if dtype is not None:
            return stored
        with self.before_loops():
            return self.cast(stored, self.policy.compute)

    def sublayer(self, attribute: str, stored: Json) -> LayerInstance:
        """The layer inside this one that an attribute refers to, from `{"class_name": …, "config": …}`."""
        child = self.instance.children.get(attribute)
        if child is None:
            config = layer_config(stored, self.model.where)
            child = self.instance.children[attribute] = LayerInstance(config)
        return child

    def builder_of(self, child: LayerInstance) -> LayerBuilder:
        """A builder that adds nodes for an inner layer, and weights to it."""
        return LayerBuilder(self.model, child, self._scope_of(child))

    def _scope_of(self, child: LayerInstance) -> str:
        return f"{self.scope}/{child.name or child.config.class_name}"

    def call(self, child: LayerInstance, *args: Any, **kwargs: Any) -> Any:
        """Call an inner layer; its weights belong to it, wherever it is called from."""
        return self.model.call(child, args, kwargs, self._scope_of(child))

    def refuse(self, why: str) -> CannotRun:
        """An error for what this layer asks and tfport does not do."""
        return CannotRun(f"layer `{self.instance.name}` ({self.instance.config.class_name}): {why}")


def _value(operand: Any) -> Any:
    return operand.value if isinstance(operand, LayerTensor) else operand


def _dims(value: ArrayLike) -> Dims:
    import numpy as np

    return tuple(np.shape(value))
