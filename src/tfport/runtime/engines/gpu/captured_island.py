"""Replay an island as a CUDA graph: one launch in place of one for each kernel.

A graph belongs to the shapes of its inputs and to the memory that it was captured with: inputs are copied
there, and outputs from there, unless the caller wants neither (`in_place`). Shapes that come back are
captured; others run one kernel after another.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import onnxruntime as ort

from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_island import GRAPH_ID, GpuIsland
from tfport.runtime.engines.gpu.in_place import addresses, is_in_place
from tfport.runtime.engines.onnx_runtime import run_error

RUNS_BEFORE = 2
"""Runs with some shapes before they are captured: many shapes come only once."""
MAX_SEEN = 1000
Shapes = tuple[tuple[int, ...], ...]


class GraphKey(NamedTuple):
    """What a graph belongs to."""

    shapes: Shapes
    places: tuple[int, ...] | None = None
    """Addresses of the inputs that it reads; None if they are copied into memory of its own."""


class CapturedIsland:
    """An island whose usual shapes are CUDA graphs; any thread may run it."""

    def __init__(
        self,
        island: GpuIsland,
        to_capture: Callable[[Shapes], GpuIsland | None],
        max_graphs: int,
        plain: Callable[[], GpuIsland] | None = None,
    ) -> None:
        """`to_capture`: the island to capture for some shapes; None if they cannot be captured.

        `plain`: makes the island that takes the place of `island` if that was captured and a graph failed.
        """
        self._island, self._to_capture, self._max_graphs = island, to_capture, max_graphs
        self._plain = plain
        self._graphs: dict[GraphKey, CudaGraph | None] = {}
        self._seen: Counter[GraphKey] = Counter()
        self._lock = threading.Lock()
        """A graph has one set of buffers, and a session must not run while it captures."""

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        key = GraphKey(tuple(tuple(array.shape) for array in arrays))
        if is_in_place() and (places := addresses(arrays)):
            key = key._replace(places=places)
        with self._lock:
            graph = self._graphs.get(key)
            if graph is not None:
                try:
                    return graph.run(arrays)
                except EngineFailed:
                    self._without_graphs()
            outputs = self._island.run(arrays)
            if key not in self._graphs and self._comes_back(key):
                self._graphs[key] = self._captured(key, arrays, outputs)
            return outputs

    def _without_graphs(self) -> None:
        """After a graph has failed, its session can do no more: use others, and capture nothing again."""
        self._max_graphs = 0
        self._graphs.clear()
        if self._plain is not None:
            self._island, self._plain = self._plain(), None

    def _comes_back(self, key: GraphKey) -> bool:
        if len(self._graphs) >= self._max_graphs:
            return False
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen[key] += 1
        return self._seen[key] >= RUNS_BEFORE

    def _captured(self, key: GraphKey, arrays: Sequence[Any], outputs: Sequence[Any]) -> CudaGraph | None:
        island = self._to_capture(key.shapes)
        if island is None or not all(output.size for output in outputs):
            return None
        with GPU_LOCK.running():
            sizes = tuple(tuple(output.shape) for output in outputs)
            inputs = arrays if key.places else None
            return CudaGraph(island, key.shapes, sizes, len(self._graphs) + 1, inputs)


class CudaGraph:
    """The graph for some shapes, with its buffers: the first run captures it, the next ones replay it."""

    def __init__(
        self,
        island: GpuIsland,
        shapes: Shapes,
        outputs: Shapes,
        number: int,
        arrays: Sequence[DeviceArray] | None = None,
    ) -> None:
        """`shapes` of the inputs, and of the `outputs`.

        With `arrays`, the inputs are read from their memory, and the outputs of each run lie in the same one.
        """
        self._island, self._in_place = island, arrays is not None
        self._inputs = [array.value for array in arrays or ()] or [
            island.empty(shape, island.types[name]) for name, shape in zip(island.inputs, shapes, strict=True)
        ]
        kinds = {output.name: output.type for output in island.session.get_outputs()}
        self._outputs = [
            DeviceArray(island.empty(shape, kinds[name]))
            for name, shape in zip(island.outputs, outputs, strict=True)
        ]
        self._binding = island.session.io_binding()
        for name, value in zip(island.inputs, self._inputs, strict=True):
            self._binding.bind_ortvalue_input(name, value)
        for name, output in zip(island.outputs, self._outputs, strict=True):
            self._binding.bind_ortvalue_output(name, output.value)
        self._thread = threading.local()
        """Whether this thread has captured it: ONNX Runtime keeps a graph for each."""
        self._options = ort.RunOptions()
        self._options.add_run_config_entry(GRAPH_ID, str(number))

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        is_captured = getattr(self._thread, "is_captured", False)
        try:
            with GPU_LOCK.running() if is_captured else GPU_LOCK.capturing():
                if not self._in_place:
                    for value, array in zip(self._inputs, arrays, strict=True):
                        self._island.fill(value, array)
                self._island.session.run_with_iobinding(self._binding, self._options)
                outputs = self._returned()
        except Exception as error:  # ONNX Runtime raises many exception classes
            raise run_error(error, "the GPU") from None
        self._thread.is_captured = True
        return outputs

    def _returned(self) -> list[Any]:
        if not self._in_place:
            return self._island.returned(self._outputs, copied=True)
        # new objects, as one that was read keeps a copy on the host
        return self._island.returned([DeviceArray(o.value, o) for o in self._outputs], copied=False)
