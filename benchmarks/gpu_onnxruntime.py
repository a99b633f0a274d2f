"""A contender of `gpu.py`: ONNX Runtime alone, with a model that tfport exported and the usual options."""

import tempfile
from pathlib import Path

import onnxruntime as ort
from gpu_timing import BATCHES, each_model, inputs_of, median_ms, report

import tfport
from tfport.runtime.export import export_signature


def measure(path: Path) -> None:
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.onnx")
        session = tfport.Session(str(path))
        export_signature(session, session.model.signatures["serving_default"], str(file))
        alone = ort.InferenceSession(str(file), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    (name,), outputs = [i.name for i in alone.get_inputs()], [o.name for o in alone.get_outputs()]
    times = {}
    for batch in BATCHES:
        ((_, array),) = inputs_of(path, batch).items()
        times[f"host_{batch}"] = median_ms(lambda array=array: alone.run(None, {name: array}))
        binding = alone.io_binding()
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
        for output in outputs:
            binding.bind_output(output, "cuda", 0)

        def resident(binding: ort.IOBinding = binding) -> None:
            alone.run_with_iobinding(binding)
            binding.synchronize_outputs()

        times[f"device_{batch}"] = median_ms(resident)
    report(path, "ONNX Runtime", "tf32", times)


if __name__ == "__main__":
    each_model(measure)
