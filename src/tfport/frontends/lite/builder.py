"""What an operator's function uses to add nodes: its first argument, `b`.

`b.Relu(x)` and `b.node("Relu", x)` add an op of TensorFlow or of `definitions`; plain numbers become
constants of the type of the tensors beside them. Effects (assignments, tables) are added with
`b.effect`, which keeps them in the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.frontends.lite.constants import lite_dtype
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.variables import VariableKey
from tfport.graph.building.node_builder import NodeBuilder, Refusal
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FileInBuilding(Protocol):
    """What an operator and its subgraph need to know of the file around them, which `build` builds."""

    file: LiteFile
    graph: Graph
    problems: dict[str, None]

    def function(self, number: int, *, is_condition: bool = False) -> str:
        """The name of the function that a subgraph becomes."""

    def function_of_op(self, op: str, dtype: DType) -> str:
        """The name of a function that computes one op."""

    def initialize(self, number: int) -> None:
        """Run a subgraph once, when the model is loaded."""

    def reset(self, handle: Value, tensor: LiteTensor, dtype: DType) -> None:
        """Give a variable its first value, when the model is loaded."""

    def dtype_of(self, tensor: LiteTensor) -> DType:
        """The element type of a tensor."""

    @property
    def variables(self) -> dict[VariableKey, str]:
        """The types of variables, by what names them."""


class SubgraphInBuilding(Protocol):
    """What an operator needs to know of the subgraph around it, which `subgraph` builds."""

    @property
    def file(self) -> FileInBuilding: ...

    graph: Graph
    record: Subgraph
    last_effect: Node | None

    def value(self, index: int) -> LiteValue:
        """The value of a tensor."""

    def keep(self, index: int, value: Value) -> None:
        """Keep a new value of a variable tensor for the next invocation."""

    def lazy_constant(
        self, load: Callable[[], NDArray[Any]], dtype: DType, shape: Sequence[int], name: str
    ) -> Value:
        """A constant whose elements are computed when they are needed."""


class OperatorBuilder(NodeBuilder[Value]):
    """Adds the nodes of one operator."""

    MOST_NODES = 50_000  # of one operator: an unrolled loop over thousands of steps needs fewer
    TOO_MANY = "its options ask for more than"
    wrappers = (LiteValue,)

    def __init__(self, subgraph: SubgraphInBuilding, operator: LiteOperator, scope: str) -> None:
        super().__init__(subgraph.graph, scope)
        self.subgraph, self.operator, self.author = subgraph, operator, operator.code.name

    @property
    def inputs(self) -> list[LiteTensor | None]:
        """What the file says about the inputs; None for one that is left out."""
        tensors = self.subgraph.record.tensors
        return [tensors[index] if index >= 0 else None for index in self.operator.inputs]

    @property
    def outputs(self) -> list[LiteTensor]:
        """What the file says about the outputs."""
        return [self.subgraph.record.tensors[index] for index in self.operator.outputs]

    def effect(self, op: str, *inputs: Any, **attrs: Any) -> Node:
        """Add a node that reads or changes state, after those before it in the file."""
        before = self.subgraph.last_effect
        node = self._node(op, inputs, attrs, () if before is None else (before,))
        self.subgraph.last_effect = node
        return node

    def keep(self, index: int, value: Any) -> None:
        """Keep a new value of a variable input, by its index, for the next invocation."""
        self.subgraph.keep(self.operator.inputs[index], self.value(value))

    def lazy_constant(self, load: Callable[[], NDArray[Any]], dtype: DType, shape: Sequence[int]) -> Value:
        """A constant whose elements are computed when they are needed, such as a rearranged weight."""
        return self.subgraph.lazy_constant(load, dtype, shape, f"{self.scope}/Const")

    def function(self, number: int, *, is_condition: bool = False) -> str:
        """The name of the function that a subgraph becomes; as a condition it answers a scalar."""
        return self.subgraph.file.function(number, is_condition=is_condition)

    def has_effects(self, number: int) -> bool:
        """Whether a subgraph reads or changes state."""
        function = self.graph.library.functions[self.function(number)]
        return bool(function.control_returns)

    def initialize(self, number: int) -> None:
        """Run a subgraph once, when the model is loaded."""
        self.subgraph.file.initialize(number)

    def dtype(self, name: str) -> DType:
        """The element type for a type of the schema."""
        dtype = lite_dtype(name)
        if dtype is None:
            raise self.refuse(f"the type {name} is unknown")
        return dtype

    def refuse(self, why: str) -> Refusal:
        """An error for what this operator asks and tfport does not do."""
        return Refusal(f"{self.operator.code.name} (`{self.scope}`): {why}")
