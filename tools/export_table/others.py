"""Convert models with another converter, in the Python that has it: a worker of `run.py`.

    PYTHON others.py tflite|tf2onnx|onnx2tf < jobs

`tflite` is tf.lite.TFLiteConverter with builtin ops, `tf2onnx` and `onnx2tf` are these packages. Keras files
are converted with Keras 3, and where that fails with tf-keras; a graph needs the names of its inputs and
outputs. The first line that this prints has the releases. A job is a line of JSON: path, signature, output,
inputs, outputs. Each runs in a forked process, so that the libraries are imported once; a line of JSON is
the answer. A format that the converter has no entry for ends with code 3.
"""

import json
import os
import signal
import sys
import tempfile
from importlib import metadata

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
NO_ENTRY, OUT_OF_TIME = 3, 4
SECONDS = 300
"""Of processors: the machine may have other work."""
MOST_SECONDS = 1200


def frozen_graph(path, out):
    """The file of a graph, which is written again if it is text."""
    if path.endswith(".pb"):
        return path
    import tensorflow as tf
    from google.protobuf import text_format

    with open(path) as text, open(f"{out}.pb", "wb") as file:
        file.write(text_format.Parse(text.read(), tf.compat.v1.GraphDef()).SerializeToString())
    return f"{out}.pb"


def by_keras(path, convert):
    """What a conversion makes of the model of Keras 3, or of tf-keras if it fails."""
    import tensorflow as tf
    import tf_keras

    try:
        return convert(tf.keras.models.load_model(path, compile=False))
    except Exception:
        return convert(tf_keras.models.load_model(path, compile=False))


def tflite(path, signature, out, inputs, outputs):
    import tensorflow as tf

    if os.path.isdir(path):
        content = tf.lite.TFLiteConverter.from_saved_model(path, signature_keys=[signature]).convert()
    elif path.endswith((".h5", ".keras")):
        content = by_keras(path, lambda model: tf.lite.TFLiteConverter.from_keras_model(model).convert())
    elif path.endswith((".pb", ".pbtxt")):
        frozen = frozen_graph(path, out)
        content = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(frozen, inputs, outputs).convert()
    else:
        sys.exit(NO_ENTRY)
    with open(out, "wb") as file:
        file.write(content)


def tf2onnx(path, signature, out, inputs, outputs):
    from tf2onnx import convert

    ends = [",".join(f"{name}:0" for name in names) for names in (inputs, outputs)]
    if os.path.isdir(path):
        command = ["--saved-model", path, "--signature_def", signature]
    elif path.endswith((".h5", ".keras")):
        command = ["--keras", path]
    elif path.endswith((".pb", ".pbtxt")):
        command = ["--graphdef", frozen_graph(path, out), "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".meta"):
        command = ["--checkpoint", path, "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".tflite"):
        command = ["--tflite", path]
    elif path.endswith(".json"):
        command = ["--tfjs", path]
    else:
        sys.exit(NO_ENTRY)
    sys.argv = ["tf2onnx", *command, "--output", out, "--opset", "18"]
    try:
        convert.main()
    except Exception:
        if command[0] != "--keras":
            raise
        import tf_keras

        convert.from_keras(tf_keras.models.load_model(path, compile=False), opset=18, output_path=out)


def onnx2tf(path, signature, out, inputs, outputs):
    import onnx2tf as converter

    converter.convert(input_onnx_file_path=path, output_folder_path=out, non_verbose=True)


def answer(function, job):
    """The exit code, the time and the last line of a conversion in a forked process."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(MOST_SECONDS)
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
        _, status, usage = os.wait4(child, 0)
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    code, says = os.waitstatus_to_exitcode(status), lines[-1][:200] if lines else ""
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        code, says = OUT_OF_TIME, f"took longer than {SECONDS} CPU seconds"
    return {"code": code, "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1), "says": says}


MODULES = {
    "tflite": ["tensorflow"],
    "tf2onnx": ["tensorflow", "tf2onnx.convert"],
    "onnx2tf": ["tensorflow", "onnx2tf"],
}


def releases(which):
    """What converts, with the versions."""
    own = [] if which == "tflite" else [which]
    return [f"{name} {metadata.version(name)}" for name in (*own, "tensorflow", "keras", "tf-keras", "numpy")]


if __name__ == "__main__":
    which = sys.argv[1]
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print while they are imported
    for name in MODULES[which]:
        __import__(name)
    os.write(answers, f"{json.dumps(releases(which))}\n".encode())
    for line in sys.stdin:
        reply = json.dumps(
            answer({"tflite": tflite, "tf2onnx": tf2onnx, "onnx2tf": onnx2tf}[which], json.loads(line))
        )
        os.write(answers, f"{reply}\n".encode())
