"""One arena for the tensors of all runs of a process, which can be limited and gives back what is unused.

By default each session of ONNX Runtime has an arena of its own, which keeps what its largest run needed until
the session ends. Sessions with a shared arena take turns with the same memory; `shrink_arenas` returns what
no run uses to the system. Weights are not in it. An arena has one limit: there is one for each.

With a limit, free memory in pieces that are too small would look like a lack of it, so a run that fails is
repeated after the arena has shrunk.
"""

from __future__ import annotations

import threading

import numpy as np
import onnxruntime as ort

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.freed_memory import also_return

FLOAT = 1
AS_REQUESTED = 1
"""The arena grows by what is needed, not to the next power of two."""
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


def shrink_arenas() -> None:
    """Return the memory that no run uses to the system."""
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
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
