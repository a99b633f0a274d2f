"""Read a TensorFlow Lite file into records. Constant data is not read, only located."""

from __future__ import annotations

from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.files import Files
from tfport.formats.lite.flatbuffer import Fields, FlatbufferReader
from tfport.formats.lite.packed import packed_files
from tfport.formats.lite.records import (
    NO_TENSOR,
    LiteFile,
    LiteOperator,
    LiteSignature,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)
from tfport.formats.lite.schema import Schema, lite_schema

OUTSIDE = 1
"""A buffer with a larger offset is outside of the flatbuffer, at this offset in the file."""
CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
"""What converters put between the inputs and outputs of a file and a quantized network."""


def read_lite(files: Files, name: str) -> LiteFile:
    """Read the file with this name."""
    return _Reader(files.map(name), files.label(name), files).read()


class _Reader:
    def __init__(self, data: memoryview, where: str, files: Files) -> None:
        self.data, self.where, self.files = data, where, files
        self.schema: Schema = lite_schema()
        self.tables = FlatbufferReader(data, self.schema, where)

    def read(self) -> LiteFile:
        root = self.tables.root("Model")
        codes = [self._code(fields) for fields in root.get("operator_codes", ())]
        buffers = [self._buffer(fields) for fields in root.get("buffers", ())]
        file = LiteFile(
            self.where,
            root.get("version", 0),
            root.get("description", ""),
            codes,
            [self._subgraph(fields, codes) for fields in root.get("subgraphs", ())],
            [_signature(fields) for fields in root.get("signature_defs", ())],
            buffers,
            [(fields.get("name", ""), fields.get("buffer", 0)) for fields in root.get("metadata", ())],
            size=len(self.data),
            external_buffer_groups=tuple(root.get("external_buffer_groups", ())),
            external_buffers=tuple(root.get("external_buffers", ())),
            external=self.files.map,
            outside=frozenset(
                i for i, b in enumerate(root.get("buffers", ())) if b.get("offset", 0) > OUTSIDE
            ),
            packed=lambda: packed_files(self.data),
            unknown_fields=tuple(dict.fromkeys(self.tables.unknown_fields)),
        )
        self._check(file)
        for signature in file.signatures:
            _move_to_ends(signature, file.subgraphs[signature.subgraph])
        return file

    def _code(self, fields: Fields) -> OperatorCode:
        enum = self.schema.enums["BuiltinOperator"]
        named: Any = fields.get("builtin_code", 0)
        number = max(
            enum.numbers[named] if isinstance(named, str) else named, fields.get("deprecated_builtin_code", 0)
        )
        op = enum.names.get(number, f"BUILTIN_{number}")
        return OperatorCode(op, number, fields.get("version", 1), fields.get("custom_code", ""))

    def _buffer(self, fields: Fields) -> bytes | memoryview:
        offset, size = fields.get("offset", 0), fields.get("size", 0)
        return self._outside(offset, size) if offset > OUTSIDE else fields.get("data", b"")

    def _outside(self, offset: int, size: int) -> memoryview:
        if offset + size > len(self.data):
            raise self.tables.damaged(offset, f"{size:,} bytes of data end after the file")
        return self.data[offset : offset + size]

    def _subgraph(self, fields: Fields, codes: list[OperatorCode]) -> Subgraph:
        return Subgraph(
            fields.get("name", ""),
            [self._tensor(tensor) for tensor in fields.get("tensors", ())],
            [self._operator(operator, codes) for operator in fields.get("operators", ())],
            fields.get("inputs", ()),
            fields.get("outputs", ()),
            fields.get("debug_metadata_index", -1),
        )

    def _tensor(self, fields: Fields) -> LiteTensor:
        dtype = fields.get("type", "FLOAT32")
        return LiteTensor(
            fields.get("name", ""),
            dtype if isinstance(dtype, str) else f"TYPE_{dtype}",
            fields.get("shape", ()),
            fields.get("buffer", 0),
            _quantization(fields.get("quantization")),
            fields.get("is_variable", False),
            fields.get("shape_signature", ()),
            fields.get("has_rank", False),
            fields.get("sparsity"),
            tuple(fields.get("variant_tensors", ())),
            fields.get("external_buffer", 0),
        )

    def _operator(self, fields: Fields, codes: list[OperatorCode]) -> LiteOperator:
        index = fields.get("opcode_index", 0)
        if index >= len(codes):
            raise self._wrong(f"an operator has the code {index}; the file has {len(codes)} codes")
        second = "builtin_options_2" in fields
        key = "builtin_options_2" if second else "builtin_options"
        custom: bytes | memoryview = fields.get("custom_options", b"")
        if (offset := fields.get("large_custom_options_offset", 0)) > OUTSIDE:
            custom = self._outside(offset, fields.get("large_custom_options_size", 0))
        options_type = fields.get(f"{key}_type", "")
        return LiteOperator(
            codes[index],
            fields.get("inputs", ()),
            fields.get("outputs", ()),
            fields.get(key, {}),
            options_type if isinstance(options_type, str) else "",
            custom,
            fields.get("intermediates", ()),
            fields.get("mutating_variable_inputs", ()),
            fields.get("debug_metadata_index", -1),
        )

    def _check(self, file: LiteFile) -> None:
        """Raise an error if an index refers to nothing."""
        for number, graph in enumerate(file.subgraphs):
            count = len(graph.tensors)
            for operator in graph.operators:
                indices = (*operator.inputs, *operator.outputs, *operator.intermediates)
                if wrong := [i for i in indices if not NO_TENSOR <= i < count]:
                    name = operator.code.name
                    raise self._wrong(f"{name} in subgraph {number} uses tensor {wrong[0]}, of {count}")
            if wrong := [i for i in (*graph.inputs, *graph.outputs) if not 0 <= i < count]:
                raise self._wrong(
                    f"subgraph {number} has tensor {wrong[0]} as input or output, of {count} tensors"
                )
            for tensor in graph.tensors:
                if tensor.buffer >= max(1, len(file.buffers)):
                    raise self._wrong(
                        f"tensor `{tensor.name}` has buffer {tensor.buffer}, of {len(file.buffers)}"
                    )
                if any(size < 0 for size in tensor.shape):
                    raise self._wrong(f"tensor `{tensor.name}` has the shape {list(tensor.shape)}")
        for signature in file.signatures:
            if signature.subgraph >= len(file.subgraphs):
                raise self._wrong(f"signature `{signature.key}` is of subgraph {signature.subgraph}")
            tensors = len(file.subgraphs[signature.subgraph].tensors)
            if wrong := [
                i for i in (*signature.inputs.values(), *signature.outputs.values()) if i >= tensors
            ]:
                raise self._wrong(f"signature `{signature.key}` uses tensor {wrong[0]}, of {tensors}")

    def _wrong(self, why: str) -> UnreadableFile:
        return UnreadableFile(
            f"{self.where}: the TensorFlow Lite file is damaged: {why}; copy or convert it again"
        )


def _quantization(fields: Fields | None) -> TensorQuantization | None:
    if fields is None:
        return None
    read = TensorQuantization(
        fields.get("scale", ()),
        fields.get("zero_point", ()),
        fields.get("quantized_dimension", 0),
        fields.get("min", ()),
        fields.get("max", ()),
        fields.get("details", {}),
        details if isinstance(details := fields.get("details_type", ""), str) else "",
    )
    return None if read == TensorQuantization() else read


def _signature(fields: Fields) -> LiteSignature:
    inputs, outputs = (
        {tensor.get("name", ""): tensor.get("tensor_index", 0) for tensor in fields.get(part, ())}
        for part in ("inputs", "outputs")
    )
    return LiteSignature(fields.get("signature_key", ""), fields.get("subgraph_index", 0), inputs, outputs)


def _move_to_ends(signature: LiteSignature, graph: Subgraph) -> None:
    """Let a signature name the inputs and outputs of its subgraph.

    Converters that gave int8 networks uint8 inputs left the signature at the int8 tensors behind them. LiteRT
    computes these from the inputs again, whatever its signature runner was given.
    """
    ends = [o for o in graph.operators if o.code.op in CONVERSIONS and len(o.inputs) == len(o.outputs) == 1]
    before = {o.outputs[0]: o.inputs[0] for o in ends if o.inputs[0] in graph.inputs}
    behind = {o.inputs[0]: o.outputs[0] for o in ends if o.outputs[0] in graph.outputs}
    if before.keys().isdisjoint(signature.inputs.values()):
        return
    signature.inputs = {name: before.get(i, i) for name, i in signature.inputs.items()}
    signature.outputs = {
        name: i if i in graph.outputs else behind.get(i, i) for name, i in signature.outputs.items()
    }
