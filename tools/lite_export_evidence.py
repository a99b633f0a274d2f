"""Compare `tfport export -o model.tflite` with TensorFlow's converter on published models drawn at random.

    python tools/lite_export_evidence.py convert PYTHON [COUNT]   the converter of the TensorFlow of a Python
    python tools/lite_export_evidence.py flex PYTHON [COUNT]      the same with `SELECT_TF_OPS`
    python tools/lite_export_evidence.py export [COUNT]           tfport, with its comparison in LiteRT
    python tools/lite_export_evidence.py export_flex [COUNT]      the same with `--allow-flex`
    python tools/lite_export_evidence.py page                     write docs/evidence/lite_export.md

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
from pathlib import Path
from typing import Any

import real_models

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("EVIDENCE", ROOT / "docs" / "evidence" / "lite_export.json"))
EARLIER, SEED, COUNT, SECONDS = 41, 42, 40, 300
"""The seed of an earlier draw, whose models are left out, and that of this one."""
FILES = Path(os.environ.get("EVIDENCE_FILES", tempfile.gettempdir())) / "lite_export_files"
"""Where the written files stay, for `compare`."""
KINDS = ("saved_model", "graph_def")
CONVERT = r"""
import json, sys
import tensorflow as tf
path, output, flex, signature, inputs, outputs = json.loads(sys.argv[1])
if inputs is None:
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


def sample(count: int) -> list[tuple[str, str, Path]]:
    """The kind, the name and the path of models, drawn from all that are there."""
    rows = sorted(
        (kind, str(package.folder / path))
        for package in real_models.packages()
        if package.is_here()
        for kind, path in package.models
        if kind in KINDS
    )
    seen = set(random.Random(EARLIER).sample(rows, min(COUNT, len(rows))))
    rows = [row for row in rows if row not in seen]
    drawn = sorted(random.Random(SEED).sample(rows, min(COUNT, len(rows))))[:count]
    return [(kind, str(Path(path).relative_to(real_models.CACHE)), Path(path)) for kind, path in drawn]


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


def run(side: str, count: int, python: str) -> None:
    """Convert all models by one of the sides; what was written stays in FILES."""
    for kind, name, path in sample(count):
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
            tensors = (inputs, outputs) if kind == "graph_def" else (None, None)
            asked = [str(path), str(output), side == "flex", signature or None, *tensors]
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


# The page


def outcome(side: str, result: dict[str, Any]) -> str:
    if result["code"] == 0 and result["size"]:
        return "written"
    if side == "export" and "differ" in result["says"]:
        return "refused: outputs differ"
    return "crashed" if result["code"] < 0 else "refused"


def page() -> None:
    results = json.loads(DATA.read_text())
    both = [row for row in results.values() if {"export", "convert"} <= row.keys()]
    ours, theirs = ([outcome(side, row[side]) for row in both] for side in ("export", "convert"))
    written = [row for row, a, b in zip(both, ours, theirs, strict=True) if a == b == "written"]
    lines = [
        "# Export to TensorFlow Lite",
        "",
        "`tools/lite_export_evidence.py` draws SavedModels and frozen graphs from the published models and",
        "gives each to `tfport export -o model.tflite` and to TensorFlow 2.21's converter, without Flex ops.",
        "tfport's time includes the comparison of the file with the model, in its own runtime and in",
        "LiteRT 2.3.0; a file whose outputs differ is not written. `lite_export.json` has the reasons of all",
        "refusals. Both were measured on a machine with other work, so times are rough.",
        "",
        f"tfport wrote {ours.count('written')} of {len(both)}, and the converter {theirs.count('written')}; "
        f"tfport did not write {ours.count('refused: outputs differ')} because the outputs differ.",
        "",
        f"On the {len(written)} that both wrote: time {_ratio(written, 'seconds')}, peak memory "
        f"{_ratio(written, 'megabytes')}, file size {_ratio(written, 'size')} (tfport / converter, median).",
        "",
        "| model | tfport | s | MB | file | converter | s | MB | file |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(results.items()):
        if {"export", "convert"} <= row.keys():
            lines.append(
                f"| {name} | {_cells('export', row['export'])} | {_cells('convert', row['convert'])} |"
            )
    (DATA.with_suffix(".md")).write_text("\n".join(lines) + "\n")


def _ratio(rows: list[dict[str, Any]], key: str) -> str:
    ratios = sorted(row["export"][key] / max(row["convert"][key], 1e-9) for row in rows)
    return f"{ratios[len(ratios) // 2]:.2f}" if ratios else "-"


def _cells(side: str, result: dict[str, Any]) -> str:
    size = f"{result['size']:,}" if result["size"] else "-"
    return f"{outcome(side, result)} | {result['seconds']:.1f} | {result['megabytes']:,} | {size}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["convert" | "flex" as side, python, *count]:
            run(side, int(count[0]) if count else COUNT, python)
        case ["export" | "export_flex" as side, *count]:
            run(side, int(count[0]) if count else COUNT, sys.executable)
        case ["ends", path]:
            print_ends(Path(path))
        case ["page"]:
            page()
        case _:
            sys.exit(__doc__)
