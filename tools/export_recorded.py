"""Export what the tests have recorded to every other format, by the command itself, and run what it wrote.

    python tools/export_recorded.py models                       every model of tests/models
    python tools/export_recorded.py keras|lite TENSORFLOW        Keras files and TensorFlow Lite operators
    python tools/export_recorded.py keras|lite TENSORFLOW NAME…  only these cases
    python tools/export_recorded.py page                         write docs/evidence/export_recorded.md

The Keras files are one per case of tests/frontends/keras/recorded, as one of the releases saved it; the
operators are the cases of tests/frontends/lite. A written file runs in ONNX Runtime, LiteRT, TensorFlow.js
(Node), TensorFlow or as Triton calls it, on the recorded inputs, and its answers are compared with those that
Keras or LiteRT gave when the case was recorded. TENSORFLOW is a Python with TensorFlow and tfport's
requirements; the one that runs this needs tritonclient and Node, and no TensorFlow, which exports would ask.
docs/evidence/export_recorded.json has the outcome of each: written, refused with the reason, or differs.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools" / "tfjs")]

import onnxruntime  # noqa: E402
from node import NodeProcess  # noqa: E402

import tfport  # noqa: E402
from tfport.cli.main import main  # noqa: E402

DATA = ROOT / "docs" / "evidence" / "export_recorded.json"
TARGETS = {
    "ONNX": ["-o", "model.onnx"],
    "TensorFlow Lite": ["-o", "model.tflite"],
    "TensorFlow.js": ["--format", "tfjs", "-o", "tfjs"],
    "Triton": ["--format", "triton", "-o", "triton"],
    "SavedModel": ["-o", "saved"],
    "weights": ["-o", "weights.npz"],
}
OF_MODELS = ("ONNX", "TensorFlow Lite", "TensorFlow.js", "Triton", "weights")
OF_KERAS = ("ONNX", "TensorFlow Lite", "TensorFlow.js", "Triton", "SavedModel")
OF_LITE = ("ONNX", "TensorFlow.js", "Triton", "SavedModel")
RIGHT, HALF, SMALL, STEPS = 1e-4, 2e-2, 1e-3, 1
"""Differences relative to the largest number of an output, or to SMALL; of 8-bit integers in steps."""
WORKERS, CASES_OF_A_PROCESS, MOST_SECONDS = 2, 400, 30
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
DRAWS = ("Multinomial", "RandomStandardNormal", "RandomUniform", "TruncatedNormal")
TFJS, BACKENDS = "4.22.0", ("wasm", "cpu")
Arrays = dict[str, Any]
Outcomes = dict[str, str]


@dataclass(frozen=True)
class RecordedFile:
    """A file, and each call: inputs, and the answers that are right, each by the names of the signature."""

    name: str
    path: Path
    calls: list[tuple[Arrays, list[Arrays]]]
    tolerance: float


def exported(path: str, target: str, folder: str) -> str:
    """What the command says: written, refused or differs."""
    shown = io.StringIO()
    *options, name = TARGETS[target]
    output = str(Path(folder, name))
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        code = main(["export", path, *options, output])
    if code == 0:
        return "written"
    says = re.sub(r"\s+", " ", shown.getvalue()).replace(path, "the model").replace(f"{ROOT}/", "").strip()
    return f"{'differs' if 'outputs differ' in says else 'refused'}: {says.removeprefix('tfport: ')[:200]}"


def outcome_of_model(path: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        says = exported(path, target, folder)
        if says == "written" and target == "ONNX":
            onnxruntime.InferenceSession(str(Path(folder, "model.onnx")))
        return says


# Cases with answers


def keras_files(folder: Path) -> Iterator[tuple[str, Callable[[], RecordedFile]]]:
    from tests.frontends.keras import test_recorded as recorded

    def read(model: Any) -> RecordedFile:
        path = model.write(folder)
        loaded = tfport.load(path)
        names = recorded.input_names(loaded), recorded.output_names(loaded)
        calls = []
        for question in model.questions():
            inputs, answers = (
                dict(zip(n, arrays, strict=True)) for n, arrays in zip(names, question, strict=True)
            )
            calls.append((inputs, [answers]))
        return RecordedFile(str(model), path, calls, HALF if recorded.halves(model) else RIGHT)

    for model in recorded.chosen():
        if str(model) not in recorded.OPEN:
            yield str(model), lambda model=model: read(model)


def lite_files(folder: Path) -> Iterator[tuple[str, Callable[[], RecordedFile]]]:
    from tests.frontends.lite import cases
    from tests.runtime.answers import recorded_answers

    known: dict[str, Any] = {}
    for file in sorted((ROOT / "tests/expected").glob("lite_*.npz")):
        known |= recorded_answers(file.stem)

    def read(case: cases.LiteCase) -> RecordedFile:
        path = folder / f"{case.name}.tflite"
        path.write_bytes(case.model)
        ins, outs = case.ends
        inputs = dict(zip(ins, case.feeds, strict=True))
        first = [dict(zip(outs, known[case.name], strict=True))]
        if optimized := known.get(cases.OPTIMIZED + case.name):
            first.append(
                {**first[0], **{n: a for n, a in zip(outs, optimized, strict=False) if a is not None}}
            )
        second = known.get(cases.AGAIN + case.name)
        calls = [(inputs, first), *([(inputs, [dict(zip(outs, second, strict=True))])] if second else [])]
        return RecordedFile(case.name, path, calls, max(case.rtol or 0, RIGHT))

    for file in sorted((ROOT / "tests/frontends/lite/ops").rglob("test_*.py")):
        module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
        for case in {str(c): c for c in getattr(module, "CASES", ()) if not c.fails}.values():
            yield case.name, lambda case=case: read(case)


CORPORA = {"keras": (keras_files, OF_KERAS), "lite": (lite_files, OF_LITE)}


def difference(actual: Arrays, expected: Arrays, tolerance: float, *, values_only: bool = False) -> str:
    """Where an answer is not the expected one; empty if it is."""
    for name, wanted in expected.items():
        if name not in actual:
            return f"`{name}` is missing; there is {', '.join(actual)}"
        found, wanted = np.asarray(actual[name]), np.asarray(wanted)
        if found.shape != wanted.shape:
            return f"`{name}` is {list(found.shape)}, not {list(wanted.shape)}"
        if not values_only and found.dtype != wanted.dtype and wanted.dtype.kind != "O":
            return f"`{name}` is {found.dtype}, not {wanted.dtype}"
        if wanted.dtype.kind in "OSU":
            is_same = [_bytes(x) for x in found.ravel()] == [_bytes(x) for x in wanted.ravel()]
        elif wanted.dtype.kind in "iub":
            steps = STEPS if wanted.dtype.itemsize < 4 and wanted.dtype.kind != "b" else 0
            is_same = bool(np.all(np.abs(found.astype(float) - wanted.astype(float)) <= steps))
        else:
            is_same = _is_close(found, wanted, tolerance)
        if not is_same:
            return f"`{name}` is {_shown(found)}, not {_shown(wanted)}"
    return ""


def _is_close(found: Any, wanted: Any, tolerance: float) -> bool:
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = found.astype(kind), wanted.astype(kind)
    largest = float(np.abs(b[np.isfinite(b)]).max(initial=SMALL))
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True))


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _shown(array: Any) -> str:
    return re.sub(r"\s+", " ", np.array2string(array.ravel()[:4], precision=6))


# Runtimes: each gives the answers to the calls of a file


def in_onnx_runtime(file: Path, inputs: list[Arrays]) -> list[Arrays]:
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    taken, given = ([each.name for each in ends] for ends in (session.get_inputs(), session.get_outputs()))
    fed = [{n: _texts(feeds[n]) for n in taken} for feeds in inputs]
    return [dict(zip(given, session.run(None, feeds), strict=True)) for feeds in fed]


def _texts(value: Any) -> Any:
    """ONNX Runtime takes texts, not bytes."""
    array = np.asarray(value)
    if array.dtype != object:
        return array
    texts = [x.decode("utf-8", "surrogateescape") if isinstance(x, bytes) else x for x in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def in_litert(file: Path, inputs: list[Arrays]) -> list[Arrays]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(file))
    (name,) = interpreter.get_signature_list()
    run = interpreter.get_signature_runner(name)
    taken = list(run.get_input_details())
    return [{n: np.array(a) for n, a in run(**{n: feeds[n] for n in taken}).items()} for feeds in inputs]


def in_triton(folder: Path, inputs: list[Arrays]) -> list[Arrays]:
    """The folder's model, called as Triton calls it; Triton's protobuf reads its configuration."""
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    (model,) = folder.iterdir()
    config = text_format.Parse((model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    names = [each.name for each in config.input]
    fed = [{n: np.reshape(f[n], np.shape(f[n]) or (1,)) for n in names} for f in inputs]  # it has no scalars
    if config.backend == "onnxruntime":
        return in_onnx_runtime(model / "1/model.onnx", fed)
    sys.modules["triton_python_backend_utils"] = triton_utils()
    space: Arrays = {"__file__": str(model / "1/model.py"), "__name__": "model"}
    exec(compile((model / "1/model.py").read_text(), space["__file__"], "exec"), space)
    instance = space["TritonPythonModel"]()
    instance.initialize({"model_repository": str(model), "model_version": "1"})
    found = []
    for feeds in fed:
        (response,) = instance.execute([{n: (n, array) for n, array in feeds.items()}])
        if response.error is not None:
            raise ValueError(response.error)
        found.append(dict(response.tensors))
    return found


def triton_utils() -> Any:
    """What Triton's Python backend gives a model."""
    tensor = types.SimpleNamespace
    utils: Any = types.ModuleType("triton_python_backend_utils")
    utils.Tensor = lambda name, array: (name, array)
    utils.TritonError = str
    utils.InferenceResponse = lambda output_tensors, error=None: tensor(tensors=output_tensors, error=error)
    utils.get_input_tensor_by_name = lambda request, name: tensor(as_numpy=lambda: request[name][1])
    return utils


def in_tensorflow(folder: Path, inputs: list[Arrays]) -> list[Arrays]:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(folder))
    (run,) = loaded.signatures.values()
    taken = run.structured_input_signature[1]
    return [
        {
            n: a.numpy()
            for n, a in run(**{n: tf.constant(feeds[n], s.dtype) for n, s in taken.items()}).items()
        }
        for feeds in inputs
    ]


RUNTIMES: Mapping[str, Callable[[Path, list[Arrays]], list[Arrays]]] = {
    "ONNX": in_onnx_runtime,
    "TensorFlow Lite": in_litert,
    "Triton": in_triton,
    "SavedModel": in_tensorflow,
}


def in_tfjs(node: NodeProcess, folder: Path, inputs: list[Arrays]) -> list[Arrays]:
    (signature,) = tfport.load(folder).signatures.values()
    nodes = {name: spec.tensors[0].partition(":")[0] for name, spec in signature.inputs.items()}
    fetches = {name: spec.tensors[0] for name, spec in signature.outputs.items()}
    found = []
    for feeds in inputs:
        outputs, _ = node.run(
            folder / "model.json", {nodes[n]: feeds[n] for n in nodes}, list(fetches.values())
        )
        found.append(dict(zip(fetches, outputs, strict=True)))
    return found


def answered(target: str, folder: str, inputs: list[Arrays], run: Any = None) -> list[Arrays] | str:
    """The answers of a runtime, or what it says instead."""
    try:
        return (run or RUNTIMES[target])(Path(folder, TARGETS[target][-1]), inputs)
    except Exception as error:
        text = str(error).replace(f"{ROOT}/", "").replace(folder, "the folder")
        return f"fails: {type(error).__name__}: {text[:200]}"


class OtherPython:
    """A Python with TensorFlow, which answers the calls to SavedModels."""

    def __init__(self, python: str) -> None:
        command = [python, __file__, "answer"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(given, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def answer_calls() -> None:
    """Be the process of `OtherPython`."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries print
    with contextlib.suppress(EOFError):
        while True:
            pickle.dump(answered(*pickle.load(sys.stdin.buffer)), output)
            output.flush()


class Processes:
    """Processes that export and run, replaced where one crashes, some of Node and one with TensorFlow."""

    def __init__(self, tensorflow: str) -> None:
        self._pools: dict[str, ProcessPoolExecutor] = {}
        self.nodes = {backend: NodeProcess(TFJS, backend) for backend in BACKENDS}
        self.tensorflow = OtherPython(tensorflow)

    def ask(self, pool: str, function: Callable[..., Any], *given: Any) -> Any:
        if pool not in self._pools:
            context = multiprocessing.get_context("spawn")
            self._pools[pool] = ProcessPoolExecutor(1, context, max_tasks_per_child=CASES_OF_A_PROCESS)
        try:
            return self._pools[pool].submit(function, *given).result(MOST_SECONDS)
        except BrokenProcessPool:
            del self._pools[pool]
            return "crashed"
        except TimeoutError:  # a loop that ends for no generated input
            for process in list(self._pools.pop(pool)._processes.values()):
                process.kill()
            return f"out of time: {MOST_SECONDS} seconds"

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
        self.tensorflow.close()
        for pool in self._pools.values():
            pool.shutdown()


def outcomes_of(case: RecordedFile, targets: tuple[str, ...], processes: Processes) -> Outcomes:
    found: Outcomes = {}
    inputs = [feeds for feeds, _ in case.calls]
    for target in targets:
        with tempfile.TemporaryDirectory() as folder:
            says = processes.ask("exports", exported, str(case.path), target, folder)
            if says == "written":
                answers = _asked(target, folder, inputs, processes)
                says = answers if isinstance(answers, str) else _compared(case, target, answers)
            found[target] = says
    return found


def _asked(target: str, folder: str, inputs: list[Arrays], processes: Processes) -> list[Arrays] | str:
    if target == "TensorFlow.js":
        if any(_is_too_large(value) for feeds in inputs for value in feeds.values()):
            return "written, not run: int64 numbers that TensorFlow.js does not have"
        try:
            model = tfport.load(Path(folder, "tfjs"))
        except tfport.Error as error:
            return f"fails: {error}"
        reports = {b: tfport.check(model, on=f"tfjs[{b}]=={TFJS}") for b in BACKENDS}
        backend = next((b for b, report in reports.items() if _is_right(report)), "")
        if not backend:
            return "written, not run: for webgl only"
        if any(node.op in DRAWS for node in model.graph):
            return "written, not run: random numbers, which TensorFlow.js draws otherwise"
        node = processes.nodes[backend]
        answers = answered(target, folder, inputs, lambda *given: in_tfjs(node, *given))
        if isinstance(answers, str):  # perhaps an earlier model broke the memory of wasm
            node.close()
            answers = answered(target, folder, inputs, lambda *given: in_tfjs(node, *given))
        return answers
    if target == "SavedModel":
        return processes.tensorflow.ask(target, folder, inputs)
    return processes.ask("runs", answered, target, folder, inputs)


def _is_right(report: Any) -> bool:
    """Whether a model runs, and without wrong answers for some numbers (TFP836)."""
    return report.verdict == "runs" and not any(finding.code == "TFP836" for finding in report.findings)


def _is_too_large(value: Any) -> bool:
    array = np.asarray(value)
    return (
        array.dtype.kind in "iu" and array.size > 0 and not (-(2**31) <= array.min() <= array.max() < 2**31)
    )


def _compared(case: RecordedFile, target: str, answers: list[Arrays]) -> str:
    for number, (actual, (inputs, wanted)) in enumerate(zip(answers, case.calls, strict=True), 1):
        for name in inputs:  # what is an input and an output is an output with another name in these formats
            actual.setdefault(name, actual.get(f"{name}_output"))
        if target == "Triton":  # it has no scalars
            actual = {
                n: np.reshape(a, np.shape(wanted[0].get(n, a))) if np.size(a) == 1 else a
                for n, a in actual.items()
            }
        values_only = target == "TensorFlow.js"  # it has int32 and float32
        different = [difference(actual, each, case.tolerance, values_only=values_only) for each in wanted]
        if all(different):
            return f"wrong: call {number}: {different[0]}"
    return "right"


def run_corpus(name: str, tensorflow: str, chosen: list[str]) -> dict[str, Outcomes]:
    files, targets = CORPORA[name]
    local = threading.local()
    every: list[Processes] = []
    found: dict[str, Outcomes] = {}

    def one(label: str, read: Callable[[], RecordedFile]) -> None:
        if not hasattr(local, "processes"):
            local.processes = Processes(tensorflow)
            every.append(local.processes)
        outcomes = outcomes_of(read(), targets, local.processes)
        print(label, outcomes, flush=True)
        found[label] = {target: says for target, says in outcomes.items() if says != "right"}

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as threads:
        cases = [(label, read) for label, read in files(Path(folder)) if not chosen or label in chosen]
        cases.sort(
            key=lambda case: zlib.crc32(case[0].encode())
        )  # those of a run that is stopped are a sample
        for done in [threads.submit(one, *case) for case in cases]:
            done.result()
    for processes in every:
        processes.close()
    return dict(sorted(found.items()))


def run_models() -> dict[str, Outcomes]:
    from tests.recorded_models import path_of

    names = sorted(path.name for path in (ROOT / "tests" / "models").iterdir() if path.is_dir())
    return {name: {t: outcome_of_model(str(path_of(name)), t) for t in OF_MODELS} for name in names}


# The page

INTRODUCTION = """\
# Exports of recorded models

`tools/export_recorded.py` exports what the tests have recorded, and runs the files on the recorded
inputs: in ONNX Runtime, LiteRT, TensorFlow.js (Node; wasm, or cpu where `check` says that wasm does not
run it or answers some numbers wrongly), TensorFlow 2.21, and the folders for Triton as Triton calls them.
Answers are compared with those of the Keras release that saved the file, or of LiteRT. Right is within
0.0001 of the largest number (0.02 where a model computes in float16), integers are equal, 8-bit ones
within one step. *Not written*: tfport's own comparison with LiteRT differs. `export_recorded.json` has
each outcome that is not right.
"""
TITLES = {
    "keras": "Keras files: one of each recorded case, as one of eight releases saved it",
    "lite": "TensorFlow Lite: models of one operator, also quantized ones",
}
KINDS = {
    "right": ("right",),
    "refused": ("refused",),
    "not written": ("differs",),
    "wrong": ("wrong", "fails", "crashed"),
    "not run": ("written, not run", "out of time"),
}
MOST_REASONS = 12
NOTES = {
    "keras": """\
In the first run, TensorFlow.js failed on each masked recurrent layer (a condition for each row in a
loop), and tfport could not read its own file with int4 weights; with oneDNN, TensorFlow 2.21 fuses
LayerNormalization and takes 0.001 for whatever epsilon it has; concatenations of one tensor were
SavedModels that TensorFlow refuses. All are corrected. `check --on tfjs[wasm]` warns of MaxPooling3D of
negative numbers, so these run on cpu. TensorFlow runs convolutions over volumes in groups only on GPUs.
826 of the 970 cases ran with the code that the cases of TensorFlow Lite below ran with; the other 144 ran
before the corrections that these led to.""",
    "lite": """\
In the first runs, 34 and 31 files of TensorFlow.js were wrong or failed (in samples of 747 and 849): it
rounds quotients of integers down, does not round their means, does not wrap bytes, repeats only a batch
of one matrix, reads a size of 0 that JSON leaves out as NaN, and on wasm takes slices with steps, batches
of indices and choices of bools wrongly; tables filled by another subgraph were empty. 1 ONNX file was
wrong: ONNX Runtime does not wrap int32 sums; 1, and 1 for Triton, failed on a bias with two axes. 14
SavedModels failed: signed random bits, blocks of one, tables, and an op that no TensorFlow has. All are
corrected, or refused with the reason, and all cases ran again. *Not run*: numbers that int32 does not
hold, of which the certificate warns, and random numbers, which TensorFlow.js draws otherwise. *Out of
time*: loops that do not end for the inputs that tfport generates.""",
}


def page() -> None:
    every = json.loads(DATA.read_text())
    lines = [INTRODUCTION]
    for name, title in TITLES.items():
        lines += [f"## {title}", "", *_table(every[name], CORPORA[name][1]), ""]
        notes = NOTES[name]
        lines += [notes, ""] if notes else []
        lines += [
            "What is not right and not refused:",
            "",
            "| case | target | outcome |",
            "| --- | --- | --- |",
        ]
        for case, outcomes in every[name].items():
            for target, says in outcomes.items():
                if not says.startswith("refused"):
                    text = re.sub(r"/tmp/\S+|\s+", " ", says).replace("|", "/")[:160]
                    lines.append(f"| {case} | {target} | {text} |")
        lines += ["", "The most frequent refusals:", "", "| target | reason | cases |", "| --- | --- | --- |"]
        lines += [f"| {t} | {why} | {n} |" for (t, why), n in _reasons(every[name]).most_common(MOST_REASONS)]
        lines.append("")
    DATA.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")


def _table(every: dict[str, Outcomes], targets: tuple[str, ...]) -> Iterator[str]:
    yield f"| target, of {len(every)} | {' | '.join(KINDS)} |"
    yield f"| --- |{' --- |' * len(KINDS)}"
    for target in targets:
        found = [row.get(target, "right").partition(":")[0] for row in every.values()]
        counts = [str(sum(each in names for each in found)) for names in KINDS.values()]
        yield f"| {target} | {' | '.join(counts)} |"


def _reasons(every: dict[str, Outcomes]) -> collections.Counter[tuple[str, str]]:
    """Why a target refuses, by the ops that the message names."""
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for row in every.values():
        for target, says in row.items():
            if says.startswith("refused"):
                ops = re.findall(r"\(([A-Z]\w+)\)|op `(\w+)`", says)
                names = sorted({a or b for a, b in ops})
                found[
                    target, ", ".join(names) or says.removeprefix("refused: the model")[:100].lstrip(": ")
                ] += 1
    return found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page"]:
            page()
            sys.exit()
        case ["models"]:
            results = run_models()
        case ["answer"]:
            answer_calls()
        case [("keras" | "lite") as name, tensorflow, *chosen]:
            results = run_corpus(name, tensorflow, chosen)
        case _:
            sys.exit(__doc__)
    every = json.loads(DATA.read_text()) if DATA.exists() else {}
    kept = every.get(sys.argv[1], {}) if sys.argv[3:] else {}
    DATA.write_text(json.dumps({**every, sys.argv[1]: {**kept, **results}}, indent=1) + "\n")
