"""Compare tfport's answers with the recorded ones of a real interpreter, over a folder of .tflite files.

    python tools/truth/lite/compare.py FOLDER… [--only TEXT] [--failures] [--json OUT.json] [--engine none]

The answers are those of answer.py. A file agrees if its outputs are those of one way (reference, plain,
default): floats within 1e-5 relative to the largest number of the output, integers within one step. `within
the spread`: farther, but not farther than the interpreter's own ways are apart (kernels that quantize inside
a model with float outputs). Prints how many files agree, with the largest differences.
"""

import argparse
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import tfport

SECONDS = 120
WAYS = ("reference", "plain", "default")


def answers(path: Path, engine: str) -> list[list[Any]]:
    """Run a model twice in one session: the outputs of each run."""
    model = tfport.load(str(path))
    session = tfport.Session(model, engine=engine)
    key, inputs, outputs = ends(model)
    with np.load(path.with_suffix(".inputs.npz")) as file:
        feeds = {name: plain(file[str(index)]) for index, name in enumerate(inputs)}
    call = session.signature(key)
    return [[made[name] for name in outputs] for made in (call(**feeds), call(**feeds))]


def ends(model: Any) -> tuple[str, list[str], list[str]]:
    """The signature of the first subgraph, with its inputs and outputs in their order in the file."""
    main = model.lite.subgraphs[0]
    for signature in model.lite.signatures:
        if signature.subgraph == 0:
            by_place = [
                {index: name for name, index in part.items()}
                for part in (signature.inputs, signature.outputs)
            ]
            return (
                signature.key,
                [by_place[0][i] for i in main.inputs],
                [by_place[1][i] for i in main.outputs],
            )
    names = model.signatures["serving_default"]
    return (
        "serving_default",
        list(in_order(names.inputs, main, main.inputs)),
        list(in_order(names.outputs, main, main.outputs)),
    )


def in_order(names: Any, main: Any, indices: Any) -> list[str]:
    own = [main.tensors[index].name for index in indices]
    return own if set(own) == set(names) and len(own) == len(names) else list(names)


def plain(array: Any) -> Any:
    return array.astype(object) if array.dtype.kind == "S" else array


def difference(ours: Any, theirs: Any) -> float:
    """How far an output is: in steps for integers, relative to the largest number for floats."""
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return float("inf")
    if ours.dtype.kind in "iu":
        return float(np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0))
    if ours.dtype.kind not in "fc":
        return 0.0 if ours.tolist() == theirs.tolist() else float("inf")
    a, b = ours.astype(np.complex128), theirs.astype(np.complex128)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    finite = np.isfinite(b)
    return float(np.abs(a - b)[finite].max(initial=0) / max(np.abs(b)[finite].max(initial=0), 1e-3))


def verdict(path: Path, engine: str) -> dict[str, Any]:
    """Run a file and compare it with each way that the interpreter ran."""
    recorded = json.loads(path.with_suffix(".answers.json").read_text())
    if not any(recorded.get(way, {}).get("ok") for way in WAYS):
        return {"result": "refused by the interpreter"}
    try:
        runs = answers(path, engine)
    except Exception as error:
        kind = "error" if isinstance(error, tfport.Error) else "TRACEBACK"
        return {"result": kind, "text": f"{type(error).__name__}: {error}"}
    recordings = {way: recording(path, way) for way in WAYS if recorded.get(way, {}).get("ok")}
    differences = {way: apart(runs, theirs) for way, theirs in recordings.items()}
    spread = max(apart(a, b) for a in recordings.values() for b in recordings.values())
    whole = all(array.dtype.kind in "iub" for array in runs[0])
    best = min(differences.values())
    result = (
        "agrees" if best <= (1 if whole else 1e-5) else "within the spread" if best <= spread else "differs"
    )
    return {"result": result, "whole": whole, "differences": differences, "spread": spread}


def recording(path: Path, way: str) -> list[list[Any]]:
    """The recorded outputs of each run: one run, or two if the model has state."""
    with np.load(path.with_suffix(f".{way}.npz")) as file:
        count = sum(not name.startswith("again.") for name in file)
        prefixes = [""] + ["again."] * ("again.0" in file)
        return [[file[f"{prefix}{index}"] for index in range(count)] for prefix in prefixes]


def apart(ours: list[list[Any]], theirs: list[list[Any]]) -> float:
    """The largest difference of any output of any run that both have."""
    pairs = [pair for a, b in zip(ours, theirs, strict=False) for pair in zip(a, b, strict=True)]
    return max((difference(plain(a), plain(b)) for a, b in pairs), default=0.0)


def late(*_: Any) -> None:
    raise TimeoutError(f"no answer after {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--failures", action="store_true", help="print what does not agree")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--engine", default="onnxruntime")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, late)
    rows = {}
    files = [path for folder in options.folders for path in sorted(folder.rglob("*.tflite"))]
    for path in files:
        if options.only in str(path) and path.with_suffix(".answers.json").exists():
            signal.alarm(SECONDS)
            row = rows[str(path)] = verdict(path, options.engine)
            signal.alarm(0)
            if options.failures and row["result"] in ("error", "TRACEBACK", "differs"):
                print(path.name, row["result"], row.get("text", row), flush=True)
    print(dict(Counter(row["result"] for row in rows.values())))
    same = [row for row in rows.values() if row["result"] == "agrees"]
    for name, whole in (("floats, relative", False), ("integers, steps", True)):
        worst = [min(row["differences"].values()) for row in same if row["whole"] == whole]
        print(f"{name}: {len(worst)} files agree, largest difference {max(worst, default=0):.3g}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
