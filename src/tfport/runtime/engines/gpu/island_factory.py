"""Make the islands of a model for a GPU: as they come, as CUDA graphs, and for certain shapes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import Error
from tfport.runtime.engines.engine import NO_HINTS, IslandHints
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
from tfport.runtime.engines.gpu.cuda_operations import OperationLibrary
from tfport.runtime.engines.gpu.device_name import CPU, TENSORRT, DeviceName
from tfport.runtime.engines.gpu.gpu_island import GpuIsland, Shapes
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.engines.gpu.graph_stream import GraphStream
from tfport.runtime.engines.gpu.part_island import PartIsland, PartTools
from tfport.runtime.engines.gpu.pinned_memory import LargeUploads
from tfport.runtime.engines.onnx_runtime import CONVOLUTION
from tfport.runtime.engines.shared_island import with_fixed_shapes
from tfport.runtime.passes.islands.island_parts import ModelPart

if TYPE_CHECKING:
    import onnxruntime as ort
    from numpy.typing import NDArray

MEMORY = "cuda"
"""What ONNX Runtime calls the memory of the device."""
CANNOT_CAPTURE = "cannot use the graph capture feature"
FASTER_WITH_SIZES = (b"LayerNormalization",)
"""What a serialized model contains that ONNX Runtime fuses with other nodes only if all sizes are known."""
MAX_MODELS = 128
"""Sessions of an island in parts: each takes some time to make."""


class SessionMaker(Protocol):
    """An engine for one device."""

    device: DeviceName
    options: GpuOptions

    @property
    def large_uploads(self) -> LargeUploads: ...

    def graph_stream(self) -> GraphStream:
        """A stream for the CUDA graphs of an island."""
        ...

    def operations(self, stream: GraphStream) -> OperationLibrary:
        """What computes convolutions and products on a stream."""
        ...

    def session(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        stream: GraphStream | None = None,
        threads: int | None = None,
        *,
        tuned: bool = True,
    ) -> ort.InferenceSession:
        """A session on the device; one that is not tuned answers sooner at first."""
        ...


class IslandFactory:
    """Makes the islands of one model."""

    def __init__(
        self,
        engine: SessionMaker,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> None:
        self._engine, self._model, self._weights = engine, model, weights
        self._inputs, self._hints = inputs, hints
        self._of_shapes: dict[Shapes, GpuIsland | None] = {}

    def plain(self) -> GpuIsland:
        return self._with(self._engine.session(self._model, self._weights))

    @functools.cached_property
    def _usual(self) -> GpuIsland:
        """The island for shapes as they come."""
        return self._with(self._engine.session(self._model, self._weights, tuned=False))

    @functools.cached_property
    def _tuned(self) -> GpuIsland:
        """The island for shapes that come back and cannot be captured."""
        return self.plain()

    def island(self) -> GpuIsland | CapturedIsland:
        """The island with CUDA graphs, if they are wanted and there is a GPU."""
        max_graphs, kind = self._engine.options.max_graphs, self._engine.device.kind
        if kind in (CPU, TENSORRT) or (not max_graphs and not self._convolves):
            return self.plain()
        if self._convolves or self._needs_sizes or self._hints.in_parts is not None:
            tuned = (lambda: self._tuned) if self._convolves else None
            return CapturedIsland(self._usual, self._stream, self.optimized, max_graphs, tuned=tuned)
        try:
            whole = self._whole
        except Error as error:
            if CANNOT_CAPTURE not in str(error):
                raise
            return CapturedIsland(self._usual, self._stream, self._fixed, max_graphs)
        return CapturedIsland(whole, self._stream, lambda shapes: whole, max_graphs, plain=self.plain)

    def optimized(self, shapes: Shapes) -> GpuIsland | None:
        """The island with all that pays for shapes that come back."""
        return self._in_parts or self._in_one(shapes)

    def _in_one(self, shapes: Shapes) -> GpuIsland | None:
        """As `optimized`, in one session; it takes cuDNN seconds to prepare.

        cuDNN compiles convolutions for a shape, so each has a session of its own. If ONNX Runtime compiled
        others in their place for another shape, a graph that still has the first ones would end with an
        illegal instruction or access, and no session of the process could use the GPU any more.
        """
        if self._convolves or self._engine.options.half is not None or self._needs_sizes:
            return self._fixed(shapes)
        try:
            return self._whole
        except Error:
            return self._fixed(shapes)

    @functools.cached_property
    def _convolves(self) -> bool:
        return CONVOLUTION in self._model

    @functools.cached_property
    def _needs_sizes(self) -> bool:
        return any(name in self._model for name in FASTER_WITH_SIZES)

    @functools.cached_property
    def _stream(self) -> GraphStream:
        return self._engine.graph_stream()

    @functools.cached_property
    def _in_parts(self) -> PartIsland | None:
        """The island with operations of other libraries; None if that does not pay."""
        if self._hints.in_parts is None or self._engine.options.memory_bytes:
            return None
        island = self._hints.in_parts()
        if island is None or island.models > MAX_MODELS:
            return None
        try:
            library = self._engine.operations(self._stream)
        except Error:
            return None
        tools = PartTools(self._part_session, library, self._stream)
        session = self._usual.session
        return PartIsland(island, tools, self._in_one, session, *_names(session), **self._frame)

    def _part_session(self, part: ModelPart, shapes: Shapes) -> ort.InferenceSession:
        """The session of a part for inputs of these shapes."""
        names = [info.name for info in part.model.model.graph.input]
        sizes = dict(zip(names, shapes, strict=True))
        model = with_fixed_shapes(part.model.model.SerializeToString(), sizes)
        return self._engine.session(model, part.model.weights, self._stream, threads=1)

    @functools.cached_property
    def _whole(self) -> GpuIsland:
        return self._with(self._engine.session(self._model, self._weights, self._stream), captures=True)

    def _fixed(self, shapes: Shapes) -> GpuIsland | None:
        """The island for these shapes alone: what computes sizes on the CPU is constant then."""
        if shapes not in self._of_shapes:
            model, weights = self._model_for(shapes)
            fixed = with_fixed_shapes(model, dict(zip(self._inputs, shapes, strict=True)))
            try:
                session = self._engine.session(fixed, weights, self._stream)
                self._of_shapes[shapes] = self._with(session, captures=True)
            except Error:
                self._of_shapes[shapes] = None
        return self._of_shapes[shapes]

    def _model_for(self, shapes: Shapes) -> tuple[bytes, Mapping[str, NDArray[Any]]]:
        """The model that is fastest for as many sequences as the first input has, and its weights."""
        batch = shapes[0][0] if shapes and shapes[0] else 1
        special = self._hints.for_batch(batch) if self._hints.for_batch is not None else None
        if special is None:
            return self._model, self._weights
        return special.model.SerializeToString(), special.weights

    def _with(self, session: ort.InferenceSession, *, captures: bool = False) -> GpuIsland:
        return GpuIsland(session, *_names(session), captures=captures, **self._frame)

    @property
    def _frame(self) -> dict[str, Any]:
        """What is the same for all islands, besides their sessions."""
        return {
            "memory": MEMORY if self._engine.device.is_gpu else CPU,
            "index": self._engine.device.index,
            "uploads": self._engine.large_uploads,
            "host_outputs": self._hints.host_outputs,
        }


def _names(session: ort.InferenceSession) -> tuple[list[str], list[str]]:
    """What a model calls its inputs and outputs; other models of the same island may not."""
    return [each.name for each in session.get_inputs()], [each.name for each in session.get_outputs()]
