"""Build nodes: `b.MatMul(x, y, transpose_b=True)` and `b.node("MatMul", x, y, transpose_b=True)`.

Inputs are tensors, values, nodes (their first output), lists of these, or plain numbers and arrays,
which become constants of the type of the tensors beside them. Attributes that follow from the inputs
may be omitted. Subclasses add what their tensors know (`T`), and what their nodes need: rules of `fix`
write defaults that the target knows, Keras layers have weights. Ops are the oldest ones with the meaning
that is needed, so that the graph runs on as many releases as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tfport.errors import CannotRun, MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.constants import constant
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.frame_loop import OpenFrame
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.infer_shapes import InferredShapes, infer_node
from tfport.graph.node_inputs import OperandLike, attr_value, node_inputs, type_of, typed_array
from tfport.graph.op_facts.node_call import constant_elements
from tfport.graph.op_signature import OpSignature
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
Dims = tuple[int | None, ...]
"""A shape whose rank is known; None for an unknown size."""


class Refusal(CannotRun):
    """Why nodes are not built, or why a rule does not apply."""

    @property
    def why(self) -> str:
        return str(self)


class NodeBuilder(Generic[T]):
    """Adds nodes to a graph; `T` is what it calls a tensor, a value or something around a value."""

    MOST_NODES = 500_000
    TOO_MANY = "it needs more than"
    author = "a builder"
    """Who builds the nodes, as errors call it."""
    wrappers: tuple[type[Any], ...] = ()
    """The classes of its tensors that are not values; their field `value` is."""
    frame: OpenFrame | None = None
    """The loop that new nodes are part of."""

    def __init__(
        self, graph: Graph, scope: str, device: str = "", inferred: InferredShapes | None = None
    ) -> None:
        self.graph, self.scope, self.device = graph, scope, device
        self.inferred = InferredShapes() if inferred is None else inferred
        """What is known about the values of the graph."""
        self.added: list[Node] = []

    def __getattr__(self, op: str) -> Callable[..., Node]:
        if not op[:1].isupper():
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.node(op, *inputs, **attrs)

    def node(self, op: str, *inputs: OperandLike, **attrs: Any) -> Node:
        """Add a node of an op; attributes whose name starts with `_` are dropped."""
        return self._node(op, inputs, attrs)

    def _node(
        self, op: str, inputs: Sequence[OperandLike], attrs: Mapping[str, Any], controls: Sequence[Node] = ()
    ) -> Node:
        signature = self.graph.signature_of(op)
        if signature is None:
            raise MalformedGraph(f"{self.author} builds {op}, an unknown op")
        explicit: dict[str, Attr] = {}
        for name, value in attrs.items():
            if not name.startswith("_"):
                if name not in signature.attr_types:
                    raise MalformedGraph(f"{self.author} sets {op}.{name}, but {op} has no such attribute")
                explicit[name] = attr_value(value, signature.attr_types[name])
        plain = [self._plain(operand) for operand in inputs]
        values = node_inputs(signature, plain, explicit, self.const)
        return self._add(op, values, self._attrs(op, signature, explicit), controls=controls)

    def _plain(self, operand: Any) -> Any:
        if isinstance(operand, list | tuple):
            return [self._plain(element) for element in operand]
        return operand.value if isinstance(operand, self.wrappers) else operand

    def _attrs(self, op: str, signature: OpSignature, explicit: dict[str, Attr]) -> dict[str, Attr]:
        """The attributes of a new node: without defaults, as old releases do not know all of them."""
        return explicit

    def const(self, value: ArrayLike, dtype: DType | None = None) -> Value:
        """Add a constant; plain numbers without a dtype become int32, float32, bool or string."""
        dtype = dtype or type_of(value)
        if dtype == INVALID:
            raise MalformedGraph(f"{self.author} needs the type of a value that does not state it")
        array = typed_array(value, dtype)
        attrs: dict[str, Attr] = {"dtype": dtype, "value": Tensor.from_numpy(array, dtype)}
        result = self._add("Const", (), attrs).output(0)
        self.set_shape(result, array.shape)
        return result

    def _add(
        self,
        op: str,
        values: Sequence[Value],
        attrs: dict[str, Attr],
        *,
        controls: Sequence[Node] = (),
        name: str = "",
    ) -> Node:
        if len(self.added) >= self.MOST_NODES:
            raise self.refuse(f"{self.TOO_MANY} {self.MOST_NODES:,} nodes")
        if (frame := self.frame) is not None:
            values = [self._inside(frame, value) for value in values]
        node = self.graph.add(
            op, values, attrs, name=f"{self.scope}/{name or op}", controls=controls, device=self.device
        )
        self.added.append(node)
        if frame is not None:
            frame.add(node)
        return node

    def _inside(self, frame: OpenFrame, value: Value) -> Value:
        inside, dims = frame.inside(value), self.shape(value)
        if dims is not None:
            self.set_shape(inside, dims)
        if (elements := constant_elements(value)) is not None:
            self.inferred.elements[inside] = elements
        return inside

    def value(self, tensor: Any) -> Value:
        """The value of a tensor, or the first output of a node."""
        plain = self._plain(tensor)
        value: Value = plain.output(0) if isinstance(plain, Node) else plain
        return value

    def tensor(self, result: Node | Value, dims: Sequence[int | None] | None) -> T:
        """A new value, or the first output of a new node, with its dimensions as far as they are known."""
        value = self.value(result)
        if dims is not None:
            self.set_shape(value, tuple(dims))
        return value  # type: ignore[return-value]

    def shape(self, tensor: Any) -> Dims | None:
        """The dimensions of a tensor, None for an unknown one; None if the rank is unknown."""
        value = self.value(tensor)
        return self.inferred.dims.get(value, value.shape.dims)

    def set_shape(self, value: Value, dims: Dims) -> None:
        """Record the dimensions of a new value."""
        self.inferred.dims[value] = dims

    def results(self, node: Node) -> list[T]:
        """The outputs of a new node, with the shapes that follow from its inputs."""
        infer_node(node, self.inferred)
        return [self.tensor(value, self.inferred.dims.get(value)) for value in node.outputs]

    def result(self, op: str, *inputs: OperandLike, **attrs: Any) -> T:
        """Add a node; its first output, with the shape that follows from its inputs."""
        return self.results(self.node(op, *inputs, **attrs))[0]

    def array(self, value: Value) -> NDArray[Any] | None:
        """The array of a value that is known to be constant, else None."""
        tensor = constant(value)
        return None if tensor is None else tensor.numpy()

    def cast(self, x: Any, dtype: DType) -> T:
        """The tensor in another dtype; itself if it has that dtype."""
        tensor: T = x if isinstance(x, self.wrappers) else self.tensor(x, self.shape(x))
        if self.value(tensor).dtype.base == dtype:
            return tensor
        return self.tensor(self.node("Cast", tensor, DstT=dtype), self.shape(tensor))

    def refuse(self, why: str) -> Refusal:
        """An error for what is asked and cannot be built."""
        return Refusal(why)
