"""Make the islands of a model for a GPU: as they come, as CUDA graphs, and for certain shapes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.runtime.engines.engine import NO_HINTS, IslandHints
from tfport.runtime.engines.gpu.captured_island import CapturedIsland, Shapes
from tfport.runtime.engines.gpu.device_name import CPU, TENSORRT
from tfport.runtime.engines.gpu.fixed_shapes import with_fixed_shapes
from tfport.runtime.engines.gpu.gpu_island import GpuIsland
from tfport.runtime.engines.onnx_runtime import CONVOLUTION

if TYPE_CHECKING:
    import onnxruntime as ort
    from numpy.typing import NDArray

    from tfport.runtime.engines.gpu.gpu_engine import GpuEngine

MEMORY = "cuda"
"""What ONNX Runtime calls the memory of the device."""
CANNOT_CAPTURE = "cannot use the graph capture feature"
FASTER_WITH_SIZES = (b"LayerNormalization",)
"""What a serialized model contains that ONNX Runtime fuses with other nodes only if all sizes are known."""


class IslandFactory:
    """Makes the islands of one model."""

    def __init__(
        self,
        engine: GpuEngine,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> None:
        self._engine, self._model, self._weights = engine, model, weights
        self._inputs, self._outputs, self._hints = inputs, outputs, hints
        self._special: dict[int, GpuIsland] = {}
        """Islands for certain numbers of images, by the number of nodes: the more images, the more differ."""
        self._of_shapes: dict[Shapes, GpuIsland | None] = {}

    def plain(self) -> GpuIsland:
        return self._with(self._engine.session(self._model, self._weights))

    def island(self) -> GpuIsland | CapturedIsland:
        """The island with CUDA graphs, if they are wanted and there is a GPU."""
        max_graphs, kind = self._engine.options.max_graphs, self._engine.device.kind
        if not max_graphs or kind in (CPU, TENSORRT):
            return self.plain()
        if any(name in self._model for name in FASTER_WITH_SIZES):
            return CapturedIsland(self.plain(), self._fixed, max_graphs)
        if CONVOLUTION in self._model:
            return CapturedIsland(self.plain(), self.optimized, max_graphs)
        try:
            whole = self._whole
        except Error as error:
            if CANNOT_CAPTURE not in str(error):
                raise
            return CapturedIsland(self.plain(), self._fixed, max_graphs)
        return CapturedIsland(whole, lambda shapes: whole, max_graphs, self.plain)

    def optimized(self, shapes: Shapes) -> GpuIsland | None:
        """The island with all that pays for shapes that come back; it takes cuDNN seconds to prepare.

        cuDNN compiles convolutions in 16 bits for a shape. If ONNX Runtime compiled others in their place for
        another shape, a graph that still has the first ones would end with an illegal instruction.
        """
        if self._engine.options.half is not None:
            return self._fixed(shapes)
        try:
            return self._for_batch(shapes) or self._whole
        except Error:
            return self._fixed(shapes)

    def _for_batch(self, shapes: Shapes) -> GpuIsland | None:
        """The island that is faster for as many images as the first input has."""
        batch = shapes[0][0] if shapes and shapes[0] else 1
        special = self._hints.for_batch(batch) if self._hints.for_batch is not None else None
        if special is None:
            return None
        count = len(special.model.graph.node)
        if count not in self._special:
            session = self._engine.session(special.model.SerializeToString(), special.weights, graphs=True)
            self._special[count] = self._with(session, captures=True)
        return self._special[count]

    @functools.cached_property
    def _whole(self) -> GpuIsland:
        return self._with(self._engine.session(self._model, self._weights, graphs=True), captures=True)

    def _fixed(self, shapes: Shapes) -> GpuIsland | None:
        """The island for these shapes alone: what computes sizes on the CPU is constant then."""
        if shapes not in self._of_shapes:
            model = with_fixed_shapes(self._model, dict(zip(self._inputs, shapes, strict=True)))
            try:
                session = self._engine.session(model, self._weights, graphs=True)
                self._of_shapes[shapes] = self._with(session, captures=True)
            except Error:
                self._of_shapes[shapes] = None
        return self._of_shapes[shapes]

    def _with(self, session: ort.InferenceSession, *, captures: bool = False) -> GpuIsland:
        memory = MEMORY if self._engine.device.is_gpu else CPU
        index = self._engine.device.index
        uploads = self._engine.large_uploads
        return GpuIsland(
            session,
            self._inputs,
            self._outputs,
            memory,
            index,
            captures=captures,
            uploads=uploads,
            host_outputs=self._hints.host_outputs,
        )
