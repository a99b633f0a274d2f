"""LiteRT and OpenVINO on a `.tflite` file, in processes of their own: `lite_contenders.py JOB.json`."""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from tfport.runtime.bench import worker


def litert_call(job: dict[str, Any]) -> worker.Call:
    """Run the file with LiteRT's interpreter and its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=job["model"], num_threads=job["threads"])
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()

    def call(arrays: dict[str, Any]) -> list[Any]:
        for detail, array in zip(inputs, arrays.values(), strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in outputs]

    return call


def openvino_call(job: dict[str, Any]) -> worker.Call:
    """Run the file with OpenVINO's TensorFlow Lite frontend."""
    import openvino

    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": job["threads"]}
    compiled = core.compile_model(core.read_model(job["model"]), "CPU", options)
    return lambda arrays: compiled(list(arrays.values()))


CONTENDERS = {"tfport": worker.tfport_call, "litert": litert_call, "openvino": openvino_call}


def main(path: str) -> None:
    """Measure a contender; processor time does not depend on what else the machine does."""
    job = json.loads(Path(path).read_text())
    seconds: list[float] = []

    def make(job: dict[str, Any]) -> worker.Call:
        call = CONTENDERS[job["contender"]](job)

        def timed(arrays: dict[str, Any]) -> Any:
            started = time.process_time()
            answer = call(arrays)
            seconds.append(time.process_time() - started)
            return answer

        return timed

    print(json.dumps({**worker.measure(job, make), "cpu": statistics.median(seconds[1:])}))


if __name__ == "__main__":
    main(sys.argv[1])
