"""The other engines of the runtime benchmark, in their own processes: `runtime_contenders.py JOB.json`."""

import json
import sys
from pathlib import Path
from typing import Any

from tfport.runtime.bench import worker


def tf2onnx_call(job: dict[str, Any]) -> worker.Call:
    """Run the model that tf2onnx converted before, with ONNX Runtime."""
    import onnxruntime as ort

    session = ort.InferenceSession(job["model"] + "/tf2onnx.onnx", providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    return lambda inputs: session.run(outputs, inputs)


def openvino_call(job: dict[str, Any]) -> worker.Call:
    """Run the SavedModel with OpenVINO's TensorFlow frontend."""
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(job["model"]), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda inputs: compiled(inputs)


CONTENDERS = {**worker.CONTENDERS, "tf2onnx": tf2onnx_call, "openvino": openvino_call}


def main(path: str) -> None:
    job = json.loads(Path(path).read_text())
    print(json.dumps(worker.measure(job, CONTENDERS[job["contender"]])))


if __name__ == "__main__":
    main(sys.argv[1])
