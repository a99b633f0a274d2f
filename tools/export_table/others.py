"""Convert models with another converter, in the Python that has it: a worker of `run.py`.

    PYTHON others.py tflite|tf2onnx|onnx2tf < jobs

`tflite` is tf.lite.TFLiteConverter with builtin ops, `tf2onnx` and `onnx2tf` are these packages. Keras files
are loaded by the Keras of the environment; a graph needs the names of its inputs and outputs. A job is a line
of JSON: path, signature, output, inputs, outputs. Each runs in a forked process, so that the libraries are
imported once; a line of JSON answers it. A format that the converter has no entry for ends with code 3.
"""

import json
import os
import signal
import sys
import tempfile
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
NO_ENTRY = 3
SECONDS = 300


def graph_def(tf, path):
    graph = tf.compat.v1.GraphDef()
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith("pbtxt"):
        from google.protobuf import text_format

        return text_format.Parse(data, graph)
    graph.ParseFromString(data)
    return graph


def tflite(path, signature, out, inputs, outputs):
    import tensorflow as tf

    if os.path.isdir(path):
        converter = tf.lite.TFLiteConverter.from_saved_model(path, signature_keys=[signature])
    elif path.endswith((".h5", ".keras")):
        converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(path, compile=False))
    elif path.endswith((".pb", ".pbtxt")):
        frozen = f"{out}.pb"
        with open(frozen, "wb") as file:
            file.write(graph_def(tf, path).SerializeToString())
        converter = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(frozen, inputs, outputs)
    else:
        sys.exit(NO_ENTRY)
    with open(out, "wb") as file:
        file.write(converter.convert())


def tf2onnx(path, signature, out, inputs, outputs):
    from tf2onnx import convert

    ends = [",".join(f"{name}:0" for name in names) for names in (inputs, outputs)]
    if os.path.isdir(path):
        command = ["--saved-model", path, "--signature_def", signature]
    elif path.endswith((".h5", ".keras")):
        command = ["--keras", path]
    elif path.endswith(".pb"):
        command = ["--graphdef", path, "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".meta"):
        command = ["--checkpoint", path, "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".tflite"):
        command = ["--tflite", path]
    elif path.endswith(".json"):
        command = ["--tfjs", path]
    else:
        sys.exit(NO_ENTRY)
    sys.argv = ["tf2onnx", *command, "--output", out, "--opset", "18"]
    convert.main()


def onnx2tf(path, signature, out, inputs, outputs):
    import onnx2tf as converter

    converter.convert(input_onnx_file_path=path, output_folder_path=out, non_verbose=True)


def answer(function, job):
    """The exit code, the time and the last line of a conversion in a forked process."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            signal.alarm(SECONDS)
            try:
                function(*job)
                code = 0
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(error.code is not None)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", flush=True)
                code = 1
            sys.stdout.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    return {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": round(time.monotonic() - began, 1),
        "says": lines[-1][:200] if lines else "",
    }


MODULES = {
    "tflite": ["tensorflow"],
    "tf2onnx": ["tensorflow", "tf2onnx.convert"],
    "onnx2tf": ["tensorflow", "onnx2tf"],
}

if __name__ == "__main__":
    which = sys.argv[1]
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print while they are imported
    for name in MODULES[which]:
        __import__(name)
    for line in sys.stdin:
        reply = json.dumps(
            answer({"tflite": tflite, "tf2onnx": tf2onnx, "onnx2tf": onnx2tf}[which], json.loads(line))
        )
        os.write(answers, f"{reply}\n".encode())
