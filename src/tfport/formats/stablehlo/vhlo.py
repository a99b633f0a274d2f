"""Read serialized StableHLO: the MLIR dialect vhlo, whose ops, attributes and types have versions.

`read_vhlo` returns functions with operations named without their versions. Attributes are plain
values: integers, strings, lists, arrays. They are decoded on first access.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.stablehlo.bytecode import (
    DEEPEST,
    BytecodeBlock,
    BytecodeEntry,
    BytecodeModule,
    BytecodeReader,
    Operation,
    read_bytecode,
)
from tfport.startup.dataclass import dataclass, field

DYNAMIC = -(1 << 63)
MOST_AXES = 32
MOST_ELEMENTS = 1 << 40
"""The limit for a constant stored as one element; any other is limited by the size of the file."""
_ELEMENTS: dict[int, Any] = {
    0: np.bool_, 2: ml_dtypes.bfloat16, 3: np.float16, 4: np.float32, 5: np.float64, 9: np.int64, 11: np.int8,
    12: np.int16, 13: np.int32, 14: np.int64, 16: np.uint8, 17: np.uint16, 18: np.uint32, 19: np.uint64,
    6: ml_dtypes.float8_e4m3fn, 7: ml_dtypes.float8_e5m2, 10: ml_dtypes.int4, 15: ml_dtypes.uint4,
}  # fmt: skip
_COMPLEX, _FUNCTION, _TENSOR, _TENSOR_WITH_ENCODING, _TOKEN, _TUPLE, _UNRANKED = 1, 8, 20, 21, 22, 23, 25
_ENUMS = (3, 4, 5, 7, 11, 12, 13, 16, 19)
_ARRAY, _BOOLEAN, _DICTIONARY, _FLOAT, _INTEGER, _STRING, _TENSOR_ATTR, _TYPE, _BOUNDS = (
    1, 2, 6, 8, 9, 14, 15, 17, 18,
)  # fmt: skip
_CONVOLUTION = (
    "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
    "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
    "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
    "output_spatial_dimensions padding precision_config rhs_dilation window_reversal window_strides"
)
_GATHER = "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims"
_COMPOSITE = "composite_attributes decomposition name version"
_CUSTOM_CALL = (
    "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
    "output_operand_aliases result_layouts"
)
PROPERTIES = {
    "broadcast_in_dim_v1": "broadcast_dimensions",
    "broadcast_v1": "broadcast_sizes",
    "call_v1": "callee",
    "cbrt_v2": "result_accuracy",
    "cholesky_v1": "lower",
    "compare_v1": "compare_type comparison_direction",
    "composite_v1": _COMPOSITE,
    "composite_v2": _COMPOSITE,
    "concatenate_v1": "dimension",
    "constant_v1": "value",
    "convolution_v1": _CONVOLUTION,
    "cosine_v2": "result_accuracy",
    "custom_call_v1": _CUSTOM_CALL,
    "custom_call_v2": f"{_CUSTOM_CALL} unnamed",  # one more list, whose name is not known
    "dot_general_v1": "lhs_batching_dimensions lhs_contracting_dimensions precision_config "
    "rhs_batching_dimensions rhs_contracting_dimensions",
    "dot_general_v2": "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions "
    "lhs_component_count lhs_contracting_dimensions lhs_precision_type num_primitive_operations "
    "precision_config rhs_batching_dimensions rhs_component_count"
    " rhs_contracting_dimensions rhs_precision_type",
    "dot_v1": "precision_config",
    "dynamic_broadcast_in_dim_v1": "broadcast_dimensions known_expanding_dimensions "
    "known_nonexpanding_dimensions",
    "dynamic_conv_v1": _CONVOLUTION,
    "dynamic_gather_v1": f"{_GATHER} start_index_map",
    "dynamic_gather_v2": f"{_GATHER} operand_batching_dims start_index_map start_indices_batching_dims",
    "dynamic_iota_v1": "iota_dimension",
    "dynamic_slice_v1": "slice_sizes",
    "einsum_v1": "einsum_config",
    "exponential_minus_one_v2": "result_accuracy",
    "exponential_v2": "result_accuracy",
    "fft_v1": "fft_length fft_type",
    "func_v1": "arg_attrs function_type res_attrs sym_name sym_visibility",
    "gather_v1": f"{_GATHER} slice_sizes start_index_map",
    "gather_v2": f"{_GATHER} operand_batching_dims slice_sizes start_index_map start_indices_batching_dims",
    "get_dimension_size_v1": "dimension",
    "get_tuple_element_v1": "index",
    "iota_v1": "iota_dimension",
    "log_plus_one_v2": "result_accuracy",
    "log_v2": "result_accuracy",
    "logistic_v2": "result_accuracy",
    "map_v1": "dimensions",
    "pad_v1": "edge_padding_high edge_padding_low interior_padding",
    "reduce_precision_v1": "exponent_bits mantissa_bits",
    "reduce_v1": "dimensions",
    "reduce_window_v1": "base_dilations padding window_dilations window_dimensions window_strides",
    "reverse_v1": "dimensions",
    "rng_bit_generator_v1": "rng_algorithm",
    "rng_v1": "rng_distribution",
    "rsqrt_v2": "result_accuracy",
    "scatter_v1": "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims "
    "unique_indices update_window_dims",
    "scatter_v2": "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
    "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims",
    "select_and_scatter_v1": "padding window_dimensions window_strides",
    "set_dimension_size_v1": "dimension",
    "sine_v2": "result_accuracy",
    "slice_v1": "limit_indices start_indices strides",
    "sort_v1": "dimension is_stable",
    "sqrt_v2": "result_accuracy",
    "tan_v1": "",
    "tan_v2": "result_accuracy",
    "tanh_v2": "result_accuracy",
    "transpose_v1": "permutation",
    "triangular_solve_v1": "left_side lower transpose_a unit_diagonal",
}
"""The attributes of each op, in the order of their names, in which properties are stored."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """The type of a value; an unknown size is None, and so is the element type of a token."""

    element: Any
    shape: tuple[int | None, ...] = ()
    parts: tuple[Any, ...] = ()


@dataclass(slots=True)
class HloOp:
    """An operation of a function."""

    name: str
    operands: list[int]
    results: list[int]
    types: list[TensorType]
    attrs: HloAttributes
    regions: list[HloBody]


@dataclass(slots=True)
class HloBody:
    """The arguments, operations and returned values of a function or region."""

    args: list[int]
    ops: list[HloOp]
    returns: list[int]
    types: list[TensorType] = field(default_factory=list)
    """The types of the arguments."""


class HloAttributes:
    """The attributes of an op by name."""

    def __init__(self, decoder: _Decoder, entries: dict[str, int], op: str) -> None:
        self._decoder, self._entries, self._op = decoder, entries, op

    def __getitem__(self, name: str) -> Any:
        if name not in self._entries:
            raise UnreadableFile(f"{self._op} has no attribute {name}")
        return self._decoder.attribute(self._entries[name])

    def names(self) -> list[str]:
        return list(self._entries)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._entries else default


def read_vhlo(data: bytes, where: str = "module") -> dict[str, HloBody]:
    """The functions of a serialized module, by name."""
    module = read_bytecode(data, where)
    return _Decoder(module, where).functions()


class _Decoder:
    def __init__(self, module: BytecodeModule, where: str) -> None:
        self._module, self._where = module, where
        self._attributes: dict[int, Any] = {}
        self._types: dict[int, TensorType] = {}
        self._depth = 0

    def functions(self) -> dict[str, HloBody]:
        functions = {}
        for module in self._module.ops:
            for block in module.regions if module.name == "builtin.module" else ():
                for op in block.ops:
                    if op.name == "vhlo.func_v1" and op.regions:
                        functions[str(self._attrs(op, "func_v1")["sym_name"])] = self._body(op.regions[0])
        if not functions:
            raise UnreadableFile(f"{self._where}: expected vhlo functions, found none")
        return functions

    def _body(self, block: BytecodeBlock) -> HloBody:
        returns: list[int] = []
        ops = []
        for op in block.ops:
            name = op.name.removeprefix("vhlo.")
            if name == "return_v1":
                returns = op.operands
            else:
                ops.append(self._op(op, name))
        return HloBody(block.args, ops, returns, [self.type(kind) for kind in block.types])

    def _op(self, op: Operation, name: str) -> HloOp:
        plain, _, version = name.rpartition("_v")
        if not op.name.startswith("vhlo.") or not version.isdigit():
            raise UnreadableFile(f"{self._where}: expected a vhlo op, found {op.name}")
        types = [self.type(t) for t in op.types]
        regions = [self._body(region) for region in op.regions]
        return HloOp(plain, op.operands, op.results, types, self._attrs(op, name), regions)

    def _attrs(self, op: Operation, name: str) -> HloAttributes:
        entries: dict[str, int] = {}
        if op.attrs is not None:
            entries |= self._dictionary(op.attrs)
        if op.properties is not None:
            names = PROPERTIES.get(name)
            reader = BytecodeReader(op.properties, self._where)
            numbers = []
            while reader.rest():
                numbers.append(reader.varint())
            if names is None or len(names.split()) != len(numbers):
                raise UnreadableFile(
                    f"{self._where}: {op.name} with {len(numbers)} attributes is unsupported"
                )
            entries |= dict(zip(names.split(), numbers, strict=True))
        return HloAttributes(self, entries, op.name)

    def _dictionary(self, number: int) -> dict[str, int]:
        """A dictionary of attributes of the builtin dialect, whose keys are builtin strings."""
        reader = self._entry(self._module.attributes, number, "builtin", 1)
        return {self._name(reader.varint()): reader.varint() for _ in range(reader.count())}

    def _name(self, number: int) -> str:
        return self._string(self._entry(self._module.attributes, number, "builtin", 2))

    def _string(self, reader: BytecodeReader) -> str:
        number = reader.varint()
        if number >= len(self._module.strings):
            raise reader.fail(f"there is no string {number}")
        return self._module.strings[number]

    def _entry(
        self, table: list[BytecodeEntry], number: int, dialect: str, code: int | None = None
    ) -> BytecodeReader:
        if number >= len(table):
            raise UnreadableFile(f"{self._where}: there is no attribute or type {number}")
        entry = table[number]
        if entry.dialect != dialect or not entry.custom:
            raise UnreadableFile(
                f"{self._where}: expected an entry of dialect {dialect}, found {entry.dialect}"
            )
        reader = BytecodeReader(entry.data, self._where)
        if code is not None and (actual := reader.varint()) != code:
            raise reader.fail(f"expected code {code}, found {actual}")
        return reader

    def attribute(self, number: int) -> Any:
        if number not in self._attributes:
            self._attributes[number] = self._deeper(self._attribute, number)
        return self._attributes[number]

    def type(self, number: int) -> TensorType:
        if number not in self._types:
            self._types[number] = self._deeper(self._type, number)
        return self._types[number]

    def _deeper(self, read: Any, number: int) -> Any:
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise UnreadableFile(f"{self._where}: attributes are nested deeper than {DEEPEST}")
            return read(number)
        finally:
            self._depth -= 1

    def _attribute(self, number: int) -> Any:
        reader = self._entry(self._module.attributes, number, "vhlo")
        code = reader.varint()
        if code in _ENUMS:
            return reader.varint()
        if code == _ARRAY:
            return [self.attribute(n) for n in reader.many(reader.varint)]
        if code == _BOOLEAN:
            return bool(reader.varint())
        if code == _DICTIONARY:
            return {
                str(self.attribute(reader.varint())): self.attribute(reader.varint())
                for _ in range(reader.count())
            }
        if code == _INTEGER:
            dtype = np.dtype(self.type(reader.varint()).element or np.int64)
            value = reader.byte() if dtype.itemsize == 1 else reader.signed()
            return value - 256 if dtype.kind == "i" and dtype.itemsize == 1 and value > 127 else value
        if code == _STRING:
            return self._string(reader)
        if code == _TENSOR_ATTR:
            return self._array(reader)
        if code == _TYPE:
            return self.type(reader.varint())
        if code == _BOUNDS:
            return reader.many(reader.signed)
        raise reader.fail(f"unknown vhlo attribute with code {code}")

    def _array(self, reader: BytecodeReader) -> Any:
        tensor_type = self.type(reader.varint())
        raw = bytes(reader.take(reader.varint()))
        if None in tensor_type.shape or tensor_type.element is None:
            raise reader.fail("expected a constant of known shape")
        shape = tuple(n or 0 for n in tensor_type.shape)
        size = math.prod(shape)
        if size > MOST_ELEMENTS:
            raise reader.fail(f"a constant has {size} elements, more than {MOST_ELEMENTS}")
        element = np.dtype(tensor_type.element)
        if element == np.bool_:
            return _booleans(raw, size, reader).reshape(shape)
        if len(raw) == element.itemsize:  # one element for all
            return np.broadcast_to(np.frombuffer(raw, element)[0], shape)
        if len(raw) != size * element.itemsize:
            raise reader.fail(f"expected {size} elements of {element}, found {len(raw)} bytes")
        return np.frombuffer(raw, element).reshape(shape)

    def _type(self, number: int) -> TensorType:
        reader = self._entry(self._module.types, number, "vhlo")
        code = reader.varint()
        if code in _ELEMENTS:
            return TensorType(_ELEMENTS[code])
        if code == _COMPLEX:
            part = self.type(reader.varint()).element
            return TensorType(np.complex128 if part == np.float64 else np.complex64)
        if code in (_TENSOR, _TENSOR_WITH_ENCODING):
            if code == _TENSOR_WITH_ENCODING:
                reader.varint()
            sizes = reader.many(reader.signed)
            if len(sizes) > MOST_AXES or any(n < 0 and n != DYNAMIC for n in sizes):
                raise reader.fail(f"expected the sizes of a shape, found {sizes[:MOST_AXES]}")
            shape = tuple(None if n == DYNAMIC else n for n in sizes)
            return TensorType(self.type(reader.varint()).element, shape)
        if code == _TOKEN:
            return TensorType(None)
        if code == _TUPLE:
            return TensorType(None, (), tuple(self.type(n) for n in reader.many(reader.varint)))
        if code == _FUNCTION:
            return TensorType(None)
        raise reader.fail(f"unknown vhlo type with code {code}")


def _booleans(raw: bytes, size: int, reader: BytecodeReader) -> Any:
    """Booleans stored as one byte for all, a byte each, or a bit each."""
    if len(raw) == 1 and (size == 1 or raw in (b"\xff", b"\x00")):
        return np.broadcast_to(np.array(bool(raw[0])), (size,))
    if len(raw) == size:
        return np.frombuffer(raw, np.uint8).astype(np.bool_)
    if len(raw) == -(-size // 8):
        return np.unpackbits(np.frombuffer(raw, np.uint8), count=size, bitorder="little").astype(np.bool_)
    raise reader.fail(f"expected {size} booleans, found {len(raw)} bytes")
