"""Compare `tfport export -o model.onnx` with tf2onnx on published models drawn at random.

    python tools/onnx_export_evidence.py compare TF2ONNX CHECK TORCH TENSORFLOW [COUNT]
    python tools/onnx_export_evidence.py page

The arguments of `compare` are Pythons: one with tf2onnx, one with onnx, ONNX Runtime and OpenVINO, one with
onnx2torch, and one with TensorFlow, whose answers are the reference (tfport's host kernels where TensorFlow
does not load a model). Each conversion is a process of its own, whose time and peak memory are measured;
both converters take turns. docs/evidence/onnx_export.json has the results.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import lite_export_evidence as shared
import real_models

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("EVIDENCE", ROOT / "docs" / "evidence" / "onnx_export.json"))
WORKER = Path(__file__).with_name("onnx_export_worker.py")
SEED, COUNT, INPUTS = 4150, 48, 10
KINDS = ("saved_model", "graph_def", "tfjs")
SECONDS = 600


def sample(count: int) -> list[tuple[str, str, Path]]:
    """The kind, the name and the path of models, drawn from all that are there."""
    rows = sorted(
        (kind, str(package.folder / path))
        for package in real_models.packages()
        if package.is_here()
        for kind, path in package.models
        if kind in KINDS
    )
    drawn = sorted(random.Random(SEED).sample(rows, COUNT))[:count]
    return [(kind, str(Path(path).relative_to(real_models.CACHE)), Path(path)) for kind, path in drawn]


def make_inputs(path: str, signature: str, output: str) -> None:
    """Write inputs that the model accepts, and the answers of tfport's host kernels."""
    import numpy as np

    import tfport
    from tfport.fix.certify.inputs.arrays import ORDINARY
    from tfport.fix.certify.trials import TrialBuilder
    from tfport.runtime.select_signature import select_signature

    model = tfport.load(path)
    chosen = select_signature(model, signature or None)
    session = tfport.Session(model, engine="none")
    builder = TrialBuilder(model, chosen)
    feeds = {name: spec.tensors[0] for name, spec in chosen.inputs.items()}
    fetches = {name: spec.tensors[0] for name, spec in chosen.outputs.items()}
    why = ""
    for sizing in (group := builder.sizings())[0] + group[1]:
        first = builder.trial(sizing, ORDINARY).inputs
        try:
            session.run(list(fetches.values()), {feeds[n]: a for n, a in first.items()})
            break
        except tfport.Error as error:
            why = str(error)
    else:
        sys.exit(f"no inputs: {why}")
    trials = [first]
    for seed in range(INPUTS - 1):
        draw = np.random.default_rng(seed)
        trials.append({name: _redrawn(array, draw) for name, array in first.items()})
    arrays, kept = {}, 0
    for trial in trials:
        try:
            answers = session.run(list(fetches.values()), {feeds[n]: a for n, a in trial.items()})
        except tfport.Error:
            continue
        for index, name in enumerate(feeds):
            arrays[f"{kept}/in/{index}"] = _plain(trial[name])
        for index, answer in enumerate(answers):
            arrays[f"{kept}/out/{index}"] = _plain(answer)
        kept += 1
    names = json.dumps({"feeds": feeds, "fetches": fetches, "count": kept})
    np.savez(output, names=np.array(names), **arrays)


def _redrawn(array: Any, draw: Any) -> Any:
    """Other values of the same shape and type."""
    if array.dtype.kind == "f":
        return draw.standard_normal(array.shape).astype(array.dtype)
    return draw.permutation(array.reshape(-1)).reshape(array.shape)


def _plain(array: Any) -> Any:
    """Strings as bytes of one length, which a file has without pickle."""
    import numpy as np

    return np.asarray(array, "S") if getattr(array, "dtype", None) == object else np.asarray(array)


def compare(count: int, tf2onnx: str, check: str, torch: str, tensorflow: str) -> None:
    only = os.environ.get("ONLY", "tfport tf2onnx").split()
    for kind, name, path in sample(count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                signature, inputs, outputs = shared.ends(path)
            except Exception as error:
                save(name, "kind", kind)
                save(name, "problem", f"not readable: {error}"[:300])
                continue
            save(name, "kind", kind)
            trials = Path(folder, "trials.npz")
            why = said([sys.executable, __file__, "inputs", str(path), signature, str(trials)])
            save(name, "inputs", why[:300])
            if trials.exists() and kind != "tfjs":
                asked = json.dumps([kind, str(path), signature, str(trials)])
                save(name, "reference", said([tensorflow, str(WORKER), "reference", asked])[:300])
            for side in ("tfport", "tf2onnx"):
                if side not in only:
                    continue
                output = Path(folder, f"{side}.onnx")
                command = command_of(side, kind, path, output, signature, inputs, outputs, tf2onnx)
                result = shared.measured(command, output)
                if output.exists():
                    asked = json.dumps([str(output), str(trials)])
                    result["checks"] = answered([check, str(WORKER), "check", asked])
                    result["torch"] = answered([torch, str(WORKER), "torch", asked])
                save(name, side, result)
                print(name, side, result["code"], result.get("checks"), flush=True)


def command_of(
    side: str, kind: str, path: Path, output: Path, signature: str, inputs: list[str], outputs: list[str], python: str
) -> list[str]:
    if side == "tfport":
        chosen = ["--signature", signature] if signature else []
        return [sys.executable, "-m", "tfport", "export", str(path), "-o", str(output), *chosen]
    ends = ["--inputs", ",".join(f"{n}:0" for n in inputs), "--outputs", ",".join(f"{n}:0" for n in outputs)]
    option = {"saved_model": "--saved-model", "graph_def": "--graphdef", "tfjs": "--tfjs"}[kind]
    chosen = ["--signature_def", signature] if kind == "saved_model" and signature else []
    ends = [] if kind in ("saved_model", "tfjs") else ends
    return [python, "-m", "tf2onnx.convert", option, str(path), "--output", str(output), "--opset", "18", *chosen, *ends]


def said(command: list[str]) -> str:
    """The last line that a program printed if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, text=True)
    except subprocess.TimeoutExpired:
        return "timeout"
    return shared.reason(done.stderr) if done.returncode else ""


def answered(command: list[str]) -> dict[str, Any]:
    """The JSON that a program printed last."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, text=True)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"error": "timeout"}
    except (IndexError, ValueError):
        return {"error": shared.reason(done.stderr) or f"exit code {done.returncode}"}


def save(name: str, key: str, value: Any) -> None:
    results = json.loads(DATA.read_text()) if DATA.exists() else {}
    results.setdefault(name, {})[key] = value
    DATA.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["compare", tf2onnx, check, torch, tensorflow, *count]:
            compare(int(count[0]) if count else COUNT, tf2onnx, check, torch, tensorflow)
        case ["inputs", path, signature, output]:
            make_inputs(path, signature, output)
        case ["draw"]:
            print(*(name for _, name, _ in sample(COUNT)), sep="\n")
        case _:
            sys.exit(__doc__)
