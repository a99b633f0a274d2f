"""A limit on the memory that ONNX Runtime uses for the tensors of its runs.

ONNX Runtime can limit an arena that the sessions of a process share, not that of one session. Weights do
not count. Free memory in pieces that are too small would look like a lack of it, so a run that fails is
repeated after the arena has returned what it does not use (`shrink_arena`).
"""

from __future__ import annotations

import functools
import threading

import numpy as np
import onnxruntime as ort

from tfport.formats.proto import onnx_pb2 as pb

FLOAT = 1
AS_REQUESTED = 1
"""The arena grows by what is needed, not to the next power of two."""
_lock = threading.Lock()
_limit = 0


def use_limited_arena(options: ort.SessionOptions, max_bytes: int) -> None:
    """Make a session use the shared arena; the first limit in a process is the one that counts."""
    global _limit
    with _lock:
        if not _limit:
            where = ort.OrtMemoryInfo(
                "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
            )
            settings = ort.OrtArenaCfg({"max_mem": max_bytes, "arena_extend_strategy": AS_REQUESTED})
            ort.create_and_register_allocator(where, settings)
            _limit = max_bytes
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")


def shrink_arena() -> None:
    """Return the memory of the arena that no run uses."""
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    _smallest_session().run(None, {"x": np.zeros(1, np.float32)}, options)


@functools.cache
def _smallest_session() -> ort.InferenceSession:
    model = pb.ModelProto(ir_version=9)
    model.opset_import.add(version=17)
    model.graph.name = "shrink"
    model.graph.node.add(op_type="Neg", input=["x"], output=["y"])
    for name, infos in (("x", model.graph.input), ("y", model.graph.output)):
        infos.add(name=name).type.tensor_type.elem_type = FLOAT
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.use_env_allocators", "1")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
