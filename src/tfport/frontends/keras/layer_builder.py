"""What a layer function uses to add nodes, weights and inner layers: its first argument, `b`.

`b.Relu(x)` adds an op and returns its first output with the shape that follows from the inputs
(`graph.infer_shapes`), `b.results(b.node(op, …))` all of its outputs. Where a layer knows more,
`b.tensor(b.node(op, …), shape)` says which shape the result has; `graph.building.arrays` and the modules
beside it do both for common ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tfport.formats.keras.records import Json, KerasFile
from tfport.frontends.keras.config import LayerConfig, layer_config
from tfport.frontends.keras.dtype_policy import DTypePolicy
from tfport.frontends.keras.instance import LayerInstance, StoredForm, WeightSlot
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.building.node_builder import Dims, NodeBuilder, Refusal
from tfport.graph.dtypes import DType
from tfport.graph.frame_loop import HasFrame, OpenFrame
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.infer_shapes import InferredShapes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ModelInBuilding(HasFrame, Protocol):
    """What a layer needs to know of the model around it, which `build` builds."""

    file: KerasFile
    graph: Graph
    inferred: InferredShapes
    where: str
    version: KerasVersion
    unset_weights: list[WeightSlot]
    initializers: list[Node]

    def asset(self, layer: LayerConfig, name: str) -> bytes | None:
        """The content of a file that a layer keeps in the archive."""

    def call(
        self, instance: LayerInstance, args: Sequence[Any], kwargs: Mapping[str, Any], scope: str
    ) -> Any:
        """Call a layer in a scope of names."""


class LayerBuilder(NodeBuilder[LayerTensor]):
    """Adds the nodes of one layer."""

    MOST_NODES = 50_000  # of one call: an unrolled loop over thousands of steps needs fewer
    TOO_MANY = "its options ask for more than"
    author = "a layer"
    wrappers = (LayerTensor,)

    def __init__(self, model: ModelInBuilding, instance: LayerInstance, scope: str) -> None:
        super().__init__(model.graph, scope, inferred=model.inferred)
        self.model, self.instance = model, instance
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

    def __getattr__(self, op: str) -> Callable[..., LayerTensor]:  # type: ignore[override]
        if not op[:1].isupper():
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.result(op, *inputs, **attrs)

    def _plain(self, operand: Any) -> Any:
        if isinstance(operand, LayerTensor) and operand.dims is not None:
            self.set_shape(operand.value, operand.dims)
        return super()._plain(operand)

    @property
    def frame(self) -> OpenFrame | None:
        """The loop that the nodes of all layers are part of."""
        return self.model.frame

    @frame.setter
    def frame(self, frame: OpenFrame | None) -> None:
        self.model.frame = frame

    @contextmanager
    def before_loops(self) -> Iterator[None]:
        """Nodes added meanwhile are outside of all loops: for what depends on weights only."""
        frame, self.frame = self.frame, None
        try:
            yield
        finally:
            self.frame = frame

    def tensor(self, result: Node | Value, dims: Sequence[int | None] | None) -> LayerTensor:
        """The first output of a node, or a value, with its shape."""
        return LayerTensor(self.value(result), None if dims is None else tuple(dims))

    def shape(self, tensor: Any) -> Dims | None:
        return tensor.dims if isinstance(tensor, LayerTensor) else super().shape(tensor)

    def constant(self, value: ArrayLike, dtype: DType | None = None) -> LayerTensor:
        """A constant; plain numbers without a type become int32, float32, bool or string."""
        return LayerTensor(self.const(value, dtype), _dims(value))

    def cast(self, x: Any, dtype: DType) -> LayerTensor:
        result = super().cast(x, dtype)
        return result.with_mask(x.mask) if isinstance(x, LayerTensor) else result

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
            stored_dtype = dtype or self.policy.variable
            node = self._add("Const", (), {"dtype": stored_dtype}, name=name)
            slot = self.instance.weights[name] = WeightSlot(name, sizes, stored_dtype, trainable, node, forms)
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

    def refuse(self, why: str) -> Refusal:
        """An error for what this layer asks and tfport does not do."""
        return Refusal(f"layer `{self.instance.name}` ({self.instance.config.class_name}): {why}")


def _dims(value: ArrayLike) -> Dims:
    import numpy as np

    return tuple(np.shape(value))
