"""Write subgraphs of TensorFlow Lite models, over values whose axes may lie in another order.

`LiteScribe` decides on the order of axes (`island_node`) and computes sizes that are not known before a run,
`LiteModelWriter` collects subgraphs and constants, `SubgraphWriter` tensors and operators.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import CUSTOM, LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes
from tfport.runtime.engines.litert.island_node import IslandValue, NotInLite, plain_order
from tfport.runtime.engines.litert.lite_options import OPTIONS
from tfport.runtime.size_expression import (
    Number,
    SizeExpression,
    SizeProduct,
    SizeQuotient,
    SizeRemainder,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


SCHEMA_VERSION = 3
TYPES = {
    "float32": "FLOAT32", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "bool": "BOOL",
    "int8": "INT8", "int16": "INT16", "uint16": "UINT16", "uint32": "UINT32", "float16": "FLOAT16",
    "float64": "FLOAT64", "string": "STRING", "complex64": "COMPLEX64", "complex128": "COMPLEX128",
    "resource": "RESOURCE", "variant": "VARIANT", "uint64": "UINT64", "bfloat16": "BFLOAT16",
}  # fmt: skip


NOT_IN_FLOAT64 = (
    "ABS", "ADD", "BATCH_MATMUL", "CEIL", "CONCATENATION", "COS", "DIV", "EQUAL", "EXP", "FLOOR",
    "FULLY_CONNECTED", "LESS", "LOG", "LOGISTIC", "LOG_SOFTMAX", "MAXIMUM", "MEAN", "MINIMUM", "MUL", "NEG",
    "POW", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "RELU", "ROUND", "SIN", "SOFTMAX", "SQRT", "SUB", "SUM",
    "TANH",
)  # fmt: skip
"""Operators that LiteRT 2.3.0 was seen to refuse for float64 numbers; it takes them in SIGN or TRANSPOSE."""
MOST_TRANSPOSED = 5
"""Axes that TRANSPOSE of every version moves."""
FIRST = {"BROADCAST_TO": 2}
"""The first version of ops that have no version 1."""


class LiteScribe:
    """Adds operators to a subgraph; each returns its result."""

    def __init__(self, file: LiteModelWriter | None = None) -> None:
        self.file = file or LiteModelWriter()
        self.model = SubgraphWriter(self.file)
        self._transposed: dict[tuple[int, tuple[int, ...]], int] = {}
        """Tensors in other orders, by the tensor and the order."""
        self._written: dict[tuple[int, tuple[int, ...]], int] = {}
        """Constants, by the array and the order."""
        self._computed: dict[Hashable, int] = {}
        """Tensors with one size, by its expression."""
        self._kept: list[Any] = []

    def input(self, sizes: Sequence[int | None], dtype: str, name: str = "") -> IslandValue:
        """An input; None stands for an unknown size."""
        tensor = self.model.tensor(sizes, dtype, name=name)
        return IslandValue(self._known(sizes, tensor), tensor, plain_order(sizes), dtype=dtype)

    def add(
        self,
        op: str,
        inputs: Sequence[int],
        sizes: Sequence[Number | None],
        order: Sequence[int] | None = None,
        dtype: str = "float32",
        **options: Any,
    ) -> IslandValue:
        """An operator on tensors, with the sizes of its result in ONNX's order, and its real order."""
        return self.add_all(op, inputs, [(sizes, dtype)], order, **options)[0]

    def add_all(
        self,
        op: str,
        inputs: Sequence[int],
        results: Sequence[tuple[Sequence[Number | None], str]],
        order: Sequence[int] | None = None,
        **options: Any,
    ) -> list[IslandValue]:
        """An operator with several results, each with its sizes and dtype; None is a size nobody knows."""
        values = []
        if op in NOT_IN_FLOAT64 and self.model.has_type(inputs, "FLOAT64"):
            raise NotInLite(f"LiteRT has no {op} of float64 numbers; rebuild the model in float32")
        for sizes, dtype in results:
            own = tuple(order) if order is not None else plain_order(sizes)
            lying = [sizes[axis] for axis in own]
            tensor = self.model.tensor(lying, dtype)
            known = self._known(lying, tensor)
            in_onnx = tuple(known[own.index(axis)] for axis in range(len(own)))
            values.append(IslandValue(in_onnx, tensor, own, dtype=dtype))
        outputs = [value.tensor for value in values]
        self.model.operator(op, inputs, outputs, OPTIONS.get(op, ""), options)
        return values

    def effect(self, op: str, inputs: Sequence[int], **options: Any) -> None:
        """An operator without results."""
        self.model.operator(op, inputs, [], OPTIONS.get(op, ""), options)

    def custom(
        self,
        name: str,
        inputs: Sequence[int],
        results: Sequence[tuple[Sequence[int | None] | None, str]],
        options: bytes,
    ) -> list[IslandValue]:
        """A custom operator; the sizes of a result are None if its rank is unknown."""
        values = []
        for sizes, dtype in results:
            tensor = self.model.tensor(sizes or (), dtype)
            known = self._known(sizes or (), tensor)
            values.append(
                IslandValue(known, tensor, plain_order(known), dtype=dtype, has_rank=sizes is not None)
            )
            self.model.set_rank(tensor, sizes is not None)
        self.model.custom(name, inputs, [value.tensor for value in values], options)
        return values

    def texts(self, array: NDArray[Any]) -> IslandValue:
        """Constant strings."""
        tensor = self.model.constant(string_data(array), array.shape, "string")
        return IslandValue(array.shape, tensor, plain_order(array.shape), dtype="string")

    def _known(self, sizes: Sequence[Number | None], tensor: int) -> tuple[Number, ...]:
        return tuple(
            SizeExpression.unknown((tensor, axis)) if size is None else size
            for axis, size in enumerate(sizes)
        )

    def ints(self, *numbers: int) -> int:
        return self.model.constant(np.array(numbers, np.int32))

    def pairs(self, pairs: Sequence[tuple[int, int]]) -> int:
        return self.model.constant(np.array(pairs, np.int32))

    def array(self, array: NDArray[Any]) -> int:
        """An unchanged constant."""
        return self.in_order(IslandValue(array.shape, array=array), plain_order(array.shape))

    def in_order(self, value: IslandValue, order: Sequence[int]) -> int:
        """A tensor with the elements of a value, its axes in this order."""
        order = tuple(order)
        if value.is_of_sizes:
            value = self.computed(value)
        if value.array is not None:
            key = (id(value.array), order)
            if key not in self._written:
                self._kept.append(value.array)
                self._written[key] = self.model.constant(np.transpose(value.array, order))
            return self._written[key]
        if value.order == order:
            return value.tensor
        key = (value.tensor, order)
        if key not in self._transposed:
            self._transposed[key] = self._moved(value, order).tensor
        return self._transposed[key]

    def plain(self, value: IslandValue) -> int:
        return self.in_order(value, plain_order(value.sizes))

    def as_tensor(self, value: IslandValue) -> IslandValue:
        """A value as a tensor; a constant in ONNX's order."""
        if value.array is None:
            return value
        return IslandValue(value.sizes, self.plain(value), plain_order(value.sizes), dtype=value.dtype)

    def reshaped(
        self,
        tensor: int,
        sizes: Sequence[Number],
        order: Sequence[int] | None = None,
        dtype: str = "float32",
    ) -> IslandValue:
        """The elements of a tensor as they lie there, with other sizes."""
        own = order if order is not None else plain_order(sizes)
        real = [sizes[axis] for axis in own]
        if not real:
            return self.add("SQUEEZE", [tensor], sizes, own, dtype)
        unknown = [axis for axis, size in enumerate(real) if not isinstance(size, int)]
        if len(unknown) > 1 or (unknown and 0 in real):
            return self.add("RESHAPE", [tensor, self.sizes(real)], sizes, own, dtype)
        shape = [int(size) if isinstance(size, int) else -1 for size in real]
        return self.add("RESHAPE", [tensor, self.ints(*shape)], sizes, own, dtype, new_shape=shape)

    def cast(self, value: IslandValue, dtype: str) -> IslandValue:
        """A value in another type, its axes as they lie."""
        if value.dtype == dtype:
            return value
        options = {"in_data_type": TYPES[value.dtype], "out_data_type": TYPES[dtype]}
        return self.add("CAST", [value.tensor], value.sizes, value.order, dtype, **options)

    def _moved(self, value: IslandValue, order: tuple[int, ...]) -> IslandValue:
        def longer(axes: tuple[int, ...]) -> list[int]:
            return [axis for axis in axes if value.sizes[axis] != 1]

        if longer(value.order) == longer(order):
            return self.reshaped(value.tensor, value.sizes, order, value.dtype)
        if len(order) > MOST_TRANSPOSED:
            return self._moved_together(value, order)
        if value.dtype == "float16":  # TRANSPOSE does not take it
            return self.cast(self._moved(self.cast(value, "float32"), order), "float16")
        perm = self.ints(*(value.order.index(axis) for axis in order))
        return self.add("TRANSPOSE", [value.tensor, perm], value.sizes, order, value.dtype)

    def _moved_together(self, value: IslandValue, order: tuple[int, ...]) -> IslandValue:
        """A transposition of many axes: neighbors that stay together are one axis, and axes of 1 are none."""
        groups: list[list[int]] = []
        kept = [axis for axis in value.order if value.sizes[axis] != 1]
        after = [axis for axis in order if value.sizes[axis] != 1]
        for axis in kept:
            before = after.index(axis) - 1
            if groups and before >= 0 and after[before] == groups[-1][-1]:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        sizes = [math.prod(value.sizes[axis] for axis in group) for group in groups]
        perm = sorted(range(len(groups)), key=lambda number: after.index(groups[number][0]))
        merged = self.reshaped(value.tensor, sizes, None, value.dtype)
        results = [sizes[number] for number in perm]
        moved = self.add("TRANSPOSE", [merged.tensor, self.ints(*perm)], results, dtype=value.dtype)
        return self.reshaped(moved.tensor, value.sizes, order, value.dtype)

    # Sizes that depend on unknown ones

    def computed(self, value: IslandValue) -> IslandValue:
        """A tensor of expressions of sizes."""
        assert value.array is not None
        vector = self.sizes(value.array.reshape(-1).tolist())
        shaped = IslandValue((value.array.size,), vector, (0,), dtype="int32")
        if value.array.ndim != 1:
            shaped = self.reshaped(vector, value.array.shape, None, "int32")
        return self.cast(shaped, value.dtype)

    def sizes(self, sizes: Sequence[Number]) -> int:
        """A vector of sizes, of int32."""
        known = [size for size in sizes if isinstance(size, int)]
        if len(known) == len(sizes):
            return self.ints(*known)
        parts = [self._size(size) for size in sizes]
        if len(parts) == 1:
            return parts[0]
        return self.add("CONCATENATION", parts, (len(parts),), dtype="int32", axis=0).tensor

    def _size(self, size: Number) -> int:
        """A vector of one size."""
        if isinstance(size, int):
            return self.ints(size)
        if size not in self._computed:
            parts = [
                self._calculated("MUL", self._unknown(key), factor) if factor != 1 else self._unknown(key)
                for key, factor in size.terms
            ]
            total = parts[0]
            for part in parts[1:]:
                total = self._of_two("ADD", total, part)
            self._computed[size] = self._calculated("ADD", total, size.constant) if size.constant else total
        return self._computed[size]

    def _unknown(self, key: Hashable) -> int:
        match key:
            case (int() as tensor, int() as axis):
                if ("shape", tensor) not in self._computed:
                    shape = self.add(
                        "SHAPE", [tensor], (self.model.rank(tensor),), dtype="int32", out_type="INT32"
                    )
                    self._computed["shape", tensor] = shape.tensor
                bounds = [self.ints(axis), self.ints(1)]
                whole = self._computed["shape", tensor]
                return self.add("SLICE", [whole, *bounds], (1,), dtype="int32").tensor
            case SizeRemainder(dividend, divisor):
                return self._calculated("FLOOR_MOD", self._size(dividend), divisor)
            case SizeQuotient(dividend, divisor):
                return self._calculated("FLOOR_DIV", self._size(dividend), divisor)
            case SizeProduct(factors):
                parts = [
                    self._size(SizeExpression.unknown(own)) for own, power in factors for _ in range(power)
                ]
                total = parts[0]
                for part in parts[1:]:
                    total = self._of_two("MUL", total, part)
                return total
        raise NotInLite("a size that is known only outside of a loop or branch")

    def _calculated(self, op: str, tensor: int, number: int) -> int:
        return self._of_two(op, tensor, self.ints(number))

    def _of_two(self, op: str, first: int, second: int) -> int:
        return self.add(op, [first, second], (1,), dtype="int32").tensor


class LiteModelWriter:
    """Collects the constants and subgraphs of a model; one that is small has equal constants once."""

    def __init__(self, programs: int = 1, *, is_small: bool = False) -> None:
        self.is_small = is_small
        self.buffers: list[bytes | memoryview] = [b""]
        self.subgraphs = [Subgraph("", [], [], (), ()) for _ in range(programs)]
        """Those of the programs, which are written when they are complete, before branches and bodies."""
        self._stored: dict[bytes, int] = {}
        """Buffers by the digest of what is in them."""
        self.started: dict[Any, int] = {}
        """Tables and variables that a subgraph fills, with their numbers."""
        self._starts: list[int] = []

    def buffer(self, array: NDArray[Any]) -> int:
        contiguous = np.ascontiguousarray(array).reshape(-1)
        data = contiguous.data.cast("B") if contiguous.size else b""
        digest = hashlib.blake2b(data).digest() if self.is_small else b""
        if digest not in self._stored:
            self.buffers.append(data)
            if not self.is_small:
                return len(self.buffers) - 1
            self._stored[digest] = len(self.buffers) - 1
        return self._stored[digest]

    def add_start(self, subgraph: Subgraph) -> None:
        """Add a subgraph that runs once, before all programs."""
        self._starts.append(len(self.subgraphs))
        self.subgraphs.append(subgraph)

    def call_starts(self, subgraph: Subgraph) -> None:
        """Have a program run first what fills tables and variables."""
        code = OperatorCode("CALL_ONCE", lite_schema().enums["BuiltinOperator"].numbers["CALL_ONCE"])
        subgraph.operators[:0] = [
            LiteOperator(code, (), (), {"init_subgraph_index": number}, OPTIONS["CALL_ONCE"])
            for number in self._starts
        ]

    def file(self) -> LiteFile:
        return LiteFile("", SCHEMA_VERSION, "", [], self.subgraphs, [], self.buffers, [])


def string_data(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Strings as a file has them: their number, the offsets of all and of the end, then their bytes."""
    parts = [bytes(text) for text in array.reshape(-1).tolist()]
    offsets = np.cumsum([8 + 4 * len(parts), *map(len, parts)])
    header = np.array([len(parts), *offsets], "<i4").tobytes()
    return np.frombuffer(header + b"".join(parts), np.uint8)


class SubgraphWriter:
    """Collects the tensors and operators of a subgraph."""

    def __init__(self, file: LiteModelWriter) -> None:
        self._file = file
        self._numbers = lite_schema().enums["BuiltinOperator"].numbers
        self._tensors: list[LiteTensor] = []
        self._operators: list[LiteOperator] = []
        self._constants: dict[tuple[str, tuple[int, ...], int], int] = {}

    def tensor(self, sizes: Sequence[Number | None], dtype: str, buffer: int = 0, name: str = "") -> int:
        """A tensor; the sizes that are not known are 1 until the interpreter computes them."""
        if dtype not in TYPES:
            raise NotInLite(f"numbers of type {dtype}")
        number = len(self._tensors)
        stated = tuple(int(size) if isinstance(size, (int, np.integer)) else -1 for size in sizes)
        shape = tuple(1 if size < 0 else size for size in stated)
        tensor = LiteTensor(name or f"{number}", TYPES[dtype], shape, buffer)
        if -1 in stated:
            tensor.shape_signature = stated
        tensor.has_rank = True
        self._tensors.append(tensor)
        return number

    def has_type(self, tensors: Sequence[int], lite_type: str) -> bool:
        return any(number >= 0 and self._tensors[number].type == lite_type for number in tensors)

    def rank(self, tensor: int) -> int:
        return len(self._tensors[tensor].shape)

    def set_rank(self, tensor: int, has_rank: bool) -> None:
        self._tensors[tensor].has_rank = has_rank

    def constant(self, array: NDArray[Any], shape: Sequence[int] | None = None, dtype: str = "") -> int:
        """A constant with these elements; strings are bytes, with a shape and dtype of their own."""
        shape, dtype = tuple(array.shape if shape is None else shape), dtype or array.dtype.name
        key = dtype, shape, self._file.buffer(array)
        if key not in self._constants:
            self._constants[key] = self.tensor(shape, dtype, key[-1])
        return self._constants[key]

    def custom(self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: bytes) -> None:
        code = OperatorCode(CUSTOM, self._numbers[CUSTOM], 1, name)
        self._operators.append(LiteOperator(code, tuple(inputs), tuple(outputs), custom_options=options))

    def operator(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_type: str,
        options: dict[str, Any],
    ) -> None:
        code = OperatorCode(op, self._numbers[op], FIRST.get(op, 1))
        self._operators.append(LiteOperator(code, tuple(inputs), tuple(outputs), options, options_type))

    def subgraph(self, name: str, inputs: Sequence[int], outputs: Sequence[int]) -> Subgraph:
        return Subgraph(name, self._tensors, self._operators, tuple(inputs), tuple(outputs))

    def bytes(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file of this subgraph alone."""
        self._file.subgraphs[0] = self.subgraph("main", inputs, outputs)
        return lite_bytes(self._file.file())
