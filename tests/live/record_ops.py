"""Record TensorFlow's answers to the cases in `tests/runtime`.

    python -m tests.live.record_ops [FAMILY…]      from the root of the repository; default: all

A family is a file `test_FAMILY.py` below `tests/runtime/ops` with a table `CASES`. Cases that are already
recorded are not run again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its empty convolutions have the shape of the input
import numpy as np
import tensorflow as tf
from tests.runtime.answers import recorded_answers, write_answers
from tests.runtime.cases import Case, cases_of, families


def answer(c: Case) -> Any:
    """Return TensorFlow's answer to a case: arrays, or the first line of its error."""
    graph_def, feeds = c.model("fed")
    theirs = tf.compat.v1.GraphDef.FromString(graph_def.SerializeToString())
    try:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(theirs, name="")
            with tf.compat.v1.Session(graph=graph) as session:
                wanted = c.outputs()
                fetches = [
                    graph.get_tensor_by_name(n) if ":" in n else graph.get_operation_by_name(n)
                    for n in wanted
                ]
                return [plain(a) for a in session.run(fetches, feeds)]
    except (tf.errors.OpError, ValueError) as error:
        lines = str(error).splitlines()
        after = [i + 1 for i, line in enumerate(lines[:-1]) if line.startswith("Node: ")]
        return lines[after[0] if after else 0][:300]  # a graph execution error has its reason below


def plain(answered: Any) -> Any:
    if answered is None:
        return None
    if isinstance(answered, bytes):  # numpy would drop trailing zeros
        array = np.empty((), object)
        array[()] = answered
        return array
    array = np.asarray(answered)
    return array.astype(object) if array.dtype.kind == "S" else array


def main(names: list[str]) -> None:
    os.chdir(tempfile.mkdtemp())  # TensorFlow writes files in some cases
    for family in names or families():
        cases = cases_of(family)
        before = recorded_answers(family)
        recorded = {}
        for c in cases:
            key = str(c)
            recorded[key] = before[key] if key in before else answer(c)
            if isinstance(recorded[key], str) != (c.fails or c.says):
                result = recorded[key] if isinstance(recorded[key], str) else "answers"
                print(f"{family}: {key}: {c.op} {c.attrs}: {result}")
        if recorded.keys() != before.keys():
            write_answers(family, recorded, tf.__version__)
            print(f"recorded {family}: {len(recorded)} cases")


if __name__ == "__main__":
    main(sys.argv[1:])
