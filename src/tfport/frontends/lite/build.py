"""Build the graph of a TensorFlow Lite file: operators become ops, subgraphs of control flow functions.

The operators come from `frontends.lite.ops`. If some cannot be built, the error names all of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tfport.errors import CannotRun, Error
from tfport.formats.lite.records import LiteFile, LiteTensor, Subgraph
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.lite.constants import lite_dtype
from tfport.frontends.lite.subgraph import SubgraphBuilder
from tfport.frontends.lite.variables import VariableKey, variable_types
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import CONTROL_RETURN, RETURN, Argument, Function, Graph, Node, Value
from tfport.graph.model import MAIN_OP, NameOrder
from tfport.graph.op_signature import OpTable
from tfport.graph.tensors import Tensor

SIGNATURE, PREDICT = "serving_default", "tensorflow/serving/predict"
PRODUCER = 24
"""The GraphDef version of TensorFlow 1.4: ops mean what they do now, and no op is deprecated yet."""
DEEPEST = 32
MOST_STATE = 2**30
"""The elements of a variable tensor; a file can state any shape."""


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
        self.name_orders: dict[str, NameOrder] = {}
        self._functions: dict[tuple[int, bool], str | Error] = {}
        """The names of functions that are built, or why they cannot be."""
        self._initialized: set[int] = set()
        self._depth = 0

    def build(self) -> pb.MetaGraphDef:
        """Build the graph; returns its signatures. CannotRun names all that is missing."""
        meta = pb.MetaGraphDef()
        built: dict[int, SubgraphBuilder] = {}
        for key, number, inputs, outputs in file_signatures(self.file):
            if number not in built:
                built[number] = self._main(number)
            record = self.file.subgraphs[number]
            self.name_orders[key] = NameOrder(
                _in_order(inputs, record.inputs), _in_order(outputs, record.outputs)
            )
            signature = meta.signature_def[key]
            signature.method_name = PREDICT
            for name, index in inputs.items():
                _describe(signature.inputs[name], *built[number].described(index, is_input=True))
            for name, index in outputs.items():
                _describe(signature.outputs[name], *built[number].described(index, is_input=False))
        if self.problems:
            where = f"{self.file.where}: "
            raise CannotRun(where + "; ".join(problem.removeprefix(where) for problem in self.problems))
        self._share_tables()
        if self.initializers:
            init = self.graph.add("NoOp", name="initialize", controls=self.initializers)
            meta.collection_def[MAIN_OP].node_list.value.append(init.name)
        return meta

    def _share_tables(self) -> None:
        """Let one node be a table that several subgraphs name: TensorFlow.js finds a table by its node."""
        tables: dict[Attr, Node] = {}
        for node in [node for node in self.graph if node.op == "HashTableV2"]:
            table = tables.setdefault(node.attrs["shared_name"], node)
            if table is not node:
                node.output(0).replace_by(table.output(0))
                self.graph.remove(node)

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
        points = tensor.quantization.zero_point if tensor.quantization else ()
        zero = points[0] if tensor.type == "INT8" and points else 0
        if not -128 <= zero <= 127 or math.prod(tensor.shape) > MOST_STATE:
            raise CannotRun(
                f"the state `{tensor.name}` has the zero point {zero} and the shape {tensor.dims}"
            )
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
            for position, index in enumerate(indices):
                part.add(name=f"{prefix}{position}", type=self.dtype_of(record.tensors[index]).number)
        function = Function(definition, self.graph.ops, library)
        library.functions[function.name] = function
        builder = SubgraphBuilder(self, record, function, "")
        for position, (arg, index) in enumerate(zip(definition.input_arg, record.inputs, strict=True)):
            passed = function.args[arg.name] = Argument(function, arg, position)
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
            for index, arg in enumerate(definition.input_arg):
                function.args[arg.name] = Argument(function, arg, index)
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


def file_signatures(file: LiteFile) -> Iterable[tuple[str, int, Mapping[str, int], Mapping[str, int]]]:
    """The signatures of a file; without any, the first subgraph with the names of its tensors."""
    for signature in file.signatures:
        yield signature.key or SIGNATURE, signature.subgraph, signature.inputs, signature.outputs
    if not file.signatures and file.subgraphs:
        main = file.subgraphs[0]
        yield SIGNATURE, 0, _by_name(main, main.inputs), _by_name(main, main.outputs)


def _by_name(graph: Subgraph, indices: Sequence[int]) -> dict[str, int]:
    """Tensors by their names, made unique."""
    named: dict[str, int] = {}
    for number, index in enumerate(indices):
        name = graph.tensors[index].name or f"tensor_{index}"
        named[name if name not in named else f"{name}_{number}"] = index
    return named


def _in_order(names: Mapping[str, int], indices: Sequence[int]) -> tuple[str, ...]:
    """The names of tensors in the order of the subgraph, which is the one of an interpreter's details."""
    order = {index: number for number, index in enumerate(indices)}
    return tuple(sorted(names, key=lambda name: order.get(names[name], len(order))))


def _describe(info: pb.TensorInfo, value: Value, tensor: LiteTensor) -> None:
    info.name = value.name
    info.dtype = value.dtype.base.number  # type: ignore[assignment]
    if tensor.shape or tensor.has_rank:
        for size in tensor.dims:
            info.tensor_shape.dim.add(size=-1 if size is None else size)
    else:
        info.tensor_shape.unknown_rank = True
