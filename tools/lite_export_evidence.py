"""Compare `tfport export -o model.tflite` with TensorFlow's converter on published models drawn at random.

    python tools/lite_export_evidence.py convert PYTHON   the converter of the TensorFlow of a Python
    python tools/lite_export_evidence.py flex PYTHON      the same with `SELECT_TF_OPS`
    python tools/lite_export_evidence.py export           tfport, with its comparison in LiteRT
    python tools/lite_export_evidence.py export_flex      the same with `--allow-flex`
    python tools/lite_export_evidence.py compare PYTHON   run what all wrote on ten inputs
    python tools/lite_export_evidence.py page                     write docs/evidence/lite_export.md

`compare` asks the original in the TensorFlow of a Python whose interpreter has the Flex delegate, for files
with Flex ops; LiteRT, beside tfport, runs the others.

Each conversion is a process of its own, whose time and peak memory are measured. The models are those that
`tools/real_models.py` downloaded: SavedModels and frozen graphs. docs/evidence/lite_export.json has the
results.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import real_models

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("EVIDENCE", ROOT / "docs" / "evidence" / "lite_export.json"))
EARLIER, COUNT, SECONDS = (41, 42), 40, 300
"""The seeds of earlier draws, whose models are left out, and how many each drew."""
REPOSITORIES = Path(__file__).with_name("lite_export_repositories.toml")
FILES = Path(os.environ.get("EVIDENCE_FILES", tempfile.gettempdir())) / "lite_export_files"
"""Where the written files stay, for `compare`."""
KINDS = ("saved_model", "graph_def")
CONVERT = r"""
import json, sys
import tensorflow as tf
kind, path, output, flex, signature, inputs, outputs = json.loads(sys.argv[1])
if kind == "keras":
    converter = tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(path, compile=False))
elif kind == "saved_model":
    converter = tf.lite.TFLiteConverter.from_saved_model(path, signature_keys=[signature])
else:
    if path.endswith("pbtxt"):
        from google.protobuf import text_format
        graph = text_format.Parse(open(path).read(), tf.compat.v1.GraphDef())
        path = output + ".pb"
        open(path, "wb").write(graph.SerializeToString())
    converter = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(path, inputs, outputs)
if flex:
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
open(output, "wb").write(converter.convert())
"""


def sample() -> list[tuple[str, str, Path]]:
    """The kind, the name and the path of the models that no earlier draw used."""
    rows = sorted(
        (kind, str(package.folder / path))
        for package in real_models.packages()
        if package.is_here()
        for kind, path in package.models
        if kind in KINDS
    )
    for seed in EARLIER:
        seen = set(random.Random(seed).sample(rows, COUNT))
        rows = [row for row in rows if row not in seen]
    rows += [(kind, str(path)) for kind, path in repository_models() if path.exists()]
    return [(kind, str(Path(path).relative_to(real_models.CACHE)), Path(path)) for kind, path in rows]


def repository_models() -> Iterator[tuple[str, Path]]:
    """Models of public repositories, in the folder `repositories` beside those of packages."""
    for file, repositories in tomllib.loads(REPOSITORIES.read_text())["files"].items():
        for repository in repositories:
            path = real_models.CACHE / "repositories" / repository.replace("/", "+") / file
            if path.name == "saved_model.pb":
                yield "saved_model", path.parent
            else:
                yield "graph_def" if path.suffix == ".pb" else "keras", path


def ends(path: Path) -> tuple[str, list[str], list[str]]:
    """The signature that both convert, with the tensors of its inputs and outputs, found by another process.

    The memory of a process counts for its children until they run something else.
    """
    command = [sys.executable, __file__, "ends", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def print_ends(path: Path) -> None:
    import tfport
    from tfport.runtime.select_signature import select_signature

    model = tfport.load(path)
    names = list(model.signatures)
    chosen = names[0] if names and "serving_default" not in names else None
    signature = select_signature(model, chosen)
    tensors = [
        [tensor.removesuffix(":0") for spec in specs.values() for tensor in spec.tensors]
        for specs in (signature.inputs, signature.outputs)
    ]
    print(json.dumps([signature.name if names else "", *tensors]))


def measured(command: list[str], output: Path) -> dict[str, Any]:
    """Run a command; the time, the peak memory, the size of what it wrote, and the end of what it said."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        )
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - began > SECONDS:
                process.kill()
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    return {
        "code": process.returncode,
        "seconds": round(time.monotonic() - began, 2),
        "cpu": round(usage.ru_utime + usage.ru_stime, 2),
        "megabytes": round(usage.ru_maxrss / 1024),
        "size": output.stat().st_size if output.exists() else 0,
        "says": reason(text),
    }


def reason(text: str) -> str:
    """The last line that names an error, without paths of this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"differ|[Ee]rror|^tfport: ", line)]
    last = (named or lines or [""])[0 if named and "differ" in named[0] else -1]
    return re.sub(r"(/[^\s:]+)+:? ?", "", last).removeprefix("tfport: ")[:300]


def run(side: str, python: str) -> None:
    """Convert all models by one of the sides; what was written stays in FILES."""
    for kind, name, path in sample():
        output = file_of(side, name)
        if side in results().get(name, {}):
            continue
        if side == "export_flex" and results().get(name, {}).get("export", {}).get("size"):
            continue  # it would be the same file
        output.unlink(missing_ok=True)
        try:
            signature, inputs, outputs = ends(path)
        except subprocess.CalledProcessError:  # none of the sides can be asked
            save(name, side, {"code": 2, "seconds": 0, "megabytes": 0, "size": 0, "says": "not readable"})
            continue
        if side.startswith("export"):
            chosen = ["--signature", signature] if signature else []
            chosen += ["--allow-flex"] if side == "export_flex" else []
            command = [sys.executable, "-m", "tfport", "export", str(path), "-o", str(output), *chosen]
        else:
            asked = [kind, str(path), str(output), side == "flex", signature or None, inputs, outputs]
            command = [python, "-c", CONVERT, json.dumps(asked)]
        save(name, side, {**measured(command, output), "kind": kind})
        print(name, side, flush=True)


def file_of(side: str, name: str) -> Path:
    FILES.mkdir(parents=True, exist_ok=True)
    return FILES / f"{name.replace('/', '+')}.{side}.tflite"


def results() -> dict[str, Any]:
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def save(name: str, side: str, result: dict[str, Any]) -> None:
    with open(DATA.with_suffix(".lock"), "w") as lock:  # several sides may run at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        every = results()
        every.setdefault(name, {})[side] = result
        DATA.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")


# Ten inputs

SIDES = ("export", "export_flex", "convert", "flex")
INPUTS = 10
WORKER = r"""
import json, pickle, sys
import numpy as np

job = json.loads(sys.argv[1])
trials = pickle.load(open(job["trials"], "rb"))

def ask_original(tf, o):
    if o["kind"] == "saved_model":
        loaded = tf.saved_model.load(o["path"])
        call = loaded.signatures[o["signature"]]
        fed = lambda feeds: {k: tf.constant(v) for k, v in feeds.items()}
        return lambda feeds: {k: v.numpy() for k, v in call(**fed(feeds)).items()}
    graph = tf.compat.v1.GraphDef()
    if o["path"].endswith("pbtxt"):
        from google.protobuf import text_format
        text_format.Parse(open(o["path"]).read(), graph)
    else:
        graph.ParseFromString(open(o["path"], "rb").read())
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        tf.import_graph_def(graph, name="")
    def ask(feeds):
        fed = {n + ":0": feeds[k] for n, k in zip(o["inputs"], o["input_names"])}
        return dict(zip(o["output_names"], session.run([n + ":0" for n in o["outputs"]], fed)))
    return ask

def ask_file(module, content, o):
    def ask(feeds):
        interpreter = module.Interpreter(model_content=content)
        keys = list(interpreter.get_signature_list())
        if keys:
            return interpreter.get_signature_runner(keys[0])(**feeds)
        details = interpreter.get_input_details()
        for name, key in zip(o["inputs"], o["input_names"]):
            at = next(d["index"] for d in details if d["name"].split(":")[0] == name)
            interpreter.resize_tensor_input(at, feeds[key].shape)
        interpreter.allocate_tensors()
        for name, key in zip(o["inputs"], o["input_names"]):
            at = next(d["index"] for d in details if d["name"].split(":")[0] == name)
            interpreter.set_tensor(at, feeds[key])
        interpreter.invoke()
        outputs = zip(o["output_names"], interpreter.get_output_details())
        return {k: interpreter.get_tensor(d["index"]) for k, d in outputs}
    return ask

def differs(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {a.shape}, expected {b.shape}"
    if b.dtype.kind not in "fc":
        a, b = (x.astype(object) if x.dtype.kind in "SU" else x for x in (a, b))
        return "" if (a == b).all() else "not equal"
    finite = np.isfinite(b)
    largest = np.abs(b[finite]).max(initial=0)
    apart = np.abs(a[finite] - b[finite])
    is_alike = (apart <= 1e-4 * largest + 1e-3 * np.abs(b[finite])).all()
    return "" if is_alike else f"by {apart.max():.3g} of {largest:.3g}"

out = {}
if job["tensorflow"]:
    import tensorflow as module_tf
    module = module_tf.lite
    try:
        ask = ask_original(module_tf, job["original"])
        for feeds, expected in trials:
            first, second = ask(feeds), ask(feeds)
            expected.update({k: first[k] for k in expected if k in first})
            for k in list(expected):
                if k in second and differs(first[k], second[k]):
                    del expected[k]
        pickle.dump(trials, open(job["trials"], "wb"))
        out["original"] = "TensorFlow " + module_tf.__version__
    except Exception as error:
        out["original"] = "not run: " + str(error)[:200]
else:
    from ai_edge_litert import interpreter as module
for side, path in job["files"].items():
    try:
        ask = ask_file(module, open(path, "rb").read(), job["original"])
        wrong = ""
        for feeds, expected in trials:
            answer = ask(feeds)
            found = (k + " " + d for k, b in expected.items() if (d := differs(answer[k], b)))
            wrong = wrong or next(found, "")
        out[side] = "differs: " + wrong if wrong else "alike, " + str(len(trials)) + " inputs"
    except Exception as error:
        out[side] = "fails: " + str(error)[:200]
print("RESULT" + json.dumps(out))
"""


def make_trials(path: Path, name: str, to: Path) -> None:
    """Ten inputs that the model accepts, with tfport's answers."""
    import pickle

    import tfport
    from tfport.fix.certify.model_pair import both_sides
    from tfport.fix.certify.runners import OwnSession
    from tfport.fix.certify.trial_plan import TrialPlan
    from tfport.fix.certify.verification import Verification
    from tfport.fix.lite.input_ranks import with_known_ranks
    from tfport.fix.options import UNCHANGED
    from tfport.fix.signature_changes import with_signature_changes
    from tfport.graph.save import as_saved_model

    model = as_saved_model(tfport.load(path))
    if ranks := with_known_ranks(model, UNCHANGED):
        model = with_signature_changes(model, ranks)
    side, _ = both_sides(model, model, [name or next(iter(model.signatures))], (), ())
    session = OwnSession(side, None)
    trials = []
    for trial, answer in TrialPlan(side, session.ask, [], Verification([name]), session.words()).trials():
        if trial.finite and answer.outputs is not None:
            trials.append((dict(trial.inputs), dict(answer.outputs)))
        if len(trials) == INPUTS:
            break
    (signature,) = side.signatures.values()
    to.write_bytes(pickle.dumps(trials))
    print(json.dumps([_tensors(signature.inputs), _tensors(signature.outputs)]))


def _tensors(specs: Any) -> dict[str, str]:
    """The names of inputs or outputs, by those of their tensors."""
    return {spec.tensors[0].removesuffix(":0"): name for name, spec in specs.items()}


def compare(python: str) -> None:
    for kind, name, path in sample():
        found = results().get(name, {})
        written = {s: str(file_of(s, name)) for s in SIDES if found.get(s, {}).get("size")}
        if not written or "compared" in found:
            continue
        signature, inputs, outputs = ends(path)
        trials = file_of("trials", name).with_suffix(".pickle")
        command = [sys.executable, __file__, "trials", str(path), signature, str(trials)]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            save(name, "compared", {"original": f"no inputs: {made.stderr.splitlines()[-1][:200]}"})
            continue
        names = json.loads(made.stdout)
        input_names = [names[0].get(tensor, tensor) for tensor in inputs]
        output_names = [names[1].get(tensor, tensor) for tensor in outputs]
        original = {"path": str(path), "kind": kind, "signature": signature, "inputs": inputs,
                    "outputs": outputs, "input_names": input_names, "output_names": output_names}  # fmt: skip
        with_flex = {side: file for side, file in written.items() if b"Flex" in Path(file).read_bytes()}
        others = {side: file for side, file in written.items() if side not in with_flex}
        both = {}
        for interpreter, files in ((python, with_flex), (sys.executable, others)):
            job = {
                "trials": str(trials),
                "original": original,
                "files": files,
                "tensorflow": interpreter == python,
            }
            done = subprocess.run(
                [interpreter, "-c", WORKER, json.dumps(job)], capture_output=True, text=True
            )
            answer = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
            both |= (
                json.loads(answer[0][6:]) if answer else dict.fromkeys(files, f"crashed ({done.returncode})")
            )
        save(name, "compared", both)
        print(name, both, flush=True)


# The page


def outcome(side: str, result: dict[str, Any]) -> str:
    if result["code"] == 0 and result["size"]:
        return "written"
    if side.startswith("export") and "differ" in result["says"]:
        return "refused: outputs differ"
    return "crashed" if result["code"] < 0 else "refused"


def page() -> None:
    every = results()
    wrote = {side: [n for n, row in every.items() if _is_written(side, row)] for side in SIDES}
    with_flex = set(wrote["export"]) | set(wrote["export_flex"])
    both = [every[name] for name in wrote["export"] if name in wrote["convert"]]
    differ = sum(
        outcome("export", row["export"]).endswith("differ") for row in every.values() if "export" in row
    )
    compared = [row["compared"] for row in every.values() if "compared" in row]
    missing = sum(not row["original"].startswith("TensorFlow") for row in compared)
    lines = [
        "# Export to TensorFlow Lite",
        "",
        "`tools/lite_export_evidence.py` draws SavedModels and frozen graphs from the published models, none",
        "of an earlier draw, and gives each to `tfport export -o model.tflite` and to TensorFlow 2.21's",
        "converter, both also with Flex ops (`--allow-flex`, `SELECT_TF_OPS`). tfport's time includes the",
        "comparison of the file with the model, in its own runtime and in LiteRT 2.3.0; a file whose outputs",
        "differ is not written. `lite_export.json` has the reasons of all refusals. The machine had much",
        "other work: times are rough.",
        "",
        f"Of {len(every)} tfport wrote {len(wrote['export'])}, and {len(with_flex)} with Flex ops;",
        f"the converter {len(wrote['convert'])}, and {len(wrote['flex'])} with Flex ops. tfport did not",
        f"write {differ} because the outputs differ.",
        "",
        f"On the {len(both)} that both wrote without Flex ops: time {_ratio(both, 'seconds')}, peak memory",
        f"{_ratio(both, 'megabytes')}, file size {_ratio(both, 'size')} (tfport / converter, median).",
        "",
        "Ten inputs each, beside the original in TensorFlow 2.18.1. LiteRT 2.3.0 runs the files, and",
        "TensorFlow 2.18.1, whose wheel has the Flex delegate, those with Flex ops. TensorFlow 2.18.1 could",
        f"not load {missing} of the originals; their files are compared with tfport's answers. Outputs of",
        "files without signatures, which the converter makes of frozen graphs, are taken in their order.",
        "",
        "| | run | alike |",
        "|---|---|---|",
        *(f"| {side} | {_count(compared, side)} | {_count(compared, side, 'alike')} |" for side in SIDES),
        "",
        "| model | tfport | with Flex | converter | with Flex | s | s | MB | MB | bytes | bytes |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(every.items()):
        cells = [_cell(side, row) for side in SIDES]
        pair = [row.get(side, {}) for side in ("export", "convert")]
        numbers = [f"{p.get(key, 0):,.0f}" for key in ("seconds", "megabytes", "size") for p in pair]
        lines.append(f"| {name} | {' | '.join([*cells, *numbers])} |")
    (DATA.with_suffix(".md")).write_text("\n".join(lines) + "\n")


def _is_written(side: str, row: dict[str, Any]) -> bool:
    return side in row and outcome(side, row[side]) == "written"


def _count(compared: list[dict[str, str]], side: str, start: str = "") -> int:
    ran = [row[side] for row in compared if side in row and not row[side].endswith(" 0 inputs")]
    return sum(said.startswith(start) for said in ran)


def _cell(side: str, row: dict[str, Any]) -> str:
    if side == "export_flex" and _is_written("export", row):
        return "the same"
    if side not in row:
        return "-"
    said = row.get("compared", {}).get(side, "")
    said = "" if said.endswith(" 0 inputs") else said
    return outcome(side, row[side]) + (f", {said.partition(',')[0].partition(':')[0]}" if said else "")


def _ratio(rows: list[dict[str, Any]], key: str) -> str:
    ratios = sorted(row["export"][key] / max(row["convert"][key], 1e-9) for row in rows)
    return f"{ratios[len(ratios) // 2]:.2f}" if ratios else "-"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["convert" | "flex" as side, python]:
            run(side, python)
        case ["export" | "export_flex" as side]:
            run(side, sys.executable)
        case ["compare", python]:
            compare(python)
        case ["trials", path, signature, to]:
            make_trials(Path(path), signature, Path(to))
        case ["ends", path]:
            print_ends(Path(path))
        case ["page"]:
            page()
        case _:
            sys.exit(__doc__)
