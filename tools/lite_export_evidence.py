"""Compare `tfport export -o model.tflite` with TensorFlow's converter on published models drawn at random.

    python tools/lite_export_evidence.py convert PYTHON   the converter of the TensorFlow of a Python
    python tools/lite_export_evidence.py flex PYTHON      the same with `SELECT_TF_OPS`
    python tools/lite_export_evidence.py export           tfport, with its comparison in LiteRT
    python tools/lite_export_evidence.py export_flex      the same with `--allow-flex`
    python tools/lite_export_evidence.py translate        tfport's conversion alone, without a comparison
    python tools/lite_export_evidence.py compare PYTHON   run what all wrote on ten inputs
    python tools/lite_export_evidence.py turns PYTHON NAME…   both again in turns, and the speed of both files
    python tools/lite_export_evidence.py page             write docs/evidence/lite_export.md

`compare` asks the original in the TensorFlow of a Python whose interpreter has the Flex delegate, for files
with Flex ops; LiteRT, beside tfport, runs the others.

Each conversion is a process of its own, whose time and peak memory are measured. The models of the newest
draw are in `tools/export_draw.toml`; EXPORT_DRAW_COUNT takes that many, from the end if negative.
docs/evidence/lite_export.json has the results of all draws.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import real_models

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("EVIDENCE", ROOT / "docs" / "evidence" / "lite_export.json"))
DRAW, SECONDS, MOST_SECONDS = 8, 300, 1800
"""The newest draw; the processor time and the time that a conversion has."""
MODELS = Path(__file__).with_name("export_draw.toml")
RECORDED = ROOT / "docs" / "evidence" / "export_recorded.json"
COUNT = int(os.environ.get("EXPORT_DRAW_COUNT", "1000"))
FILES = Path(os.environ.get("EVIDENCE_FILES", tempfile.gettempdir())) / "lite_export_files"
"""Where the written files stay, for `compare`."""
CONVERT = r"""
import json, os, sys
import tensorflow as tf
if "TF_USE_LEGACY_KERAS" in os.environ:
    import tf_keras
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
TRANSLATE = """
import sys
import tfport
from tfport.fix.export import saved_with
from tfport.fix.lite.export import translated
from tfport.fix.lite.input_ranks import with_known_ranks
from tfport.fix.options import UNCHANGED, FixOptions
from tfport.fix.signature_changes import with_signature_changes
from tfport.formats.lite.write import lite_bytes
path, output, signature = sys.argv[1:]
model = saved_with(tfport.load(path), FixOptions(signatures=(signature,) if signature else None))
if ranks := with_known_ranks(model, UNCHANGED):
    model = with_signature_changes(model, ranks)
signatures = {name: s for name, s in model.signatures.items() if s.outputs}
open(output, "wb").write(lite_bytes(translated(model, signatures)))
"""
"""What an export does before it compares."""


def sample() -> list[tuple[str, str, Path]]:
    """The kind, the name and the path of the models of the newest draw that are in the cache."""
    chosen = slice(COUNT, None) if COUNT < 0 else slice(COUNT)
    packages = real_models.packages(MODELS)[chosen]
    every = [(kind, package.folder / path) for package in packages for kind, path in package.models]
    return [(k, str(path.relative_to(real_models.CACHE)), path) for k, path in every if path.exists()]


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
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    with tempfile.TemporaryFile() as said:
        limited = ["prlimit", f"--cpu={SECONDS}", *command]
        process = subprocess.Popen(limited, stdout=said, stderr=subprocess.STDOUT, env=env)
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - began > MOST_SECONDS:
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
    lines = [line.strip() for line in text.splitlines() if line.strip() and "oneDNN" not in line]
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
        elif side == "translate":
            if kind == "lite" or not results().get(name, {}).get("export", {}).get("size"):
                continue
            command = [sys.executable, "-c", TRANSLATE, str(path), str(output), signature]
        elif kind in ("lite", "tfjs"):  # the converter does not read them
            continue
        else:
            asked = [kind, str(path), str(output), side == "flex", signature or None, inputs, outputs]
            command = [python, "-c", CONVERT, json.dumps(asked)]
        result = (measured_twice if side in ("convert", "flex") else measured)(command, output)
        save(name, side, {**result, "kind": kind})
        print(name, side, flush=True)


def in_turns(python: str, names: list[str]) -> None:
    """Convert models by both sides in turns, and run both files in turns."""
    for kind, name, path in sample():
        if not any(part in name for part in names):
            continue
        try:
            signature, inputs, outputs = ends(path)
        except subprocess.CalledProcessError as error:
            print(name, error.stderr.decode().splitlines()[-1:], flush=True)
            continue
        ours, theirs = file_of("export", name), file_of("convert", name)
        chosen = ["--signature", signature] if signature else []
        export = [sys.executable, "-m", "tfport", "export", str(path), "-o", str(ours), *chosen]
        asked = [kind, str(path), str(theirs), False, signature or None, inputs, outputs]
        convert = [python, "-c", CONVERT, json.dumps(asked)]
        both: dict[str, list[dict[str, Any]]] = {side: [] for side in PAIR}
        for _ in range(TURNS):
            for file in ours.parent.glob(f"{ours.name}*"):
                file.unlink()
            both["export"].append(measured(export, ours))
            if kind not in ("lite", "tfjs"):
                both["convert"].append(measured_twice(convert, theirs))
        found: dict[str, Any] = {
            side: {key: min(result[key] for result in own) for key in ("cpu", "megabytes", "size")}
            for side, own in both.items()
            if own
        }
        if all(found.get(side, {}).get("size") for side in PAIR):
            original = original_of(kind, name, path)
            if isinstance(original, dict):
                files = {"export": str(ours), "convert": str(theirs)}
                job = {"trials": str(trials_of(name)), "original": original, "files": files}
                found["speed"] = ask(sys.executable, {**job, "tensorflow": False, "speed": True})
        save(name, "turns", found)
        print(name, found, flush=True)


def measured_twice(command: list[str], output: Path) -> dict[str, Any]:
    """A result; if the command fails, that of a second try in which Keras 2 loads the model (tf-keras)."""
    first = measured(command, output)
    if not first["code"]:
        return first
    with mock.patch.dict(os.environ, TF_USE_LEGACY_KERAS="1"):
        second = measured(command, output)
    return second if second["size"] else first


def file_of(side: str, name: str) -> Path:
    FILES.mkdir(parents=True, exist_ok=True)
    return FILES / f"{name.replace('/', '+')}.{side}.tflite"


def trials_of(name: str) -> Path:
    """Where the inputs for both sides are."""
    return file_of("trials", name).with_suffix(".pickle")


def results() -> dict[str, Any]:
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def save(name: str, side: str, result: dict[str, Any]) -> None:
    keep(DATA, name, side, result, {"draw": DRAW})


def keep(data: Path, name: str, key: str, value: Any, start: Mapping[str, Any]) -> None:
    """Add a result of a model to a file that several processes may write and read at the same time."""
    with open(data.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        every = json.loads(data.read_text()) if data.exists() else {}
        every.setdefault(name, dict(start))[key] = value
        new = data.with_suffix(".new")
        new.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
        new.replace(data)


# Ten inputs

SIDES = ("export", "export_flex", "convert", "flex")
PAIR = ("export", "convert")
SLOWER = 1.05
INPUTS, TURNS = 10, 2
WORKER = Path(__file__).with_name("lite_export_worker.py")


def make_trials(path: Path, name: str, to: Path) -> None:
    """Ten inputs that the model accepts, with tfport's answers."""
    import pickle

    import tfport
    from tfport.fix.certify import trial_plan
    from tfport.fix.certify.model_pair import both_sides
    from tfport.fix.certify.runners import OwnSession
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
    trial_plan.DEAR = math.inf  # all kinds of inputs
    plan = trial_plan.TrialPlan(side, session.ask, [], Verification([name]), session.words())
    for trial, answer in plan.trials():
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


def original_of(kind: str, name: str, path: Path) -> dict[str, Any] | str:
    """The original as the worker takes it, with the inputs that both get; or why there are none."""
    signature, inputs, outputs = ends(path)
    command = [sys.executable, __file__, "trials", str(path), signature, str(trials_of(name))]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        said = made.stderr.splitlines() or [f"ended with {made.returncode}"]
        return f"no inputs: {said[-1][:200]}"
    names = json.loads(made.stdout)
    return {
        "path": str(path),
        "kind": kind,
        "signature": signature,
        "inputs": inputs,
        "outputs": outputs,
        "input_names": [names[0].get(tensor, tensor) for tensor in inputs],
        "output_names": [names[1].get(tensor, tensor) for tensor in outputs],
    }


def ask(python: str, job: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run([python, str(WORKER), json.dumps(job)], capture_output=True, text=True)
    answer = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    return (
        json.loads(answer[0][6:]) if answer else dict.fromkeys(job["files"], f"crashed ({done.returncode})")
    )


def compare(python: str) -> None:
    for kind, name, path in sample():
        found = results().get(name, {})
        written = {s: str(file_of(s, name)) for s in SIDES if found.get(s, {}).get("size")}
        if not written or "compared" in found:
            continue
        original = original_of(kind, name, path)
        if isinstance(original, str):
            save(name, "compared", {"original": original})
            continue
        with_flex = {side: file for side, file in written.items() if b"Flex" in Path(file).read_bytes()}
        others = {side: file for side, file in written.items() if side not in with_flex}
        job = {"trials": str(trials_of(name)), "original": original}
        both = ask(python, {**job, "files": with_flex, "tensorflow": True})
        both |= ask(sys.executable, {**job, "files": others, "tensorflow": False})
        save(name, "compared", both)
        if "export" in others and "convert" in others:
            pair = {side: others[side] for side in PAIR}
            save(
                name, "speed", ask(sys.executable, {**job, "files": pair, "tensorflow": False, "speed": True})
            )
        print(name, both, flush=True)


# The page


def outcome(side: str, result: dict[str, Any]) -> str:
    if result["code"] == 0 and result["size"]:
        return "written"
    if side.startswith("export") and "differ" in result["says"]:
        return "refused: outputs differ"
    if result["code"] < 0:
        is_late = result["seconds"] >= SECONDS or result.get("cpu", 0) >= 0.95 * SECONDS
        return "stopped" if is_late or result["code"] == -signal.SIGTERM else "crashed"
    return "refused"


def page() -> None:
    every = results()
    newest, sixth, fifth, fourth, third, second = (
        {name: row for name, row in every.items() if row.get("draw", 2) == draw}
        for draw in (7, 6, 5, 4, 3, 2)
    )
    lines = [
        "# Export to TensorFlow Lite",
        "",
        "`tools/lite_export_evidence.py` gives published models to `tfport export -o model.tflite` and to",
        "TensorFlow 2.21's converter. tfport's time and memory include the comparison of the file with the",
        "model, in its own runtime and in LiteRT 2.3.0; a file whose outputs differ is not written.",
        "`lite_export.json` has the reasons for all refusals. *s* is CPU time because the machine was busy",
        "with other work; a conversion is stopped after five minutes (of CPU time since the fifth draw).",
        "",
        *_in_turns(every),
        "## Models of the seventh draw",
        "",
        *NEWEST_WORDS,
        *_whole_models(newest),
        *_recorded(),
        "## Models of the sixth draw",
        "",
        *SIXTH_WORDS,
        *_whole_models(sixth),
        "## Models of the fifth draw",
        "",
        *FIFTH_WORDS,
        *_whole_models(fifth),
        "## Models of the fourth draw",
        "",
        f"{len(fourth)} files that no earlier page lists, drawn before anyone looked at them",
        "(`tools/lite_export_draw.toml`), half of them Keras files. Of the four that neither side reads, one",
        "has no model, two have custom layers and one has Lambda layers. One thing has changed since: tfport",
        "had written tfx's model with the Flex op BoostedTreesBucketize, for which TensorFlow 2.18.1 has no",
        "kernel.",
        "",
        *_summary(fourth, "cpu"),
        *_table(fourth, "cpu"),
        "",
        "## Models of the third draw",
        "",
        f"{len(third)} files that no earlier draw used: the SavedModels and frozen graphs in the remaining",
        "packages, and models from public repositories drawn with a seed that was committed before anyone",
        "looked at them. Before any change, tfport wrote",
        f"**{sum(_is_written('first', row) for row in third.values())}**.",
        "",
        *_summary(third, "cpu"),
        *_table(third, "cpu"),
        "",
        "## Models of the second draw",
        "",
        "Recorded before the changes that the third draw led to; *s* is wall-clock time. Both files that",
        "only the converter wrote, poliduckie-segmentation and the text detector EAST, are now written,",
        "and agree in LiteRT 2.3.0.",
        "",
        *_summary(second, "seconds"),
        *_table(second, "seconds"),
    ]
    (DATA.with_suffix(".md")).write_text("\n".join(lines) + "\n")


def _in_turns(every: dict[str, Any]) -> Iterator[str]:
    """What both need now, for the models that were converted again in turns."""
    rows = {name: row["turns"] for name, row in sorted(every.items()) if "turns" in row}
    both = {name: r for name, r in rows.items() if all(r.get(side, {}).get("size") for side in PAIR)}
    yield "## Both in turns"
    yield ""
    yield from TURNS_WORDS
    yield ""
    yield f"| on the {len(both)} that both wrote | median | worst |"
    yield "|---|---|---|"
    ratios = {
        "the converter's CPU time / tfport's": [
            -r["convert"]["cpu"] / r["export"]["cpu"] for r in both.values()
        ],
        "tfport's peak memory / the converter's": [_part(r, "megabytes") for r in both.values()],
        "tfport's file size / the converter's": [_part(r, "size") for r in both.values()],
        "time of tfport's file in LiteRT / the converter's": [
            speed for r in both.values() if (speed := _speed(r)) is not None
        ],
    }
    for what, values in ratios.items():
        yield f"| {what} | {abs(statistics.median(values)):.2f} | {abs(max(values)):.2f} |"
    yield ""
    yield "| model | tfport, s | converter, s | ratio | MB | MB | bytes | bytes | in LiteRT |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, r in rows.items():
        ours, theirs = r["export"], r.get("convert") or {"cpu": 0, "megabytes": 0, "size": 0}
        cells = [f"{ours['cpu']:.1f}", f"{theirs['cpu']:.1f}" if theirs["size"] else "refused"]
        cells.append(f"{theirs['cpu'] / ours['cpu']:.1f}" if theirs["size"] else "")
        cells += [f"{p[key]:,}" for key in ("megabytes", "size") for p in (ours, theirs)]
        speed = _speed(r)
        yield f"| {name} | {' | '.join(cells)} | {'' if speed is None else f'{speed:.2f}'} |"
    yield ""


def _part(row: dict[str, Any], key: str) -> float:
    return row["export"][key] / row["convert"][key]


def _recorded() -> Iterator[str]:
    """What becomes of the models that the tests record."""
    every = json.loads(RECORDED.read_text())["models"]
    yield "## Recorded models"
    yield ""
    yield f"`tools/export_recorded.py` exports all {len(every)} of `tests/models`: one of everything,"
    yield "such as sparse and ragged tensors, data sets, training graphs, checkpoints without a graph. What"
    yield "differs is not written. `export_recorded.json` has the reasons."
    yield ""
    yield "| target | written | refused | differs |"
    yield "|---|---|---|---|"
    for target in next(iter(every.values())):
        found = [row[target].partition(":")[0] for row in every.values()]
        counts = [str(found.count(what)) for what in ("written", "refused", "differs")]
        yield f"| {' | '.join([target, *counts])} |"
    yield ""


def _whole_models(every: dict[str, Any]) -> Iterator[str]:
    """Those of a draw that are whole, and how both compare on those that both were asked for."""
    yield from _readable(every)
    yield ""
    both = {n: r for n, r in every.items() if _is_readable(r) and "convert" in r}
    yield from _summary(both, "cpu", "2.21.0")
    yield from _split(every)
    yield from _table({name: row for name, row in every.items() if _is_readable(row)}, "cpu")
    yield ""


TURNS_WORDS = (
    "After the seventh draw: models of which an export had less than 5 times the converter's speed, models",
    "whose files were slower in LiteRT, and files of public repositories that no list here named, drawn",
    "before any of them was looked at (from DataASG on in `tools/export_draw.toml`). `turns` runs both sides",
    "in turns, and takes the least CPU time of each; for files, LiteRT runs at least five milliseconds a",
    "turn. First, without the changes below, tfport needed 0.8 to 1.0 s where the converter needed 5.0 to",
    "7.4 (5.7 to 7.4 times as much) for six of the new models that both wrote, and 4.2 s for the denoiser",
    "of SaiNamithaNagireddy (the converter 6.6). Their files took 0.61 to 1.06 times as long as the",
    "converter's. AhsanYousaf's model has layers of another package, which neither side reads; four others",
    "drawn have weights that are not in the repository.",
    "",
    "Since then, models whose calls take more than 0.05 s are compared on fewer inputs, one of which has",
    "several kinds of values side by side, and less is imported. Of 14 mutants of a small network, all but",
    "one are found with both; one weight changed by 0.07% is found only with all inputs. Files lose",
    "operators: a scaled image is in the weights of its convolution (fidmamed31), GATHER needs no check of",
    "its indices (tamnguyen-cse), and a loop does not carry outputs that nothing reads (AprajitaGangwar,",
    "which took 1.47 times as long as the converter's). What earlier tables say of AlenKJ01 (1.07) and",
    "Carlosmor95 (1.06) was noise of runs that take microseconds: the graphs are the converter's.",
    "",
    "Below 5 remain models that take long themselves, which the comparison runs five or more times in both",
    "runtimes: pycnet-audio, the denoiser, fidmamed31, and, where the converter has little to do, a small",
    "frozen graph (Ricurry). The machine was busy: ratios of times differ by up to a fifth from run to run,",
    "and those of LiteRT by up to a tenth (1.03, 1.13 and 1.05 for the denoiser); the last run is shown.",
    "em-deepfinder, a network of volumes of which one call takes LiteRT 4 s, needs 60 s (100 before) and",
    "6.7 GB (9.8); maxim-deblurring, 15,118 nodes, is written in 105 s of CPU time.",
)
NEWEST_WORDS = (
    "58 files of public repositories and wheels, drawn before any of them was looked at (the last part of",
    "`tools/export_draw.toml`). The table has the first run, in which tfport wrote 39. It refused four text",
    "classifiers (Elvictor01, Lazi-Algorithm, adeoti-ade, dataregress): NaN, cast to an integer, read the",
    "first row of their embedding in tfport; TensorFlow and LiteRT refuse it. tfport refuses it now, and",
    "all four are written. ArmaanMahakul's LSTM of 100 steps differs in LiteRT by 0.2% for large inputs. The",
    "others that were refused have text ops, random numbers, forests, data sets or no outputs. Where Keras 3",
    "does not load a model, the converter had a second try with tf-keras, whose time alone counts.",
    "On all 20 that both wrote in the first run, the converter needed 5.3 times the CPU time (1.9 to 9.5).",
    "Exports start sooner since: on eight models, three of the slowest four among them, converted again in",
    "turns, it needs 5.7 times (2.4 to 7.2) the CPU time (*again* in the JSON file). With the four, tfport",
    "writes 34 of those that both were asked for. The slowest, pycnet-audio, takes 257 by 1,000 numbers.",
)
SIXTH_WORDS = (
    "84 files of public repositories, each of at most 4 MB, that no list here named, drawn before any of",
    "them was looked at (the second part of `tools/export_draw.toml`). In the first run, tfport wrote 64.",
    "It did not write two models that are now written: a super-resolution model whose windows do not fit",
    "the size 1 that a file states for open sizes (colorqr1), and a quantized file whose signature names",
    "tensors inside (Chess-Vision; LiteRT ignores the inputs of that signature). Three TensorFlow.js",
    "models that tfport did not read are written now too: one with keys in camel case, which",
    "TensorFlow.js reads (DAYYAN2008), and two of Keras 3, which TensorFlow.js does not load (Fenix900,",
    "NeuroCare). Of the others, the classifier of CMS answers NaN for ordinary inputs, where LiteRT",
    "returns a number, and Mulkancsl's text model refuses NaN only in LiteRT. The converter's file of",
    "image-enhancer has no weights.",
)
FIFTH_WORDS = (
    "113 files of packages and public repositories that no list here named, drawn before any of them was",
    "looked at (the first part of `tools/export_draw.toml`). In the first run, a whole model that",
    "computes in float16 (Albert0sans) was not written; it is now. One differs in LiteRT: 98mprice's LSTM",
    "of 50 steps amplifies rounding; its own answers change by 0.05 if its inputs change by one part in",
    "10,000,000. One was stopped by hand (maxim-deblurring, 15,118 nodes). The converter was asked only",
    "for models at the start of the draw.",
)
UNREADABLE = (
    "not readable", "expected tensor", "missing; tensor", "cut short", "uninitialized", "blob sequence",
    "not a file of this model", "no signature has outputs", "`tfport fix --inputs FILE`",
)  # fmt: skip
"""What the reason says of no whole model: weights alone, Python code, or parts that are missing."""


def _is_readable(row: dict[str, Any]) -> bool:
    result = row["export"]
    return bool(result["size"]) or not any(words in result["says"] for words in UNREADABLE)


def _readable(every: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in every.values() if _is_readable(row)]
    compared = [r["compared"] for r in rows if "compared" in r and r["export"]["kind"] != "lite"]
    wrote, both = sum(_is_written("export", row) for row in rows), sum("convert" in row for row in rows)
    ran, alike = _count(compared, "export"), _count(compared, "export", "alike")
    yield f"{len(rows)} are whole models with a signature and without Python code; the table has them."
    yield f"tfport wrote {wrote}. Each export runs the file in LiteRT 2.3.0, on up to 15 inputs, beside the"
    yield f"model in tfport; {ran} were also compared with the original on ten inputs, and {alike} are alike."
    yield f"Both were asked for {both} of them:"
    yield ""


def _split(every: dict[str, Any]) -> Iterator[str]:
    """How much of an export's time the comparison takes."""
    rows = [row for row in every.values() if row.get("translate", {}).get("size")]
    both = [row for row in rows if _is_written("convert", row)]
    if not both:
        return
    share = statistics.median(row["translate"]["cpu"] / row["export"]["cpu"] for row in rows)
    alone, lighter = (_range(both, "translate", key) for key in ("cpu", "megabytes"))
    whole = _range(both, "export", "cpu")
    yield f"Conversion is {share:.0%} of an export's CPU time (median of {len(rows)}); the rest is the"
    yield f"comparison, which runs the model and the file. On the {len(both)} that both wrote, the"
    yield f"converter needs {whole} times the CPU time of an export, {alone} times that of the"
    yield f"conversion alone, and {lighter} times the memory of the conversion alone (medians)."
    yield ""


def _range(rows: list[dict[str, Any]], side: str, key: str) -> str:
    """How much more the converter takes than a side of ours: the median, the least and the most."""
    ratios = sorted(row["convert"][key] / row[side][key] for row in rows)
    return f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"


def _summary(every: dict[str, Any], clock: str, version: str = "2.18.1") -> Iterator[str]:
    """What each side wrote, and how the files of both compare."""
    wrote = {side: [n for n, row in every.items() if _is_written(side, row)] for side in SIDES}
    both = [every[name] for name in wrote["export"] if name in wrote["convert"]]
    only = [sum(n not in wrote[other] for n in wrote[side]) for side, other in (PAIR, PAIR[::-1])]
    differ = sum(
        outcome("export", row["export"]).endswith("differ") for row in every.values() if "export" in row
    )
    compared = [row["compared"] for row in every.values() if "compared" in row]
    missing = sum(not row["original"].startswith("TensorFlow") for row in compared)
    yield f"Of {len(every)}, tfport wrote {len(wrote['export'])} and the converter {len(wrote['convert'])};"
    yield f"only tfport wrote {only[0]}, and only the converter wrote {only[1]}. tfport refused"
    yield f"{differ} because the outputs differ."
    if any("flex" in row for row in every.values()):
        more = len(wrote["export"]) + len(wrote["export_flex"])
        yield f"With Flex ops (`--allow-flex`, `SELECT_TF_OPS`), they wrote {more} and {len(wrote['flex'])}."
    yield ""
    yield f"On the {len(both)} that both wrote, the median ratio of tfport to the converter is"
    yield f"{_ratio(both, clock)} for time, {_ratio(both, 'megabytes')} for peak memory, and"
    yield f"{_ratio(both, 'size')} for file size."
    if speeds := [speed for row in both if (speed := _speed(row)) is not None]:
        within = sum(speed <= SLOWER for speed in speeds)
        least, middle, most = (f(speeds) for f in (min, statistics.median, max))
        yield f"In LiteRT, tfport's file takes {middle:.2f} times as long as the converter's (median of"
        yield f"{len(speeds)}, from {least:.2f} to {most:.2f}; {within} at most {SLOWER}), with one"
        yield "thread, taking turns in one process."
    yield ""
    yield f"Outputs for ten inputs are compared with the original's in TensorFlow {version}. LiteRT 2.3.0"
    if any("flex" in row for row in every.values()):
        yield f"runs the files, and TensorFlow {version}, whose wheel has the Flex delegate, those with Flex"
        yield "ops."
    else:
        yield "runs the files."
    yield f"TensorFlow {version} could not load {missing} of the originals; their files are compared with"
    yield "tfport's answers. Outputs of files without signatures, which the converter makes"
    yield "from frozen graphs, are compared in order."
    yield ""
    yield "| | run | equal |"
    yield "|---|---|---|"
    for side in SIDES:
        if ran := _count(compared, side):
            yield f"| {side} | {ran} | {_count(compared, side, 'alike')} |"
    yield ""


def _table(every: dict[str, Any], clock: str) -> Iterator[str]:
    sides = [side for side in SIDES if any(side in row for row in every.values())]
    titles = {"export": "tfport", "convert": "converter"}
    numbers = ["s", "s", "MB", "MB", "bytes", "bytes", "run"]
    header = ["model", *(titles.get(side, "with Flex") for side in sides), *numbers]
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for name, row in sorted(every.items()):
        pair = [row.get(side, {}) for side in PAIR]
        cells = [f"{p.get(clock, 0):,.1f}" for p in pair]
        cells += [f"{p.get(key, 0):,.0f}" for key in ("megabytes", "size") for p in pair]
        speed = _speed(row)
        cells.append("" if speed is None else f"{speed:.2f}")
        yield f"| {name} | {' | '.join([*(_cell(side, row) for side in sides), *cells])} |"


def _speed(row: dict[str, Any]) -> float | None:
    """The time of a run of tfport's file, divided by that of the converter's."""
    times = [row.get("speed", {}).get(side) for side in PAIR]
    return times[0] / times[1] if all(isinstance(t, float) and t for t in times) else None


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
    said = "" if said.endswith(" 0 inputs") else said.replace("alike", "equal")
    return outcome(side, row[side]) + (f", {said.partition(',')[0].partition(':')[0]}" if said else "")


def _ratio(rows: list[dict[str, Any]], key: str) -> str:
    ratios = [row["export"][key] / max(row["convert"][key], 1e-9) for row in rows]
    return f"{statistics.median(ratios):.2f}" if ratios else "-"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["convert" | "flex" as side, python]:
            run(side, python)
        case ["export" | "export_flex" | "translate" as side]:
            run(side, sys.executable)
        case ["turns", python, *names]:
            in_turns(python, names)
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
