"""An island in parts, recorded as one CUDA graph: sessions of ONNX Runtime, operations of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnxruntime as ort

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_island import BoundRun, GpuIsland, Shapes, begin_options
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.island_parts import IslandParts, ModelPart, Operation, Part
from tfport.runtime.program import ONNX_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.engines.gpu.cuda_operations import OperationLibrary, PreparedOperation
    from tfport.runtime.engines.gpu.graph_stream import GraphStream


class PartTools(NamedTuple):
    """What computes the parts of an island."""

    session: Callable[[ModelPart, Shapes], ort.InferenceSession]
    """Makes the session of a part for inputs of some shapes."""
    library: OperationLibrary
    stream: GraphStream


class PartIsland(GpuIsland):
    """An island that runs as one session, and is recorded in parts."""

    def __init__(
        self,
        island: IslandParts,
        tools: PartTools,
        otherwise: Callable[[Shapes], GpuIsland | None],
        *arguments: Any,
        **options: Any,
    ) -> None:
        """`otherwise`: makes the island to record if the parts cannot be; the rest: see `GpuIsland`."""
        super().__init__(*arguments, **options)
        self._parts, self._tools, self._otherwise = island, tools, otherwise
        self._uploaded: dict[int, list[ort.OrtValue]] = {}

    def bound(self, inputs: Sequence[ort.OrtValue], outputs: Sequence[ort.OrtValue]) -> BoundRun:
        try:
            return _BoundParts(self, self._parts, self._tools, inputs, outputs)
        except Exception:  # a library has no kernel, the memory is too small, or ONNX Runtime refuses a part
            other = self._otherwise(tuple(tuple(value.shape()) for value in inputs))
            if other is None:
                raise
            return other.bound(inputs, outputs)

    def constants(self, operation: Operation) -> list[int]:
        """Where the weights of an operation lie on the device."""
        key = id(operation)
        if key not in self._uploaded:
            self._uploaded[key] = [
                ort.OrtValue.ortvalue_from_numpy(_as_bits(array), self.memory, self.index)
                for array in operation.constants
            ]
        return [value.data_ptr() for value in self._uploaded[key]]


class _Tensor(NamedTuple):
    """A tensor between parts: its type and sizes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def onnx_type(self) -> int:
        return ONNX_TYPES[self.dtype.name]


class _BoundParts:
    """The parts for certain sizes, with the memory that they read and write."""

    def __init__(
        self,
        island: PartIsland,
        parts: IslandParts,
        tools: PartTools,
        inputs: Sequence[ort.OrtValue],
        outputs: Sequence[ort.OrtValue],
    ) -> None:
        self._island, self._tools, self._stream = island, tools, tools.stream
        pairs = zip((*parts.inputs, *parts.outputs), (*inputs, *outputs), strict=True)
        self._given: dict[Operand, ort.OrtValue] = dict(pairs)
        self._sessions: dict[ModelPart, ort.InferenceSession] = {}
        self._prepared: dict[Operation, PreparedOperation] = {}
        tensors = self._sizes(parts.parts)
        self._addresses, self._block = self._memory(parts.parts, tensors)
        self._begins = [self._begin_of(part, tensors) for part in parts.parts]

    def run(self) -> None:
        self.begin()
        self._stream.wait()

    def begin(self) -> None:
        for begin in self._begins:
            begin()

    def _sizes(self, parts: Sequence[Part]) -> dict[Operand, _Tensor]:
        """The sizes of what passes between parts, found out by running the sessions one by one."""
        known = {operand: _tensor_of(value) for operand, value in self._given.items()}
        last = {o: index for index, part in enumerate(parts) for o in part.inputs}
        values = dict(self._given)
        for index, part in enumerate(parts):
            if isinstance(part, ModelPart):
                results = self._session_outputs(part, values)
                known |= {operand: _tensor_of(value) for operand, value in results.items()}
            else:
                tensor = self._operation_size(part, [known[operand] for operand in part.inputs])
                known |= dict.fromkeys(part.outputs, tensor)
                results = {operand: self._empty(tensor) for operand in part.outputs}
            values |= {o: value for o, value in results.items() if o not in self._given}
            for operand in part.inputs:
                if last[operand] == index and operand not in self._given:
                    del values[operand]
        return known

    def _operation_size(self, operation: Operation, inputs: Sequence[_Tensor]) -> _Tensor:
        """What each output of an operation is."""
        shape = operation.output_shape(*(tensor.shape for tensor in inputs))
        self._prepared[operation] = self._tools.library.prepared(operation, inputs[0].shape, shape)
        return _Tensor(inputs[0].dtype, shape)

    def _session_outputs(
        self, part: ModelPart, values: dict[Operand, ort.OrtValue]
    ) -> dict[Operand, ort.OrtValue]:
        shapes = tuple(tuple(values[operand].shape()) for operand in part.inputs)
        self._sessions[part] = session = self._tools.session(part, shapes)
        binding = session.io_binding()
        for argument, operand in zip(session.get_inputs(), part.inputs, strict=True):
            binding.bind_ortvalue_input(argument.name, values[operand])
        for argument in session.get_outputs():
            binding.bind_output(argument.name, self._island.memory, self._island.index)
        session.run_with_iobinding(binding, begin_options())
        self._stream.wait()
        return dict(zip(part.outputs, binding.get_outputs(), strict=True))

    def _memory(
        self, parts: Sequence[Part], tensors: dict[Operand, _Tensor]
    ) -> tuple[dict[Operand, int], ort.OrtValue]:
        """The address of each tensor, and the memory of those that are not given."""
        first = {o: index for index, part in enumerate(parts) for o in part.outputs}
        last = first | {o: index for index, part in enumerate(parts) for o in part.inputs}
        groups = [group for part in parts for group in self._groups(part)]
        lifetimes = [
            Lifetime(sum(tensors[o].nbytes for o in group), first[group[0]], max(last[o] for o in group))
            for group in groups
        ]
        offsets, size = offsets_of(lifetimes)
        workspace = max((prepared.workspace for prepared in self._prepared.values()), default=0)
        block = self._empty(_Tensor(np.dtype(np.uint8), (max(size + workspace, 1),)))
        addresses = {o: value.data_ptr() for o, value in self._given.items()}
        for group, offset in zip(groups, offsets, strict=True):
            for operand in group:
                addresses[operand] = block.data_ptr() + offset
                offset += tensors[operand].nbytes
        self._workspace = block.data_ptr() + size
        return addresses, block

    def _groups(self, part: Part) -> list[tuple[Operand, ...]]:
        """The outputs of a part that are not given; those of an operation lie one after another."""
        outputs = tuple(operand for operand in part.outputs if operand not in self._given)
        if isinstance(part, ModelPart) or len(part.outputs) == 1:
            return [(operand,) for operand in outputs]
        if len(outputs) < len(part.outputs):
            raise Error("an output of an operation with several is one of the island")
        return [outputs]

    def _begin_of(self, part: Part, tensors: dict[Operand, _Tensor]) -> Callable[[], None]:
        if not isinstance(part, ModelPart):
            return self._begin_operation(part)
        session = self._sessions[part]
        binding = session.io_binding()
        for bind, arguments, operands in (
            (binding.bind_input, session.get_inputs(), part.inputs),
            (binding.bind_output, session.get_outputs(), part.outputs),
        ):
            for argument, operand in zip(arguments, operands, strict=True):
                tensor, address = tensors[operand], self._addresses[operand]
                memory, index = self._island.memory, self._island.index
                bind(argument.name, memory, index, tensor.onnx_type, tensor.shape, address)
        options = begin_options()
        return lambda: session.run_with_iobinding(binding, options)

    def _begin_operation(self, operation: Operation) -> Callable[[], None]:
        inputs, outputs = (
            [self._addresses[operand] for operand in operands]
            for operands in (operation.inputs, operation.outputs)
        )
        if any(address % ALIGNMENT for address in (*inputs, *outputs)):
            raise Error("an operation of numbers that begin anywhere in the memory")
        constants, begin = self._island.constants(operation), self._prepared[operation].begin
        return lambda: begin(inputs, constants, outputs, self._workspace)

    def _empty(self, tensor: _Tensor) -> ort.OrtValue:
        shape, memory = list(tensor.shape), (self._island.memory, self._island.index)
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, tensor.onnx_type, *memory)


def _as_bits(array: NDArray[Any]) -> NDArray[Any]:
    """A constant to upload, which only its address is needed of: ONNX Runtime takes no bfloat16 of NumPy."""
    whole = np.ascontiguousarray(array)
    return whole.view(np.uint16) if whole.dtype.name == "bfloat16" else whole


def _tensor_of(value: ort.OrtValue) -> _Tensor:
    array = DeviceArray(value)
    return _Tensor(array.dtype, array.shape)


# Where tensors lie in one block of memory: those needed at the same time do not overlap

ALIGNMENT = 256
"""Of addresses, as CUDA's libraries assume it."""


class Lifetime(NamedTuple):
    """How many bytes are needed, from one step to another."""

    size: int
    first: int
    last: int


def offsets_of(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each in the block, and the size of the block; the largest are placed first."""
    placed: list[tuple[int, int, Lifetime]] = []
    offsets = [0] * len(lifetimes)
    for number in sorted(range(len(lifetimes)), key=lambda n: -lifetimes[n].size):
        needed = lifetimes[number]
        size = -(-needed.size // ALIGNMENT) * ALIGNMENT
        offset = 0
        for begin, end, other in placed:  # by their offsets
            meets = other.first <= needed.last and needed.first <= other.last
            if meets and offset + size > begin:
                offset = max(offset, end)
        placed.append((offset, offset + size, needed))
        placed.sort(key=lambda block: block[0])
        offsets[number] = offset
    return offsets, max((end for _, end, _ in placed), default=0)
