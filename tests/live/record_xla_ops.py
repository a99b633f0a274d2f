"""Record XLA's answers to the cases of `tests/runtime/ops/xla/test_xla.py`: its ops run only when compiled.

python -m tests.live.record_xla_ops
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tests.live import record_ops
from tests.runtime.cases import Case


def answer(c: Case) -> Any:
    """Run the case as a compiled function; small integers are constants, as XLA requires for sizes."""
    graph_def, feeds = c.model("engine")
    theirs = tf.compat.v1.GraphDef.FromString(graph_def.SerializeToString())
    for node in [n for n in theirs.node if f"{n.name}:0" in feeds]:
        theirs.node.remove(node)
    fed = {n: a for n, a in feeds.items() if a.dtype.kind not in "iu" or a.size >= 64 or c.feeds}
    fixed = {n: a for n, a in feeds.items() if n not in fed}

    def run(*arrays: Any) -> Any:
        inputs = dict(zip(fed, arrays, strict=True)) | {n: tf.constant(a) for n, a in fixed.items()}
        return tf.graph_util.import_graph_def(theirs, input_map=inputs, return_elements=c.outputs(), name="")

    known = context.context()
    for function in theirs.library.function:
        known.add_function_def(function)
    try:
        answers = tf.function(run, jit_compile=True)(*(tf.constant(a) for a in fed.values()))
        return [record_ops.plain(a.numpy()) for a in answers]
    except (tf.errors.OpError, ValueError) as error:
        return str(error).splitlines()[0][:300]
    finally:
        for function in theirs.library.function:
            known.remove_function(function.signature.name)


if __name__ == "__main__":
    record_ops.answer = answer
    record_ops.main(["xla"])
