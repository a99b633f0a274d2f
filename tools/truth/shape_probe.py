"""Infer the shapes of one node of many graphs with the C API of one release.

    python shape_probe.py PACKAGE < GRAPHS

Each line of GRAPHS is a GraphDef in base64 with a node called `node`. Prints a line of JSON for each:
the sizes of its outputs (-1 for an unknown size, null for an unknown rank), or the words with which
TensorFlow refuses the graph. It needs only the standard library.
"""

import base64
import ctypes
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from native import Status, load
from session import Output

NODE = b"node"


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t), ("deallocator", ctypes.c_void_p))


def main(package: Path) -> None:
    tf = load(package)
    tf.TF_NewImportGraphDefOptions.restype = ctypes.c_void_p
    for line in sys.stdin:
        print(json.dumps(inferred(tf, base64.b64decode(line))), flush=True)


def inferred(tf: ctypes.CDLL, definition: bytes) -> list[list[int] | None] | str:
    status, graph = Status(tf), ctypes.c_void_p(tf.TF_NewGraph())
    options = ctypes.c_void_p(tf.TF_NewImportGraphDefOptions())
    buffer = Buffer(definition, len(definition), None)
    tf.TF_GraphImportGraphDef(graph, ctypes.byref(buffer), options, status.handle)
    tf.TF_DeleteImportGraphDefOptions(options)
    answer = output_sizes(tf, graph, status) if status.ok else status.message
    tf.TF_DeleteGraph(graph)
    return answer


def output_sizes(tf: ctypes.CDLL, graph: ctypes.c_void_p, status: Status) -> list[list[int] | None]:
    node = ctypes.c_void_p(tf.TF_GraphOperationByName(graph, NODE))
    outputs = (Output(node, index) for index in range(tf.TF_OperationNumOutputs(node)))
    return [sizes(tf, graph, output, status) for output in outputs]


def sizes(tf: ctypes.CDLL, graph: ctypes.c_void_p, output: Output, status: Status) -> list[int] | None:
    rank = tf.TF_GraphGetTensorNumDims(graph, output, status.handle)
    if rank < 0:
        return None
    dims = (ctypes.c_int64 * rank)()
    tf.TF_GraphGetTensorShape(graph, output, dims, rank, status.handle)
    return list(dims)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
