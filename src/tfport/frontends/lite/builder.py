"""What an operator's function uses to add nodes: its first argument, `b`.

`b.Relu(x)` and `b.node("Relu", x)` add an op of TensorFlow or of `definitions`; plain numbers become
constants of the type of the tensors beside them. Effects (assignments, tables) are added with
`b.effect`, which keeps them in the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun, MalformedGraph
from tfport.formats.lite.records import LiteOperator, LiteTensor
from tfport.frontends.lite.constants import lite_dtype
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.node_inputs import attr_value, node_inputs, type_of, typed_array
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tfport.frontends.lite.subgraph import SubgraphBuilder

MOST_NODES = 50_000
"""The nodes of one operator: an unrolled loop over thousands of steps needs fewer."""


class OperatorBuilder:
    """Adds the nodes of one operator."""

    def __init__(self, graph: SubgraphBuilder, operator: LiteOperator, scope: str) -> None:
        self.graph, self.operator, self.scope = graph, operator, scope
        self._nodes = 0

    @property
    def inputs(self) -> list[LiteTensor | None]:
        """What the file says about the inputs; None for one that is left out."""
        tensors = self.graph.record.tensors
        return [tensors[index] if index >= 0 else None for index in self.operator.inputs]

    @property
    def outputs(self) -> list[LiteTensor]:
        """What the file says about the outputs."""
        return [self.graph.record.tensors[index] for index in self.operator.outputs]

    def __getattr__(self, op: str) -> Callable[..., Node]:
        if not op[:1].isupper():
            raise AttributeError(op)
        return lambda *inputs, **attrs: self.node(op, *inputs, **attrs)

    def node(self, op: str, *inputs: Any, **attrs: Any) -> Node:
        """Add a node; inputs are tensors, values, nodes, numbers, arrays, or lists of these."""
        return self._node(op, inputs, attrs, ())

    def effect(self, op: str, *inputs: Any, **attrs: Any) -> Node:
        """Add a node that reads or changes state, after those before it in the file."""
        before = self.graph.last_effect
        node = self._node(op, inputs, attrs, () if before is None else (before,))
        self.graph.last_effect = node
        return node

    def _node(self, op: str, inputs: Sequence[Any], attrs: dict[str, Any], controls: Sequence[Node]) -> Node:
        graph = self.graph.graph
        signature = graph.signature_of(op)
        if signature is None:
            raise MalformedGraph(f"{self.operator.code.name} builds {op}, an unknown op")
        explicit: dict[str, Attr] = {n: attr_value(v, signature.attr_types[n]) for n, v in attrs.items()}
        values = node_inputs(signature, [_plain(operand) for operand in inputs], explicit, self._constant)
        return self._add(op, values, explicit, controls)

    def keep(self, place: int, value: Any) -> None:
        """Keep a new value of a variable input, by its place, for the next invocation."""
        self.graph.keep(self.operator.inputs[place], self.value(value))

    def constant(self, value: ArrayLike, dtype: DType | None = None) -> Value:
        """A constant; plain numbers without a type become int32, float32, bool or string."""
        return self._constant(value, dtype)

    def lazy_constant(self, load: Callable[[], NDArray[Any]], dtype: DType, shape: Sequence[int]) -> Value:
        """A constant whose elements are computed when they are needed, such as a rearranged weight."""
        return self.graph.lazy_constant(load, dtype, shape, f"{self.scope}/Const")

    def _constant(self, value: ArrayLike, dtype: DType | None) -> Value:
        kind = dtype or type_of(value)
        tensor = Tensor.from_numpy(np.asarray(typed_array(value, kind)), kind)
        return self._add("Const", (), {"dtype": kind, "value": tensor}).output(0)

    def _add(
        self, op: str, values: Sequence[Value], attrs: dict[str, Attr], controls: Sequence[Node] = ()
    ) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self.refuse(f"its options ask for more than {MOST_NODES:,} nodes")
        return self.graph.graph.add(op, values, attrs, name=f"{self.scope}/{op}", controls=controls)

    def function(self, number: int, *, is_condition: bool = False) -> str:
        """The name of the function that a subgraph becomes; as a condition it answers a scalar."""
        return self.graph.file.function(number, is_condition=is_condition)

    def has_effects(self, number: int) -> bool:
        """Whether a subgraph reads or changes state."""
        function = self.graph.graph.library.functions[self.function(number)]
        return bool(function.control_returns)

    def initialize(self, number: int) -> None:
        """Run a subgraph once, when the model is loaded."""
        self.graph.file.initialize(number)

    def dtype(self, name: str) -> DType:
        """The element type for a type of the schema."""
        dtype = lite_dtype(name)
        if dtype is None:
            raise self.refuse(f"the type {name} is unknown")
        return dtype

    def value(self, operand: Any) -> Value:
        """The value of a tensor or the first output of a node."""
        plain = _plain(operand)
        value: Value = plain.output(0) if isinstance(plain, Node) else plain
        return value

    def cast(self, x: Any, dtype: DType) -> Value:
        """The value in another type; itself if it has that type."""
        value = self.value(x)
        return value if value.dtype.base == dtype else self.node("Cast", value, DstT=dtype).output(0)

    def refuse(self, why: str) -> CannotRun:
        """An error for what this operator asks and tfport does not do."""
        return CannotRun(f"{self.operator.code.name} (`{self.scope}`): {why}")


def _plain(operand: Any) -> Any:
    if isinstance(operand, list | tuple):
        return [_plain(element) for element in operand]
    return operand.value if isinstance(operand, LiteValue) else operand
