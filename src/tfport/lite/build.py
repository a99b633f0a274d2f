"""Build the graph of a TensorFlow Lite file: operators become ops, subgraphs of control flow functions.

The operators come from `lite.ops`. If some cannot be built, the error names all of them.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun, Error, MalformedGraph
from tfport.formats.lite.records import CUSTOM, LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Node, Value
from tfport.graph.model import MAIN_OP
from tfport.graph.op_signature import OpTable
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.lite.builder import OperatorBuilder
from tfport.lite.constants import constant_array, has_data
from tfport.lite.dtypes import lite_dtype
from tfport.lite.operator import DeclaredOperator, find_operator
from tfport.lite.tensor import LiteValue
from tfport.lite.variables import VariableKey, variable_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNATURE, PREDICT = "serving_default", "tensorflow/serving/predict"
PRODUCER = 24
"""The GraphDef version of TensorFlow 1.4: ops mean what they do now, and no op is deprecated yet."""
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]+")
DEEPEST = 32
MALFORMED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What Python raises where a file has inputs or options of another kind than the op takes."""


class FileBuilder:
    """Builds all subgraphs that the signatures need."""

    def __init__(self, file: LiteFile, ops: OpTable) -> None:
        self.file = file
        self.graph = Graph(ops)
        self.graph.rest.versions.producer = PRODUCER
        self.problems: dict[str, None] = {}
        """What cannot be built, each once."""
        self.initializers: list[Node] = []
        """Nodes that run when the model is loaded."""
        self._functions: dict[tuple[int, bool], str | Error] = {}
        """The names of functions that are built, or why they cannot be."""
        self._initialized: set[int] = set()
        self._depth = 0

    def build(self) -> pb.MetaGraphDef:
        """Build the graph; returns its signatures. CannotRun names all that is missing."""
        meta = pb.MetaGraphDef()
        built: dict[int, SubgraphBuilder] = {}
        for key, number, inputs, outputs in self._signatures():
            if number not in built:
                built[number] = self._main(number)
            signature = meta.signature_def[key]
            signature.method_name = PREDICT
            for name, index in inputs.items():
                _describe(signature.inputs[name], *built[number].described(index, is_input=True))
            for name, index in outputs.items():
                _describe(signature.outputs[name], *built[number].described(index, is_input=False))
        if self.problems:
            raise CannotRun(f"{self.file.where}: " + "; ".join(self.problems))
        if self.initializers:
            init = self.graph.add("NoOp", name="initialize", controls=self.initializers)
            meta.collection_def[MAIN_OP].node_list.value.append(init.name)
        return meta

    def _signatures(self) -> Iterable[tuple[str, int, Mapping[str, int], Mapping[str, int]]]:
        """The signatures of the file; without any, the first subgraph with the names of its tensors."""
        for signature in self.file.signatures:
            yield signature.key or SIGNATURE, signature.subgraph, signature.inputs, signature.outputs
        if not self.file.signatures and self.file.subgraphs:
            main = self.file.subgraphs[0]
            yield SIGNATURE, 0, _by_name(main, main.inputs), _by_name(main, main.outputs)

    def _main(self, number: int) -> SubgraphBuilder:
        record = self.file.subgraphs[number]
        builder = SubgraphBuilder(self, record, self.graph, f"subgraph_{number}/" if number else "")
        for index in record.inputs:
            builder.add_input(index)
        builder.add_operators()
        return builder

    def initialize(self, number: int) -> None:
        """Build a subgraph whose effects happen once, when the model is loaded."""
        if number in self._initialized:
            return
        self._check_number(number)
        self._initialized.add(number)
        builder = SubgraphBuilder(self, self.file.subgraphs[number], self.graph, f"subgraph_{number}/")
        builder.add_operators()
        if builder.last_effect is not None:
            self.initializers.append(builder.last_effect)

    def reset(self, handle: Value, tensor: LiteTensor, dtype: DType) -> None:
        """Give a variable tensor zeros when the model is loaded."""
        quantization = tensor.quantization
        zero = quantization.zero_point[0] if tensor.type == "INT8" and quantization else 0
        start = Tensor.from_numpy(np.full(tensor.shape, zero, dtype.numpy), dtype)
        value = self.graph.add("Const", (), {"dtype": dtype, "value": start}, name="state/Const").output(0)
        attrs: dict[str, Attr] = {"dtype": dtype}
        self.initializers.append(
            self.graph.add("AssignVariableOp", [handle, value], attrs, name="state/reset")
        )

    def function(self, number: int, *, is_condition: bool = False) -> str:
        """The name of the function of a subgraph, which is built at its first use.

        As a condition it answers a scalar: TensorFlow takes any other tensor for true if it is not empty.
        """
        key = number, is_condition
        if key not in self._functions:
            self._check_number(number)
            if self._depth > DEEPEST:
                raise CannotRun(f"subgraphs are nested deeper than {DEEPEST}")
            self._functions[key] = CannotRun(f"subgraph {number} calls itself")
            self._depth += 1
            try:
                self._functions[key] = self._build_function(number, is_condition).name
            except Error as error:
                self._functions[key] = error
            finally:
                self._depth -= 1
        built = self._functions[key]
        if isinstance(built, Error):
            raise built
        return built

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self.file.subgraphs):
            raise CannotRun(f"there is no subgraph {number}")

    @functools.cached_property
    def variables(self) -> dict[VariableKey, str]:
        """The types of the variables."""
        return variable_types(self.file)

    def _build_function(self, number: int, is_condition: bool) -> Function:
        record, library = self.file.subgraphs[number], self.graph.library
        definition = graph_pb2.OpDef(name=f"{'condition' if is_condition else 'subgraph'}_{number}")
        for part, prefix, indices in (
            (definition.input_arg, "x", record.inputs),
            (definition.output_arg, "y", record.outputs),
        ):
            for place, index in enumerate(indices):
                part.add(name=f"{prefix}{place}", type=self.dtype_of(record.tensors[index]).number)
        function = Function(definition, self.graph.ops, library)
        library.functions[function.name] = function
        builder = SubgraphBuilder(self, record, function, "")
        for place, (arg, index) in enumerate(zip(definition.input_arg, record.inputs, strict=True)):
            passed = function.args[arg.name] = Argument(function, arg, place)
            builder.bind(index, passed.output(0))
        builder.add_operators()
        for arg, index in zip(definition.output_arg, record.outputs, strict=True):
            node = function.returns[arg.name] = Node(function, arg.name, RETURN)
            value = builder.value(index).value
            node.set_inputs([builder.scalar(value) if is_condition else value])
        if builder.last_effect is not None:
            node = function.control_returns["effects"] = Node(function, "effects", CONTROL_RETURN)
            node.set_controls([builder.last_effect])
        return function

    def function_of_op(self, op: str, dtype: DType) -> str:
        """The name of a function that computes an op of two scalars."""
        library, name = self.graph.library, f"{op}_{dtype}"
        if name not in library.functions:
            definition = graph_pb2.OpDef(name=name)
            for letter in ("x", "y"):
                definition.input_arg.add(name=letter, type=dtype.number)
            definition.output_arg.add(name="z", type=dtype.number)
            function = library.functions[name] = Function(definition, self.graph.ops, library)
            for place, arg in enumerate(definition.input_arg):
                function.args[arg.name] = Argument(function, arg, place)
            signature = self.graph.signature_of(op)
            attrs: dict[str, Attr] = {"T": dtype} if signature and "T" in signature.attr_types else {}
            result = function.add(op, [passed.output(0) for passed in function.args.values()], attrs)
            node = function.returns["z"] = Node(function, "z", RETURN)
            node.set_inputs([result.output(0)])
        return name

    def dtype_of(self, tensor: LiteTensor) -> DType:
        """The element type of a tensor; CannotRun for one that tfport does not know."""
        dtype = lite_dtype(tensor.type)
        if dtype is None:
            raise CannotRun(f"tensor `{tensor.name}` has the unknown type {tensor.type}")
        return dtype


class SubgraphBuilder:
    """Builds one subgraph into a graph or a function."""

    def __init__(self, file: FileBuilder, record: Subgraph, graph: Graph, prefix: str) -> None:
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
        options = _options(b, declared)
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
        kinds = [self.record.tensors[i].type.lower() for i in operator.inputs if i >= 0]
        kind = "the custom op " if operator.code.op == CUSTOM else ""
        return f"{kind}{operator.code.name} for {', '.join(kinds) or 'no inputs'} is not supported"


def _options(b: OperatorBuilder, declared: DeclaredOperator) -> dict[str, Any]:
    """The options that a function takes; CannotRun if the operator has another one that matters."""
    operator = b.operator
    if operator.code.op == CUSTOM:
        if not declared.options:  # they may be of any format
            return {}
        from tfport.formats.lite.flexbuffer import custom_options

        stored = {**declared.options, **custom_options(operator.custom_options)}
        if missing := [name for name in declared.options if stored[name] is inspect.Parameter.empty]:
            raise b.refuse(f"it has no option {' and no '.join(missing)}")
        return {name: stored[name] for name in declared.options}
    defaults = {field.name: field.default for field in lite_schema().tables.get(operator.options_type, ())}
    for name, value in operator.options.items():
        if name not in declared.options and value != defaults.get(name):
            raise b.refuse(f"its option {name}={value} is not supported")
    stated = {name: value for name, value in declared.options.items() if value is not Parameter.empty}
    options = {**_usual_defaults(), **stated, **defaults, **operator.options}
    return {name: options[name] for name in declared.options}


@functools.cache
def _usual_defaults() -> Mapping[str, Any]:
    """The defaults of options by name, for a file that leaves out the table: they agree between tables."""
    tables = lite_schema().tables.items()
    return {
        field.name: field.default for name, table in tables if name.endswith("Options") for field in table
    }


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
    """The same array at each call: a view of the file, or made once."""
    made: list[NDArray[Any]] = []

    def loaded() -> NDArray[Any]:
        if not made:
            made.append(load())
        return made[0]

    return loaded


def _by_name(graph: Subgraph, indices: Sequence[int]) -> dict[str, int]:
    """Tensors by their names, made unique."""
    named: dict[str, int] = {}
    for place, index in enumerate(indices):
        name = graph.tensors[index].name or f"tensor_{index}"
        named[name if name not in named else f"{name}_{place}"] = index
    return named


def _describe(info: pb.TensorInfo, value: Value, tensor: LiteTensor) -> None:
    info.name = value.name
    info.dtype = value.dtype.base.number  # type: ignore[assignment]
    if tensor.shape or tensor.has_rank:
        for size in tensor.dims:
            info.tensor_shape.dim.add(size=-1 if size is None else size)
    else:
        info.tensor_shape.unknown_rank = True
