"""Write records as a TensorFlow Lite file.

A flatbuffer has less than 2 GB: constants of larger files follow it, and the flatbuffer has their offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.formats.lite.flatbuffer import LARGEST, FlatbufferWriter
from tfport.formats.lite.packed import with_packed
from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.signature import IDENTIFIER

OLD_CODES = 127
"""The largest number of the field that older interpreters read; it stands for larger ones there."""


LARGE = 1024
"""Buffers of at least this many bytes may be outside of the flatbuffer."""
ALIGNMENT = 16
PLACEHOLDER = 2
"""The smallest offset of a buffer that is outside."""


def lite_bytes(file: LiteFile, largest: int = LARGEST // 2) -> bytes:
    """The file that says what the records say, with its constants outside if it is larger than `largest`."""
    return with_packed(_with_constants(file, largest), file.packed())


def _with_constants(file: LiteFile, largest: int) -> bytes:
    if sum(len(data) for data in file.buffers) <= largest:
        return _flatbuffer(file, {})
    inside = {buffer for _, buffer in file.metadata}
    outside = [i for i, data in enumerate(file.buffers) if len(data) >= LARGE and i not in inside]
    end = len(_flatbuffer(file, dict.fromkeys(outside, PLACEHOLDER)))
    offsets, parts = {}, []
    for number in outside:
        data = file.buffers[number]
        offsets[number] = end + -end % ALIGNMENT
        parts += [bytes(-end % ALIGNMENT), data]
        end = offsets[number] + len(data)
    return b"".join([_flatbuffer(file, offsets), *parts])


def _flatbuffer(file: LiteFile, outside: Mapping[int, int]) -> bytes:
    """The flatbuffer, with the offsets of buffers outside; codes that the list lacks are added."""
    codes = list(
        dict.fromkeys([*file.operator_codes, *(o.code for g in file.subgraphs for o in g.operators)])
    )
    root = {
        "version": file.version,
        "description": file.description or None,
        "operator_codes": [_code(code) for code in codes],
        "subgraphs": [_subgraph(graph, codes) for graph in file.subgraphs],
        "buffers": [_buffer(data, outside.get(i)) for i, data in enumerate(file.buffers)],
        "metadata": [{"name": name, "buffer": buffer} for name, buffer in file.metadata] or None,
        "signature_defs": [
            {
                "inputs": [{"name": n, "tensor_index": i} for n, i in signature.inputs.items()],
                "outputs": [{"name": n, "tensor_index": i} for n, i in signature.outputs.items()],
                "signature_key": signature.key,
                "subgraph_index": signature.subgraph,
            }
            for signature in file.signatures
        ] or None,
        "external_buffer_groups": list(file.external_buffer_groups) or None,
        "external_buffers": list(file.external_buffers) or None,
    }  # fmt: skip
    return FlatbufferWriter(lite_schema()).file("Model", root, IDENTIFIER)


def _buffer(data: bytes | memoryview, index: int | None) -> dict[str, Any]:
    if index is not None:
        return {"offset": index, "size": len(data)}
    return {"data": data} if len(data) else {}


def _code(code: OperatorCode) -> dict[str, Any]:
    return {
        "deprecated_builtin_code": min(code.number, OLD_CODES),
        "custom_code": code.custom or None,
        "version": code.version,
        "builtin_code": code.number,
    }


def _subgraph(graph: Subgraph, codes: Sequence[OperatorCode]) -> dict[str, Any]:
    numbers = {code: number for number, code in enumerate(codes)}
    return {
        "tensors": [_tensor(tensor) for tensor in graph.tensors],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "operators": [_operator(operator, numbers[operator.code]) for operator in graph.operators],
        "name": graph.name or None,
        "debug_metadata_index": graph.debug_metadata_index,
    }


def _tensor(tensor: LiteTensor) -> dict[str, Any]:
    dtype = tensor.type.removeprefix("TYPE_")
    return {
        "shape": tensor.shape,
        "type": int(dtype) if dtype.removeprefix("-").isdigit() else dtype,
        "buffer": tensor.buffer,
        "name": tensor.name,
        "quantization": _quantization(tensor),
        "is_variable": tensor.is_variable,
        "sparsity": tensor.sparsity,
        "shape_signature": tensor.shape_signature or None,
        "has_rank": tensor.has_rank,
        "variant_tensors": list(tensor.variant_tensors) or None,
        "external_buffer": tensor.external_buffer,
    }


def _quantization(tensor: LiteTensor) -> dict[str, Any] | None:
    stored = tensor.quantization
    if stored is None:
        return None
    return {
        "min": stored.minimum or None,
        "max": stored.maximum or None,
        "scale": stored.scale or None,
        "zero_point": stored.zero_point or None,
        "details_type": stored.details_type or 0,
        "details": stored.details if stored.details_type else None,
        "quantized_dimension": stored.axis,
    }


def _operator(operator: LiteOperator, code: int) -> dict[str, Any]:
    second = operator.options_type in lite_schema().unions["BuiltinOptions2"]
    key = "builtin_options_2" if second else "builtin_options"
    return {
        "opcode_index": code,
        "inputs": operator.inputs,
        "outputs": operator.outputs,
        f"{key}_type": operator.options_type or 0,
        key: operator.options if operator.options_type else None,
        "custom_options": operator.custom_options if len(operator.custom_options) else None,
        "mutating_variable_inputs": operator.mutating_variable_inputs or None,
        "intermediates": operator.intermediates or None,
        "debug_metadata_index": operator.debug_metadata_index,
    }
