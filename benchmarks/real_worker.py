"""Run one contender of `benchmarks/real.py` in this process: `real_worker.py JOB.json`.

It loads the model, calls it once, then repeatedly for some seconds. It prints as JSON: seconds to the first
answer, seconds and processor seconds per call, and the peak of resident memory. Every contender is called
in its fastest way: TensorFlow by a session's `make_callable`, with its default options.
"""

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

Call = Callable[[list[Any]], Any]


def tfport_call(job: dict[str, Any]) -> Call:
    from tfport.runtime.session import Session

    session = Session(job["model"])
    names, fetches = job["feeds"], job["fetches"]
    return lambda arrays: session.run(fetches, dict(zip(names, arrays, strict=True)))


def tensorflow_call(job: dict[str, Any]) -> Call:
    import tensorflow as tf

    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        session = v1.Session(graph=graph)
        if job["kind"] == "saved_model":
            v1.saved_model.load(session, job["tags"], job["model"])
        elif job["kind"] == "meta_graph":
            saver = v1.train.import_meta_graph(job["model"], clear_devices=True)
            saver.restore(session, job["model"].removesuffix(".meta"))
        else:
            tf.import_graph_def(v1.GraphDef.FromString(Path(job["graph_def"]).read_bytes()), name="")
        call = session.make_callable(job["fetches"], feed_list=job["feeds"])
    return lambda arrays: call(*arrays)


def openvino_call(job: dict[str, Any]) -> Call:
    """Run the model with OpenVINO's TensorFlow frontend, in float32."""
    import openvino

    core = openvino.Core()
    model = core.read_model(job["model"] if job["kind"] != "tfjs" else job["graph_def"])
    names = [sorted(value.names) for value in model.inputs]
    order = [next(i for i, feed in enumerate(job["feeds"]) if feed in n or feed[:-2] in n) for n in names]
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda arrays: compiled([arrays[i] for i in order])


CONTENDERS: dict[str, Callable[[dict[str, Any]], Call]] = {
    "tfport": tfport_call,
    "tensorflow": tensorflow_call,
    "openvino": openvino_call,
}


def read_inputs(path: str) -> list[Any]:
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        arrays = [file[name] for name in file.files]
    return [array.astype(object) if array.dtype.kind == "S" else array for array in arrays]


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Load the model, call it once, then repeatedly until the time is over, at least three times."""
    call = CONTENDERS[job["contender"]](job)
    arrays = read_inputs(job["inputs"])
    call(arrays)
    first = time.perf_counter() - STARTED
    call(arrays)
    end = time.perf_counter() + job["seconds"]
    latencies: list[float] = []
    before = time.process_time()
    while len(latencies) < 3 or time.perf_counter() < end:
        started = time.perf_counter()
        call(arrays)
        latencies.append(time.perf_counter() - started)
    processor = (time.process_time() - before) / len(latencies)
    return {"first": first, "latencies": latencies, "processor": processor, "peak": peak_memory()}


def peak_memory() -> int:
    """The most resident memory so far; unlike `ru_maxrss`, without what the parent process had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(Path(sys.argv[1]).read_text()))))
