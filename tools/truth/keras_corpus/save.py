"""Save the models of `cases` with the Keras of this environment, with inputs and answers.

    python save.py PACKAGE OUT [PATTERN...]        PACKAGE: tensorflow (its tf.keras), keras or tf_keras

Each case gives OUT/NAME.h5, NAME.keras where the release has that format, and NAME.npz: in0…
and out0…, and a second question with other sizes in b_in0… and b_out0…. A few are also saved
as weights alone (NAME.weights.h5) and architecture (NAME.json). OUT/report.json says what was
skipped, and why. With CORPUS_FORMAT=tf each case gives a SavedModel, OUT/NAME, instead of files, and
weights alone are a checkpoint, NAME.ckpt; CORPUS_PART=1/3 takes the first third of the cases.
"""

import fnmatch
import json
import os
import sys
import time
import traceback
import zipfile
import zlib

import numpy as np
from case import CASES
from installed import Keras, Missing
from questions import questions
from weights import randomize

SUFFIXES = [".h5", ".keras", ".weights.h5"]


def main(package, out, *patterns):
    os.makedirs(out, exist_ok=True)
    k = Keras(package)
    __import__("cases.keras1" if k.major == 1 else "cases.keras2")
    report = {"keras": k.version, "package": package, "saved": {}, "skipped": {}, "failed": {}}
    part, parts = map(int, os.environ.get("CORPUS_PART", "1/1").split("/"))
    for name in sorted(CASES)[part - 1 :: parts]:
        wanted = CASES[name].major is None or k.major in CASES[name].major
        if wanted and os.path.exists(os.path.join(out, name + ".npz")) and os.environ.get("CORPUS_RESUME"):
            report["saved"][name] = {
                suffix: "saved" for suffix in SUFFIXES if os.path.exists(os.path.join(out, name + suffix))
            }
        elif wanted and (not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)):
            save(k, CASES[name], out, report)
    merge(os.path.join(out, "report.json"), report)
    counts = {key: len(part) for key, part in report.items() if isinstance(part, dict)}
    print(f"Keras {k.version}: {counts}")


def save(k, case, out, report):
    started, path = time.time(), os.path.join(out, case.name)
    k.clear()
    np.random.seed(zlib.crc32(case.name.encode()) % 2**31)
    try:
        model = case.build(k)
        if case.random:
            randomize(k, model)
        k.reset_states(model)
        kinds = save_files(k, model, case, path)
        record(k, model, case, path)
        report["saved"][case.name] = dict(kinds, seconds=round(time.time() - started, 2))
    except Missing as reason:
        report["skipped"][case.name] = str(reason)[:200]
        remove(path)
    except Exception as problem:
        report["failed"][case.name] = f"{type(problem).__name__}: {str(problem)[:400]}"
        if os.environ.get("CORPUS_DEBUG"):
            traceback.print_exc()


def save_files(k, model, case, path):
    """Save a model in the formats of the release; return what went wrong by suffix."""
    if os.environ.get("CORPUS_FORMAT") == "tf":
        model.save(path, save_format="tf")
        if case.weights_file:
            model.save_weights(path + ".ckpt", save_format="tf")
            with open(path + ".json", "w") as file:
                file.write(model.to_json())
        return {"": "saved"}
    suffixes = [".h5"] + ([".keras"] if k.major == 3 or (k.major, k.minor) >= (2, 12) else [])
    kinds = {suffix: attempt(lambda file: model.save(file), path + suffix) for suffix in suffixes}
    if suffixes[1:] and kinds[".keras"] == "saved" and not zipfile.is_zipfile(path + ".keras"):
        os.remove(path + ".keras")
        kinds[".keras"] = "not an archive"
    if case.weights_file:
        kinds[".weights.h5"] = attempt(lambda file: model.save_weights(file), path + ".weights.h5")
        with open(path + ".json", "w") as file:
            file.write(model.to_json())
    if "saved" not in kinds.values():
        raise RuntimeError("; ".join("{}: {}".format(*pair) for pair in sorted(kinds.items())))
    return kinds


def attempt(write, path):
    try:
        write(path)
        return "saved"
    except Exception as problem:
        if os.path.exists(path):
            os.remove(path)
        return f"{type(problem).__name__}: {str(problem)[:300]}"


def record(k, model, case, path):
    arrays = {}
    for prefix, feeds in zip(["", "b_"], questions(k, model, case)):  # noqa: B905
        k.reset_states(model)
        answers = answers_of(k, model, case, feeds, path)
        arrays.update((f"{prefix}in{i}", as_bytes(feed)) for i, feed in enumerate(feeds))
        arrays.update((f"{prefix}out{i}", as_bytes(answer)) for i, answer in enumerate(answers))
    np.savez_compressed(path + ".npz", **arrays)


def answers_of(k, model, case, feeds, path):
    try:
        return k.answer(model, feeds)
    except Exception:
        if not case.equivalent:
            raise
    other = case.equivalent(k)
    other.load_weights(path + ".h5")
    if "channels_first" not in case.name:
        return k.answer(other, feeds)
    answers = k.answer(other, [np.moveaxis(feed, 1, -1) for feed in feeds])
    return [np.moveaxis(a, -1, 1) if a.ndim == feeds[0].ndim else a for a in answers]


def as_bytes(array):
    """Return strings as fixed-width bytes, which need no pickle."""
    if array.dtype.kind not in "OU":
        return array
    return np.array([s.encode() if isinstance(s, str) else s for s in array.ravel()], "S").reshape(
        array.shape
    )


def remove(path):
    for suffix in [".h5", ".keras", ".npz", ".json", ".weights.h5"]:
        if os.path.exists(path + suffix):
            os.remove(path + suffix)


def merge(path, report):
    """Write the report, with the cases of an earlier one that were not saved again."""
    parts = ["saved", "skipped", "failed"]
    again = {name for part in parts for name in report[part]}
    if os.path.exists(path):
        with open(path) as file:
            old = json.load(file)
        for part in parts:
            report[part].update((name, v) for name, v in old[part].items() if name not in again)
    with open(path, "w") as file:
        json.dump(report, file, indent=1, sort_keys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
