"""Run graphs with an old TensorFlow and its Python: `python answer_old_ops.py IN OUT`, both pickles.

IN is a list of (GraphDef, feeds, names of outputs); an array is (type, shape, bytes or list of bytes).
OUT is (version, answers), an answer a list of such arrays or the first line of an error.
OP_LIBRARIES names libraries with ops to load, such as libdeepmd_op.so of DeePMD-kit.
"""

import os
import pickle
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

try:
    import tensorflow_text
except ImportError:
    TEXT = ""
else:
    TEXT = " tensorflow-text " + getattr(tensorflow_text, "__version__", "of that TensorFlow")

for library in filter(None, os.environ.get("OP_LIBRARIES", "").split(os.pathsep)):
    tf.load_op_library(library)
    TEXT += " " + os.path.basename(library)

tf1 = tf.compat.v1


def unpacked(kind, shape, data):
    if kind == "object":
        out = np.empty(len(data), object)
        out[:] = data
        return out.reshape(shape)
    return np.frombuffer(data, kind).reshape(shape)


def packed(value):
    if value is None:
        return None
    if isinstance(value, bytes):
        return ("object", (), [value])
    array = np.asarray(value)
    if array.dtype == object:
        return ("object", array.shape, array.reshape(-1).tolist())
    return (str(array.dtype), array.shape, array.tobytes())


def answer(data, feeds, names):
    try:
        with tf.Graph().as_default() as graph:
            tf1.import_graph_def(tf1.GraphDef.FromString(data), name="")
            fetches = [
                graph.get_tensor_by_name(n) if ":" in n else graph.get_operation_by_name(n) for n in names
            ]
            with tf1.Session(graph=graph) as session:
                arrays = {name: unpacked(*array) for name, array in feeds.items()}
                return [packed(a) for a in session.run(fetches, arrays)]
    except (tf.errors.OpError, ValueError) as error:
        return str(error).splitlines()[0][:300]


def answers(cases):
    """The answers of another process; some old kernels end it, so the cases are halved until one is left."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump([answer(*case) for case in cases], pipe, protocol=4)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    if data:
        return pickle.loads(data)
    half = len(cases) // 2
    return answers(cases[:half]) + answers(cases[half:]) if half else ["it ends the process"]


def main(in_path, out_path):
    with open(in_path, "rb") as file:
        cases = pickle.load(file)
    with open(out_path, "wb") as file:
        pickle.dump((tf.__version__ + TEXT, answers(cases)), file, protocol=4)


if __name__ == "__main__":
    main(*sys.argv[1:])
