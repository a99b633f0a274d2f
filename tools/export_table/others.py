"""Convert one model with another converter, in the Python that has it: a worker of `run.py`.

    PYTHON others.py tflite|tf2onnx MODEL SIGNATURE OUT [INPUT,… OUTPUT,…]

`tflite` is tf.lite.TFLiteConverter with builtin ops; `tf2onnx` its Python API. Keras files are loaded by the
Keras of the environment; a graph needs the names of its inputs and outputs. A format that the converter has
no entry for exits with code 3.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
NO_ENTRY = 3


def graph_def(tf, path):
    graph = tf.compat.v1.GraphDef()
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith("pbtxt"):
        from google.protobuf import text_format

        return text_format.Parse(data, graph)
    graph.ParseFromString(data)
    return graph


def to_lite(tf, path, signature, out, inputs, outputs):
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


def to_onnx(tf, path, signature, out, inputs, outputs):
    command = [sys.executable, "-m", "tf2onnx.convert", "--output", out, "--opset", "18"]
    if os.path.isdir(path):
        command += ["--saved-model", path, "--signature_def", signature]
    elif path.endswith((".h5", ".keras")):
        command += ["--keras", path]
    elif path.endswith(".pb"):
        ends = [",".join(f"{name}:0" for name in names) for names in (inputs, outputs)]
        command += ["--graphdef", path, "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".meta"):
        ends = [",".join(f"{name}:0" for name in names) for names in (inputs, outputs)]
        command += ["--checkpoint", path, "--inputs", ends[0], "--outputs", ends[1]]
    elif path.endswith(".tflite"):
        command += ["--tflite", path]
    elif path.endswith(".json"):
        command += ["--tfjs", path]
    else:
        sys.exit(NO_ENTRY)
    os.execv(sys.executable, command)


if __name__ == "__main__":
    which, path, signature, out = sys.argv[1:5]
    names = [text.split(",") if text else [] for text in sys.argv[5:7]] or [[], []]
    if which == "tf2onnx":
        to_onnx(None, path, signature, out, *names)
    else:
        import tensorflow

        to_lite(tensorflow, path, signature, out, *names)
