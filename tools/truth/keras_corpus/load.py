"""Load files with the Keras of this environment and say what happened to each.

    python load.py PACKAGE OUTCOMES FILE_LIST

OUTCOMES gets a line of JSON for each file: "loads", or the type and text of the exception;
where NAME.npz is beside the file, "difference" is the largest difference from the recorded
answers, or says why there is none. A file that ends the process, or takes longer than
CORPUS_LIMIT seconds (120), keeps its first line, "crash": start again, and the others follow.
"""

import faulthandler
import json
import os
import sys
import warnings

import numpy as np
from installed import Keras

LIMIT = int(os.environ.get("CORPUS_LIMIT", "120"))
"""Seconds of waiting before the process ends itself."""
HALF = 32
"""How much farther apart answers of half precision may be, which releases round at other steps."""
warnings.filterwarnings("ignore")


def main(package, outcomes, file_list):
    done = set()
    if os.path.exists(outcomes):
        with open(outcomes) as lines:
            done = {json.loads(line)["file"] for line in lines}
    with open(file_list) as lines:
        files = [line.strip() for line in lines if line.strip() not in done]
    if not files:
        return
    k = Keras(package)
    with open(outcomes, "a") as out:
        for file in files:
            write(out, {"file": file, "outcome": "crash"})
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            write(out, dict(load(k, file), file=file))
            faulthandler.cancel_dump_traceback_later()


def write(out, row):
    out.write(json.dumps(row) + "\n")
    out.flush()


def load(k, file):
    k.clear()
    try:
        try:
            model = k.module.models.load_model(file, compile=False)
        except TypeError as problem:
            if "compile" not in str(problem):
                raise
            model = k.module.models.load_model(file)  # before Keras 2
    except Exception as problem:
        return {"outcome": type(problem).__name__, "text": str(problem)[:3000]}
    return {"outcome": "loads", "difference": difference(k, model, file)}


def difference(k, model, file):
    path = file.rsplit(".", 1)[0] + ".npz"
    if not os.path.exists(path):
        return None
    largest = 0.0
    try:
        with np.load(path) as recorded:
            for prefix in ["", "b_"]:
                feeds = [strings(recorded[f"{prefix}in{i}"]) for i in range(count(recorded, prefix + "in"))]
                k.reset_states(model)
                answers = k.answer(model, feeds)
                for i, answer in enumerate(answers):
                    largest = max(largest, compare(answer, recorded[f"{prefix}out{i}"]))
        return largest
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:300]}"


def strings(array):
    return array.astype(object) if array.dtype.kind == "S" else array


def count(recorded, prefix):
    return sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in recorded.files)


def compare(answer, recorded):
    answer = np.asarray(answer)
    if answer.shape != recorded.shape:
        raise ValueError(f"shape {answer.shape} instead of {recorded.shape}")
    if recorded.dtype.kind == "S" or answer.dtype.kind in "SO":
        return 0.0 if [bytes(a) for a in answer.ravel()] == [bytes(b) for b in recorded.ravel()] else 1.0
    gap = np.abs(answer.astype("float64") - recorded.astype("float64"))
    if recorded.dtype == "float16":
        gap /= HALF
    gap[np.isnan(answer.astype("float64")) & np.isnan(recorded.astype("float64"))] = 0
    return float(np.max(gap)) if gap.size else 0.0


if __name__ == "__main__":
    main(*sys.argv[1:])
