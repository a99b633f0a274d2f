"""An island in parts, recorded as one CUDA graph: sessions of ONNX Runtime, and convolutions of cuDNN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnxruntime as ort

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_island import BoundRun, GpuIsland, Shapes, begin_options
from tfport.runtime.engines.gpu.memory_plan import Lifetime, offsets_of
from tfport.runtime.onnx.fused_convolution import FusedConvolution
from tfport.runtime.onnx.island_parts import IslandParts, ModelPart, Part
from tfport.runtime.operand import Operand

if TYPE_CHECKING:
    from tfport.runtime.engines.gpu.cudnn import ConvolutionLibrary, PreparedConvolution
    from tfport.runtime.engines.gpu.graph_stream import GraphStream


class PartTools(NamedTuple):
    """What computes the parts of an island."""

    session: Callable[[ModelPart], ort.InferenceSession]
    """Makes the session of a part."""
    library: ConvolutionLibrary
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
        self._uploaded: dict[int, tuple[ort.OrtValue, ort.OrtValue]] = {}

    def bound(self, inputs: Sequence[ort.OrtValue], outputs: Sequence[ort.OrtValue]) -> BoundRun:
        try:
            return _BoundParts(self, self._parts, self._tools, inputs, outputs)
        except Exception:  # cuDNN has no kernel, the memory is too small, or ONNX Runtime refuses a part
            other = self._otherwise(tuple(tuple(value.shape()) for value in inputs))
            if other is None:
                raise
            return other.bound(inputs, outputs)

    def constants(self, conv: FusedConvolution) -> tuple[ort.OrtValue, ort.OrtValue]:
        """The weights and the bias of a convolution on the device."""
        key = id(conv)
        if key not in self._uploaded:
            weights, bias = (
                ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array), self.memory, self.index)
                for array in (conv.weights, conv.bias)
            )
            self._uploaded[key] = weights, bias
        return self._uploaded[key]


class _Tensor(NamedTuple):
    """A tensor between parts: its type and sizes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


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
        self._island, self._stream, self._library = island, tools.stream, tools.library
        pairs = zip((*parts.inputs, *parts.outputs), (*inputs, *outputs), strict=True)
        self._given: dict[Operand, ort.OrtValue] = dict(pairs)
        self._sessions = {part: tools.session(part) for part in parts.parts if isinstance(part, ModelPart)}
        self._prepared: dict[FusedConvolution, PreparedConvolution] = {}
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
        last = {o: place for place, part in enumerate(parts) for o in part.inputs}
        values = dict(self._given)
        for place, part in enumerate(parts):
            if isinstance(part, FusedConvolution):
                known[part.output] = self._convolution_size(part, known)
                made = {part.output: self._empty(known[part.output])}
            else:
                made = self._session_outputs(part, values)
                known |= {operand: _tensor_of(value) for operand, value in made.items()}
            values |= {o: value for o, value in made.items() if o not in self._given}
            for operand in part.inputs:
                if last[operand] == place and operand not in self._given:
                    del values[operand]
        return known

    def _convolution_size(self, conv: FusedConvolution, known: dict[Operand, _Tensor]) -> _Tensor:
        x = known[conv.x]
        shape = conv.output_shape(x.shape)
        if min(shape) < 1 or x.shape[-1] != conv.weights.shape[-1]:
            raise Error(f"a convolution of {x.shape} has no output")
        if conv.shortcut is not None and known[conv.shortcut].shape != shape:
            raise Error(f"{known[conv.shortcut].shape} is added to {shape}")
        self._prepared[conv] = self._library.prepared(conv, x.shape, shape)
        return _Tensor(x.dtype, shape)

    def _session_outputs(
        self, part: ModelPart, values: dict[Operand, ort.OrtValue]
    ) -> dict[Operand, ort.OrtValue]:
        session = self._sessions[part]
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
        first = {o: place for place, part in enumerate(parts) for o in part.outputs}
        last = first | {o: place for place, part in enumerate(parts) for o in part.inputs}
        between = [operand for operand in first if operand not in self._given]
        lifetimes = [Lifetime(tensors[o].nbytes, first[o], last[o]) for o in between]
        offsets, size = offsets_of(lifetimes)
        workspace = max((prepared.workspace for prepared in self._prepared.values()), default=0)
        block = self._empty(_Tensor(np.dtype(np.uint8), (max(size + workspace, 1),)))
        addresses = {o: block.data_ptr() + offset for o, offset in zip(between, offsets, strict=True)}
        self._workspace = block.data_ptr() + size
        return addresses | {o: value.data_ptr() for o, value in self._given.items()}, block

    def _begin_of(self, part: Part, tensors: dict[Operand, _Tensor]) -> Callable[[], None]:
        if isinstance(part, FusedConvolution):
            return self._begin_convolution(part)
        session = self._sessions[part]
        binding = session.io_binding()
        for bind, arguments, operands in (
            (binding.bind_input, session.get_inputs(), part.inputs),
            (binding.bind_output, session.get_outputs(), part.outputs),
        ):
            for argument, operand in zip(arguments, operands, strict=True):
                tensor, address = tensors[operand], self._addresses[operand]
                memory, index = self._island.memory, self._island.index
                bind(argument.name, memory, index, tensor.dtype.type, tensor.shape, address)
        options = begin_options()
        return lambda: session.run_with_iobinding(binding, options)

    def _begin_convolution(self, conv: FusedConvolution) -> Callable[[], None]:
        weights, bias = (value.data_ptr() for value in self._island.constants(conv))
        x, output = self._addresses[conv.x], self._addresses[conv.output]
        shortcut = self._addresses[conv.shortcut] if conv.shortcut is not None else 0
        prepared = self._prepared[conv]
        return lambda: prepared.begin(x, weights, bias, shortcut, output, self._workspace)

    def _empty(self, tensor: _Tensor) -> ort.OrtValue:
        shape, memory = list(tensor.shape), (self._island.memory, self._island.index)
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, tensor.dtype.type, *memory)


def _tensor_of(value: ort.OrtValue) -> _Tensor:
    array = DeviceArray(value)
    return _Tensor(array.dtype, array.shape)
