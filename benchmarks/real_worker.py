"""Run one contender of `benchmarks/real.py` in this process: `real_worker.py JOB.json`.

It loads the model, calls it twice, then repeatedly for some seconds. It prints as JSON: seconds to the first
answer, seconds of the second, seconds and processor seconds per call, and the peak of resident memory; for
tfport also where the time goes, if the job asks for it. Every contender is called in its fastest way:
TensorFlow by a session's `make_callable`, with its default options.
"""

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
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


def auto_call(job: dict[str, Any]) -> Call:
    """Run the model with the engine `auto`: islands race in the second call, and nothing is remembered."""
    from tfport.runtime.engines.auto import AutoEngine
    from tfport.runtime.engines.choice_cache import ChoiceCache
    from tfport.runtime.session import Session

    session = Session(job["model"], engine=AutoEngine(choices=ChoiceCache(None), patience=0))
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
            try:
                saver = v1.train.import_meta_graph(job["model"], clear_devices=True)
                saver.restore(session, job["model"].removesuffix(".meta"))
            except ValueError:  # its nodes of training contradict TensorFlow 2
                return _graph_def_call(job, job["frozen"])
        else:
            return _graph_def_call(job, job["graph_def"])
        call = session.make_callable(job["fetches"], feed_list=job["feeds"])
    try:
        call(*read_inputs(job["inputs"]))
    except tf.errors.FailedPreconditionError:  # sessions restore no variables of what Keras 3 exports
        return _graph_def_call(job, job["frozen"])
    return lambda arrays: call(*arrays)


def _graph_def_call(job: dict[str, Any], path: str) -> Call:
    import tensorflow as tf

    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(v1.GraphDef.FromString(Path(path).read_bytes()), name="")
        call = v1.Session(graph=graph).make_callable(job["fetches"], feed_list=job["feeds"])
    return lambda arrays: call(*arrays)


def openvino_call(job: dict[str, Any]) -> Call:
    """Run the model with OpenVINO in float32.

    The first of these that it can read and run: the model as it is; its frozen GraphDef, by OpenVINO's
    TensorFlow frontend; the ONNX file that `tfport export` writes.
    """
    import openvino

    core = openvino.Core()
    arrays, errors = read_inputs(job["inputs"]), []
    for path in filter(None, (job["model"], job["frozen"], job["onnx"])):
        try:
            model = core.read_model(path)
            order = [_feed_of(value.names, job) for value in model.inputs]
            compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            answers = compiled([arrays[i] for i in order])
            if not all(answer.size for answer in answers.values()):
                raise ValueError("empty answers")  # with one thread, it does not report errors of a run
        except Exception as error:  # it raises many classes, of which most are RuntimeError
            errors.append(f"{Path(path).name}: {str(error).strip().splitlines()[-1]}")
        else:
            return lambda arrays: compiled([arrays[i] for i in order])
    raise SystemExit("; ".join(errors))


def _feed_of(names: set[str], job: dict[str, Any]) -> int:
    """The number of the feed that an input of OpenVINO's model has as one of its names."""
    for i, (feed, name) in enumerate(zip(job["feeds"], job["input_names"], strict=True)):
        if names & {feed, feed.partition(":")[0], name}:
            return i
    raise ValueError(f"unknown input {sorted(names)}")


def tf2onnx_call(job: dict[str, Any]) -> Call:
    """Run the model that tf2onnx makes of the frozen GraphDef, with ONNX Runtime."""
    import onnxruntime as ort

    session = ort.InferenceSession(job["tf2onnx"], providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    inputs = [(job["feeds"].index(value.name), value.name) for value in session.get_inputs()]
    return lambda arrays: session.run(outputs, {name: arrays[i] for i, name in inputs})


def litert_call(job: dict[str, Any]) -> Call:
    """Run the `.tflite` file that TensorFlow makes of the frozen GraphDef, with LiteRT and XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=job["tflite"], num_threads=len(os.sched_getaffinity(0)))
    interpreter.allocate_tensors()
    indices = {
        detail["name"].removesuffix(":0"): detail["index"] for detail in interpreter.get_input_details()
    }
    inputs = [indices[feed.removesuffix(":0")] for feed in job["feeds"]]
    outputs = [detail["index"] for detail in interpreter.get_output_details()]

    def call(arrays: list[Any]) -> list[Any]:
        for place, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        return [interpreter.get_tensor(place) for place in outputs]

    return call


CONTENDERS: dict[str, Callable[[dict[str, Any]], Call]] = {
    "tfport": tfport_call,
    "auto": auto_call,
    "tensorflow": tensorflow_call,
    "openvino": openvino_call,
    "tf2onnx": tf2onnx_call,
    "litert": litert_call,
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
    second = time.perf_counter() - STARTED - first
    end = time.perf_counter() + job["seconds"]
    latencies: list[float] = []
    before = time.process_time()
    while len(latencies) < 3 or time.perf_counter() < end:
        started = time.perf_counter()
        call(arrays)
        latencies.append(time.perf_counter() - started)
    processor = (time.process_time() - before) / len(latencies)
    return {
        "first": first, "second": second, "latencies": latencies, "processor": processor,
        "peak": peak_memory(),
    }  # fmt: skip


def peak_memory() -> int:
    """The most resident memory so far; unlike `ru_maxrss`, without what the parent process had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def profiled(job: dict[str, Any]) -> dict[str, Any]:
    """Where tfport's time goes, as in `tfport bench --profile --json`."""
    from tfport.reports.profile import profile_json
    from tfport.runtime.profile.profile import profile_calls
    from tfport.runtime.session import Session

    feeds = dict(zip(job["feeds"], read_inputs(job["inputs"]), strict=True))
    profile = profile_calls(
        lambda: Session(job["model"]), lambda session: session.run(job["fetches"], feeds), seconds=0
    )
    return profile_json(profile)


def main(path: str) -> None:
    job = json.loads(Path(path).read_text())
    result = measure(job)
    if job["contender"] == "tfport" and job["profile"]:
        result["profile"] = profiled(job)
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
