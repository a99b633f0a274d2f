"""One arena for the tensors of all runs of a process, which can be limited and gives back what is unused.

By default each session of ONNX Runtime has an arena of its own, which keeps what its largest run needed until
the session ends. Sessions with a shared arena take turns with the same memory; `shrink_arenas` returns what
no run uses to the system. Weights are not in it. An arena has one limit: there is one for each.

Sessions with arenas of their own return memory with `KeptMemory`: a server looks from time to time, but a
program that calls a session has no such time, and should not get a thread for it.

With a limit, free memory in pieces that are too small would look like a lack of it, so a run that fails is
repeated after the arena has shrunk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnxruntime as ort

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.freed_memory import also_return

FLOAT = 1
AS_REQUESTED = 1
"""The arena grows by what is needed, not to the next power of two."""
SHRINKS = "memory.enable_memory_arena_shrinkage"
"""The option of a run after which the arena of its session returns what is not in use."""
WORTHWHILE = 1 << 20
"""Bytes of an input up to which a run's memory is kept."""
GROWN, SMALLER = 1.5, 4
"""Inputs so many times as large make the arena grow; it is too large for inputs so many times smaller."""
SMALL_RUNS = 16
"""Runs in turn with such small inputs after which the arena is too large."""
_lock = threading.Lock()
_registered: int | None = None
"""The limit of the arena that new sessions get."""
_smallest: dict[int, ort.InferenceSession] = {}
"""A session in each arena, by its limit."""


def use_shared_arena(options: ort.SessionOptions, max_bytes: int = 0) -> None:
    """Make the next session use the arena with this limit; 0 means none."""
    global _registered
    with _lock:
        if _registered is None:
            also_return(shrink_arenas)
        if _registered != max_bytes:
            where = ort.OrtMemoryInfo(
                "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
            )
            limit = {"max_mem": max_bytes} if max_bytes else {}
            # sessions that exist keep the arena that was registered before
            ort.create_and_register_allocator(
                where, ort.OrtArenaCfg({"arena_extend_strategy": AS_REQUESTED, **limit})
            )
            _registered, _smallest[max_bytes] = max_bytes, _smallest_session()
    _take_registered(options)


class KeptMemory:
    """Decides after which runs a session's own arena returns its memory.

    The first run with much larger inputs returns what it needed: a large batch may never come again. If it
    does, the memory is kept, until several runs in turn were much smaller. So a program that repeats its
    calls asks the system for memory twice, not in each call.
    """

    def __init__(self) -> None:
        self._largest = 0
        self._small_runs = 0

    def is_returned_after(self, arrays: Iterable[Any]) -> bool:
        """Whether the run with these inputs, which comes next, returns the memory."""
        if not self._largest:  # small models are called in microseconds
            for array in arrays:
                if array.nbytes > WORTHWHILE:
                    break
            else:
                return False
        size = sum(array.nbytes for array in arrays)
        if size > max(self._largest * GROWN, WORTHWHILE):
            self._largest = size
            return True
        if size * SMALLER > self._largest:
            self._small_runs = 0
            return False
        self._small_runs += 1
        if self._small_runs < SMALL_RUNS:
            return False
        self._largest = self._small_runs = 0
        return True


def returning(options: ort.RunOptions | None = None) -> ort.RunOptions:
    """Options of a run after which the arena returns what is not in use: these, or new ones."""
    options = options or ort.RunOptions()
    options.add_run_config_entry(SHRINKS, "cpu:0")
    return options


def shrink_arenas() -> None:
    """Return the memory that no run uses to the system."""
    options = returning()
    for session in list(_smallest.values()):
        session.run(None, {"x": np.zeros(1, np.float32)}, options)


def _take_registered(options: ort.SessionOptions) -> None:
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")


def _smallest_session() -> ort.InferenceSession:
    model = pb.ModelProto(ir_version=9)
    model.opset_import.add(version=17)
    model.graph.name = "shrink"
    model.graph.node.add(op_type="Neg", input=["x"], output=["y"])
    for name, infos in (("x", model.graph.input), ("y", model.graph.output)):
        infos.add(name=name).type.tensor_type.elem_type = FLOAT
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    _take_registered(options)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
