"""Build one subgraph of a TensorFlow Lite file: its tensors become values, its operators nodes.

`operator_options` says which options the function of an operator gets: those of the file, and defaults.
What several subgraphs share, such as functions and initialization, is in `build`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun, Error, MalformedGraph
from tfport.formats.lite.records import CUSTOM, LiteOperator, LiteTensor, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.builder import FileInBuilding, OperatorBuilder
from tfport.frontends.lite.constants import constant_array, has_data, lite_dtype
from tfport.frontends.lite.operator import DeclaredOperator, find_operator
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]+")
MALFORMED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What Python raises where a file has inputs or options of another type than the op takes."""


class SubgraphBuilder:
    """Builds one subgraph into a graph or a function."""

    def __init__(self, file: FileInBuilding, record: Subgraph, graph: Graph, prefix: str) -> None:
        self.file, self.record, self.graph, self.prefix = file, record, graph, prefix
        self.last_effect: Node | None = None
        """The last node that reads or changes state."""
        self._values: dict[int, LiteValue] = {}
        self._states: dict[int, Value] = {}
        """The variables of tensors that keep their value from one invocation to the next."""

    def bind(self, index: int, value: Value) -> None:
        self._values[index] = LiteValue(value, self.record.tensors[index])

    def add_input(self, index: int) -> None:
        """Add a placeholder for an input of the model."""
        tensor = self.record.tensors[index]
        attrs = {"dtype": self.file.dtype_of(tensor), "shape": Shape(tensor.dims)}
        self.bind(index, self.graph.add("Placeholder", (), attrs, name=self.name_of(index)).output(0))

    def value(self, index: int) -> LiteValue:
        """The value of a tensor: an input, a constant, or what an operator computed."""
        if index not in self._values:
            tensor = self.record.tensors[index]
            if tensor.is_variable and not has_data(self.file.file, tensor):
                return self._state(index, tensor)
            if not has_data(self.file.file, tensor) and 0 not in tensor.shape:
                raise MalformedGraph(f"tensor `{tensor.name}` is read before any operator computes it")
            file, dtype = self.file.file, self.file.dtype_of(tensor)
            load = _once(lambda: constant_array(file, tensor))
            value = self.lazy_constant(load, dtype, tensor.shape, self.name_of(index))
            self._values[index] = LiteValue(value, tensor, load)
        return self._values[index]

    def _state(self, index: int, tensor: LiteTensor) -> LiteValue:
        """What a variable tensor has kept from the invocation before; at first zeros."""
        dtype = self.file.dtype_of(tensor)
        if index not in self._states:
            self._states[index] = self._handle(self.graph, index, tensor)
            self.file.reset(self._handle(self.file.graph, index, tensor), tensor, dtype)
        read = self.add_effect("ReadVariableOp", [self._states[index]], {"dtype": dtype}, self.name_of(index))
        self.bind(index, read.output(0))
        return self._values[index]

    def _handle(self, graph: Graph, index: int, tensor: LiteTensor) -> Value:
        name, dtype = self.name_of(index), self.file.dtype_of(tensor)
        attrs: dict[str, Attr] = {"dtype": dtype, "shape": Shape(tensor.dims), "shared_name": name}
        return graph.add("VarHandleOp", (), attrs, name=f"{name}/state").output(0)

    def keep(self, index: int, value: Value) -> None:
        """Keep a new value of a variable tensor for the next invocation."""
        if index in self._states:
            inputs = [self._states[index], value]
            self.add_effect(
                "AssignVariableOp", inputs, {"dtype": value.dtype.base}, f"{self.name_of(index)}/keep"
            )
        self.bind(index, value)

    def add_effect(self, op: str, inputs: Sequence[Value], attrs: dict[str, Attr], name: str) -> Node:
        """Add a node that reads or changes state, after those before it in the file."""
        controls = () if self.last_effect is None else (self.last_effect,)
        self.last_effect = self.graph.add(op, inputs, attrs, name=name, controls=controls)
        return self.last_effect

    def lazy_constant(
        self, load: Callable[[], NDArray[Any]], dtype: DType, shape: Sequence[int], name: str
    ) -> Value:
        """A constant whose elements are read when they are needed."""
        tensor = Tensor(dtype, Shape(tuple(shape)), load=load)
        return self.graph.add("Const", (), {"dtype": dtype, "value": tensor}, name=name).output(0)

    def scalar(self, value: Value) -> Value:
        """The only element of a tensor."""
        shape = self.lazy_constant(lambda: np.zeros(0, np.int32), INT32, (0,), "scalar/shape")
        attrs: dict[str, Attr] = {"T": value.dtype.base, "Tshape": INT32}
        return self.graph.add("Reshape", [value, shape], attrs, name="scalar").output(0)

    def name_of(self, index: int) -> str:
        """A name for a node, from the name of a tensor."""
        name = NOT_IN_NAMES.sub("_", self.record.tensors[index].name).strip("_/")
        return self.prefix + (name if name[:1].isalnum() else f"tensor_{index}{name and '_'}{name}")

    def described(self, index: int, *, is_input: bool) -> tuple[Value, LiteTensor]:
        """The value of an input or output of a signature, after all effects."""
        tensor = self.record.tensors[index]
        try:
            value = self.value(index).value
        except Error as error:
            self.file.problems[str(error)] = None
            value = self._unknown(tensor)
        if self.last_effect is not None and not is_input:
            name, controls = f"{self.name_of(index)}/output", [self.last_effect]
            value = self.graph.add(
                "Identity", [value], {"T": value.dtype}, name=name, controls=controls
            ).output(0)
        return value, tensor

    def add_operators(self) -> None:
        """Add all operators; those that cannot be built are among the problems, and their outputs unknown."""
        for operator in self.record.operators:
            try:
                results = self._build(operator)
            except Error as error:
                self.file.problems[str(error)] = None
                results = [self._unknown(self.record.tensors[index]) for index in operator.outputs]
            for index, value in zip(operator.outputs, results, strict=True):
                if index >= 0:
                    self.bind(index, value)

    def _unknown(self, tensor: LiteTensor) -> Value:
        """A stand-in for what cannot be built, so that the rest can."""
        attrs: dict[str, Attr] = {"dtype": lite_dtype(tensor.type) or FLOAT32}
        return self.graph.add("Placeholder", (), attrs).output(0)

    def _build(self, operator: LiteOperator) -> list[Value]:
        declared = find_operator(operator, self.record, self.graph.ops)
        if declared is None:
            raise CannotRun(self._missing(operator))
        first = next((index for index in operator.outputs if index >= 0), None)
        scope = self.name_of(first) if first is not None else f"{self.prefix}{operator.code.name}"
        b = OperatorBuilder(self, operator, scope)
        inputs = [self.value(index) if index >= 0 else None for index in operator.inputs]
        options = operator_options(b, declared)
        try:
            result = declared.function(b, *inputs, **options)
        except MALFORMED as error:
            raise b.refuse(f"its inputs or options are not those of this op: {error}") from error
        values = list(_flat(result))
        if len(values) != len(operator.outputs):
            raise b.refuse(f"it has {len(operator.outputs)} outputs; expected {len(values)}")
        for value, index in zip(values, operator.outputs, strict=True):
            if index >= 0:
                self._record_shape(value, self.record.tensors[index])
        return values

    def _record_shape(self, value: Value, tensor: LiteTensor) -> None:
        """Keep the rank that the file states, for ops whose own shapes are unknown."""
        if tensor.shape:
            self.graph.stated_shapes.setdefault(value, Shape(tensor.dims))

    def _missing(self, operator: LiteOperator) -> str:
        types = [self.record.tensors[i].type.lower() for i in operator.inputs if i >= 0]
        prefix = "the custom op " if operator.code.op == CUSTOM else ""
        return f"{prefix}{operator.code.name} for {', '.join(types) or 'no inputs'} is not supported"


def _flat(result: Any) -> Iterable[Value]:
    if result is None:
        return
    if isinstance(result, list | tuple):
        for part in result:
            yield from _flat(part)
    elif isinstance(result, Node):
        yield result.output(0)
    else:
        yield result.value if isinstance(result, LiteValue) else result


def _once(load: Callable[[], NDArray[Any]]) -> Callable[[], NDArray[Any]]:
    """The same array at each call: a view of the file, or loaded once."""
    arrays: list[NDArray[Any]] = []

    def loaded() -> NDArray[Any]:
        if not arrays:
            arrays.append(load())
        return arrays[0]

    return loaded


def operator_options(b: OperatorBuilder, declared: DeclaredOperator) -> dict[str, Any]:
    """The options that a function takes; CannotRun if the operator has another one that matters."""
    operator = b.operator
    if operator.code.op == CUSTOM:
        if not declared.options:  # they may be of any format
            return {}
        from tfport.formats.lite.flexbuffer import custom_options

        stored = {**declared.options, **custom_options(operator.custom_options)}
        if missing := [name for name in declared.options if stored[name] is Parameter.empty]:
            raise b.refuse(f"it has no option {' and no '.join(missing)}")
        return {name: stored[name] for name in declared.options}
    defaults = {field.name: field.default for field in lite_schema().tables.get(operator.options_type, ())}
    for name, value in operator.options.items():
        if name not in declared.options and value != defaults.get(name):
            raise b.refuse(f"its option {name}={value} is not supported")
    stated = {name: value for name, value in declared.options.items() if value is not Parameter.empty}
    options = {**_usual_defaults(), **stated, **defaults, **operator.options}
    return _grouped({name: options[name] for name in declared.options}, declared.groups)


def _grouped(options: dict[str, Any], groups: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Options that belong to a group become one object."""
    objects = {
        name: group(**{f.name: options[f.name] for f in fields(group)}) for name, group in groups.items()
    }
    inside = {f.name for group in groups.values() for f in fields(group)}
    return {name: value for name, value in options.items() if name not in inside} | objects


@functools.cache
def _usual_defaults() -> Mapping[str, Any]:
    """The defaults of options by name, for a file that leaves out the table: they agree between tables."""
    tables = lite_schema().tables.items()
    return {
        field.name: field.default for name, table in tables if name.endswith("Options") for field in table
    }
