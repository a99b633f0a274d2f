"""The program of an XlaCallModule node as a function: the arguments that TensorFlow adds, and its results.

The node passes its inputs; TensorFlow adds the number of the platform and the sizes that
`dim_args_spec` names (`input.axis`). `function_list` are functions of the model that the program calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun, RunFailed, UnreadableFile
from tfport.formats.stablehlo.vhlo import TensorType, read_vhlo
from tfport.frontends.stablehlo.nodes import HloNodes
from tfport.frontends.stablehlo.program import ProgramBuilder
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.building.node_builder import Dims
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Graph
from tfport.graph.shapes import Shape

MAIN = "main"
PLATFORM = "CPU"


class CalledModule:
    """The module of one node, read and ready to be translated into a graph's library."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        attrs: Mapping[str, Attr],
        **options: Any,
    ) -> None:
        """`options`: those of `ProgramBuilder`."""
        self.attrs: Mapping[str, Any] = attrs
        if attrs.get("has_token_input_output"):
            raise CannotRun("it passes tokens, which order effects")
        module = self.attrs["module"]
        raw = module.encode() if isinstance(module, str) else bytes(module)
        self.program = ProgramBuilder(
            graph,
            name.rpartition("/")[2],
            read_vhlo(raw, f"the module of `{name}`"),
            [ref for ref in self.attrs.get("function_list") or [] if isinstance(ref, FunctionRef)],
            **options,
        )
        if MAIN not in self.program.functions:
            raise UnreadableFile(f"the module has no function {MAIN}")

    def function(
        self, inputs: Sequence[tuple[DType, Dims | None]], *, checks_shapes: bool = False
    ) -> Function:
        """A function of the node's inputs: types and shapes as far as they are known.

        `checks_shapes`: whether sizes that the program states and the graph does not are checked at run time.
        """
        main = self.program.functions[MAIN]
        extra = list(self._extra_arguments(len(main.args) - len(inputs)))
        if len(main.args) != len(inputs) + len(extra):
            raise RunFailed(f"its program takes {len(main.args)} tensors, found {len(inputs)}")
        types = main.types[len(extra) :]
        for index, ((dtype, dims), stated) in enumerate(zip(inputs, types, strict=True)):
            if dtype != element_type(stated.element):
                raise CannotRun(
                    f"its input {index} is {dtype}, its program takes {element_type(stated.element)}"
                )
            if not _fits(dims, stated.shape):
                raise RunFailed(
                    f"its input {index} has shape {Shape(dims)}, its program takes {Shape(stated.shape)}"
                )

        def body(op: HloNodes, passed: list[HloTensor]) -> list[Any]:
            if checks_shapes:
                passed = [
                    _checked(op, x, dims, stated.shape)
                    for x, (_, dims), stated in zip(passed, inputs, types, strict=True)
                ]
            before = [
                _extra(op, what, tensor_type, passed)
                for what, tensor_type in zip(extra, main.types, strict=False)
            ]
            results = self.program.call(op, MAIN, [*before, *passed])
            return [_as_declared(op, x, dtype) for x, dtype in zip(results, self.attrs["Tout"], strict=True)]

        merged = [_merged(stated, dims) for stated, (_, dims) in zip(types, inputs, strict=True)]
        return self.program.function(MAIN, merged, body)

    def _extra_arguments(self, count: int) -> Iterator[str]:
        """The arguments that TensorFlow adds: the number of the platform, and sizes (`input.axis`)."""
        platforms = [name.upper() for name in _texts(self.attrs.get("platforms"))]
        sizes = _texts(self.attrs.get("dim_args_spec"))
        if len(platforms) > 1 and count == len(sizes) + 1:
            yield str(platforms.index(PLATFORM) if PLATFORM in platforms else 0)
        yield from sizes


def _texts(values: Any) -> list[str]:
    return [str(value.decode() if isinstance(value, bytes) else value) for value in values or ()]


def _fits(dims: Dims | None, stated: Dims) -> bool:
    if dims is None:
        return True
    return len(dims) == len(stated) and all(
        a is None or b is None or a == b for a, b in zip(dims, stated, strict=True)
    )


def _merged(stated: TensorType, dims: Dims | None) -> TensorType:
    """The type of an argument with the sizes that the graph states."""
    if dims is None or len(dims) != len(stated.shape):
        return stated
    sizes = tuple(b if a is None else a for a, b in zip(stated.shape, dims, strict=True))
    return TensorType(stated.element, sizes)


def _checked(op: HloNodes, x: HloTensor, dims: Dims | None, stated: Dims) -> HloTensor:
    """An input with the sizes that its program states, if the graph does not."""
    if dims is not None and all(a is not None or b is None for a, b in zip(dims, stated, strict=True)):
        return x
    return op.tensor(op.EnsureShape(x.value, shape=Shape(stated)), x.dims)


def _extra(op: HloNodes, what: str, tensor_type: TensorType, passed: Sequence[HloTensor]) -> HloTensor:
    index, _, axis = what.partition(".")
    if not axis:
        return op.known(np.array(int(index), tensor_type.element))
    size = op.dims_of(passed[int(index)])[int(axis)]
    if isinstance(size, int):
        return op.known(np.array(size, tensor_type.element))
    return op.tensor(op.Cast(size, DstT=element_type(tensor_type.element)), ())


def _as_declared(op: HloNodes, result: Any, dtype: DType) -> HloTensor:
    """A result in the type that the node declares; an argument is returned through an Identity."""
    if not isinstance(result, HloTensor) or result.dtype != dtype:
        raise CannotRun(f"its program does not return {dtype} as the node declares")
    if result.value.node.op == "_Arg":
        return op.tensor(op.Identity(result.value), result.dims)
    return result
