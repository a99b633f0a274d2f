"""Files of several operators, for cases of control flow and state.

    lite_file(
        graph("x -> y", op("WHILE", "x", "y", cond_subgraph_index=1, body_subgraph_index=2), x="INT32 2"),
        graph("x -> y", op("LESS", "x limit", "y"), x="INT32 2", y="BOOL", limit=i32(9)),
        …
    )

Each tensor is a type with sizes (`?`: not known before the run), or the elements of a constant.
Of a quantized tensor, only the type and shape of the elements count unless it is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.frontends.lite.cases import TYPES, LiteCase, LiteInput, tensor_bytes

from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema


@dataclass
class GraphText:
    """A subgraph by the names of its tensors."""

    ends: str
    operators: tuple[tuple[str, str, str, dict[str, Any], str], ...]
    tensors: dict[str, Any]


def op(op: str, inputs: str, outputs: str, custom_options: bytes = b"", **options: Any) -> Any:
    """An operator with the names of its inputs and outputs; one that the schema does not have is custom."""
    return op, inputs, outputs, options, custom_options


def graph(ends: str, *operators: Any, **tensors: Any) -> GraphText:
    """A subgraph: `inputs -> outputs`, its operators and its tensors."""
    return GraphText(ends, operators, tensors)


def lite_file(*graphs: GraphText) -> LiteFile:
    """A file of these subgraphs."""
    buffers: list[Any] = [b""]
    subgraphs = [_subgraph(text, buffers) for text in graphs]
    return LiteFile("case", 3, "", [], subgraphs, [], buffers, [])


def _subgraph(text: GraphText, buffers: list[Any]) -> Subgraph:
    tensors = [_tensor(name, value, buffers) for name, value in text.tensors.items()]
    places = {name: place for place, name in enumerate(text.tensors)}
    inputs, outputs = (tuple(places[n] for n in names.split()) for names in text.ends.split("->"))
    operators = [
        LiteOperator(
            _code(name),
            tuple(places.get(n, -1) for n in ins.split()),
            tuple(places[n] for n in outs.split()),
            options,
            LiteCase(name, [], options, [])._options_type() if options else "",
            custom_options,
        )
        for name, ins, outs, options, custom_options in text.operators
    ]
    return Subgraph("", tensors, operators, inputs, outputs)


def _code(name: str) -> OperatorCode:
    numbers = lite_schema().enums["BuiltinOperator"].numbers
    if name in numbers:
        return OperatorCode(name, numbers[name])
    return OperatorCode("CUSTOM", numbers["CUSTOM"], 1, name)


def _tensor(name: str, value: Any, buffers: list[Any]) -> LiteTensor:
    if isinstance(value, str):
        kind, *sizes = value.split()
        shape = tuple(int(size) if size != "?" else 1 for size in sizes)
        stated = tuple(int(size) if size != "?" else -1 for size in sizes) if "?" in sizes else ()
        return LiteTensor(name, kind, shape, 0, has_rank=True, shape_signature=stated)
    if isinstance(value, LiteInput):
        record = value.record
        if value.constant:
            buffers.append(tensor_bytes(value.array, record.type))
        place = len(buffers) - 1 if value.constant else 0
        return LiteTensor(
            name, record.type, record.shape, place, record.quantization, has_rank=not value.constant
        )
    buffers.append(tensor_bytes(value, kind := TYPES[str(value.dtype)]))
    return LiteTensor(name, kind, value.shape, len(buffers) - 1)
