"""Replay an island as a CUDA graph: one launch in place of one for each kernel.

A graph belongs to the shapes of its inputs and to the memory that it was captured with: inputs are copied
there, and outputs from there, unless the caller wants neither (`in_place`). Shapes that come back are
captured; others run one kernel after another.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfport.errors import Error
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.cuda_runtime import address_of
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_island import GpuIsland, Shapes
from tfport.runtime.engines.gpu.graph_stream import GraphStream
from tfport.runtime.engines.gpu.in_place import Replay, addresses, is_in_place, keep_replay
from tfport.runtime.engines.gpu.preparation import PREPARATIONS
from tfport.runtime.engines.onnx_runtime import run_error

RUNS_BEFORE = 2
"""Runs with some shapes before they are captured: many shapes come only once."""
MAX_SEEN = 1000


class GraphKey(NamedTuple):
    """What a graph belongs to."""

    shapes: Shapes
    memory: tuple[int, ...] | None = None
    """Addresses of the inputs that it reads; None if they are copied into memory of its own."""


class CapturedIsland:
    """An island whose usual shapes are CUDA graphs; any thread may run it.

    Shapes run as they come at first. When they come back, what is faster for them is prepared beside the
    calls: a graph, or where that is impossible, an island that takes long to begin.
    """

    def __init__(
        self,
        island: GpuIsland,
        stream: GraphStream,
        to_capture: Callable[[Shapes], GpuIsland | None],
        max_graphs: int,
        *,
        plain: Callable[[], GpuIsland] | None = None,
        tuned: Callable[[], GpuIsland] | None = None,
    ) -> None:
        """`to_capture`: the island to capture for some shapes, on the stream; None if there is none.

        `plain`: makes the island that takes the place of `island` if that was captured and a graph failed.
        `tuned`: the island for shapes that come back and are not captured; None if it is `island`.
        """
        self._island, self._to_capture, self._max_graphs = island, to_capture, max_graphs
        self._stream, self._plain, self._tuned = stream, plain, tuned
        self._graphs: dict[GraphKey, CudaGraph | None] = {}
        self._seen: Counter[GraphKey] = Counter()
        self._tuned_shapes: set[Shapes] = set()
        self._lock = threading.Lock()
        """A graph has one set of buffers, and all graphs of a session share what they compute in between."""

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        memory = addresses(arrays) if is_in_place() else ()
        key = GraphKey(tuple([array.shape for array in arrays]), memory or None)
        with self._lock:
            graph = self._graphs.get(key)
            if graph is not None:
                try:
                    outputs = graph.run(arrays)
                except EngineFailed:
                    self._without_graphs()
                else:
                    if memory:
                        keep_replay(Replay(functools.partial(self._again, key), outputs))
                    return outputs
            outputs = self._for(key.shapes).run(arrays)
            comes_back = self._comes_back(key)
        if comes_back:
            sizes = tuple(tuple(output.shape) for output in outputs)
            PREPARATIONS.begin(functools.partial(self._prepare, key, list(arrays), sizes))
        return outputs

    def _for(self, shapes: Shapes) -> GpuIsland:
        return self._tuned() if self._tuned is not None and shapes in self._tuned_shapes else self._island

    def _again(self, key: GraphKey) -> list[Any] | None:
        """Launch a graph that reads its inputs where they are; None if it cannot, or has raised a flag."""
        with self._lock:
            graph = self._graphs.get(key)
            try:
                outputs = graph.run(()) if graph is not None else None
            except EngineFailed:
                return None
        if outputs is None or any(outputs[self._island.left :]):
            return None
        return outputs

    def _without_graphs(self) -> None:
        """After a graph has failed, its session can do no more: use others, and capture nothing again."""
        self._max_graphs = 0
        self._graphs.clear()
        if self._plain is not None:
            self._island, self._plain = self._plain(), None

    def _comes_back(self, key: GraphKey) -> bool:
        """Whether a shape comes back for the first time."""
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen[key] += 1
        return self._seen[key] == RUNS_BEFORE and key not in self._graphs

    def _prepare(self, key: GraphKey, arrays: Sequence[Any], outputs: Shapes) -> None:
        """Make what is faster for a shape; calls go on meanwhile, unless they use the same session."""
        if len(self._graphs) < self._max_graphs:
            shares_session = self._plain is not None
            with self._lock if shares_session else contextlib.nullcontext():
                try:
                    self._graphs[key] = self._captured(key, arrays, outputs)
                except EngineFailed:
                    self._without_graphs()
                except Error:
                    self._graphs[key] = None
        if self._graphs.get(key) is None and self._tuned is not None:
            self._tuned().run(arrays)
            if len(self._tuned_shapes) >= MAX_SEEN:
                self._tuned_shapes.clear()
            self._tuned_shapes.add(key.shapes)

    def _captured(self, key: GraphKey, arrays: Sequence[Any], outputs: Shapes) -> CudaGraph | None:
        island = self._to_capture(key.shapes)
        if island is None or not all(math.prod(shape) for shape in outputs):
            return None
        try:
            with GPU_LOCK.running():
                graph = CudaGraph(island, self._stream, key.shapes, outputs, arrays if key.memory else None)
        except Exception:  # such as too little memory for its buffers: the island runs without it
            return None
        graph.capture(arrays)
        return graph


class CudaGraph:
    """The graph for some shapes, with its buffers: it is captured once, and then each run replays it."""

    def __init__(
        self,
        island: GpuIsland,
        stream: GraphStream,
        shapes: Shapes,
        outputs: Shapes,
        arrays: Sequence[DeviceArray] | None = None,
    ) -> None:
        """`shapes` of the inputs, and of the `outputs`.

        With `arrays`, the inputs are read from their memory, and the outputs of each run lie in the same one.
        """
        self._island, self._stream, self._in_place = island, stream, arrays is not None
        self._inputs = [array.value for array in arrays or ()] or [
            island.empty(shape, island.types[name]) for name, shape in zip(island.inputs, shapes, strict=True)
        ]
        kinds = {output.name: output.type for output in island.session.get_outputs()}
        self._outputs = [
            DeviceArray(island.empty(shape, kinds[name]))
            for name, shape in zip(island.outputs, outputs, strict=True)
        ]
        self._landings = [_Landing(stream, output) for output in self._outputs[island.left :]]
        self._bound = island.bound(self._inputs, [output.value for output in self._outputs])
        self._replay: Callable[[], None] | None = None

    def capture(self, arrays: Sequence[Any]) -> None:
        """Run once, so that kernels are chosen and memory is taken, and capture the next run."""
        try:
            with GPU_LOCK.running():
                self._fill(arrays)
                self._stream.wait()
                self._bound.run()
            self._replay = self._stream.record(self._bound.begin)
        except Exception as error:  # ONNX Runtime raises many exception classes
            raise run_error(error, "the GPU") from None

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        assert self._replay is not None
        try:
            with GPU_LOCK.running():
                self._fill(arrays)
                self._replay()
                return self._returned()
        except Exception as error:  # ONNX Runtime raises many exception classes
            raise run_error(error, "the GPU") from None

    def _fill(self, arrays: Sequence[Any]) -> None:
        if self._in_place:
            return
        for value, array in zip(self._inputs, arrays, strict=True):
            if type(array) is DeviceArray:
                self._stream.copy(value.data_ptr(), array.value.data_ptr(), array.nbytes)
            else:
                self._island.fill(value, array)

    def _returned(self) -> list[Any]:
        """The outputs, when they are computed: copies, or in place new objects for the same memory.

        A `DeviceArray` that was read keeps what it read.
        """
        results: list[Any] = []
        for output in self._outputs[: self._island.left]:
            if self._in_place:
                results.append(DeviceArray(output.value, output))
            else:
                results.append(copied := self._island.empty_like(output))
                self._stream.copy(copied.value.data_ptr(), output.value.data_ptr(), output.nbytes)
        for landing in self._landings:
            self._stream.land(*landing.copy)
        self._stream.wait()
        return results + [landing.array.copy() for landing in self._landings]


class _Landing:
    """Where an output goes that is wanted on the host."""

    def __init__(self, stream: GraphStream, output: DeviceArray) -> None:
        memory = stream.landing(output.nbytes)
        self.array = memory.view(output.dtype).reshape(output.shape)
        self.copy = address_of(memory), output.value.data_ptr(), output.nbytes
