"""Write docs/evidence/triton.json and triton.md from records of `trial.py`, the later file first in a conflict.

python tools/triton/page.py [FIRST.json LATER.json…]

Without files, the page is written again from triton.json; triton_newest.json and triton_draw.json are
sections of it.
"""

# ruff: noqa: E501
from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parents[2] / "docs/evidence"
PRIVATE = re.compile(r"(?:/[^ `:]*)?/\.cache/tfport/models/")
HEAD = """# Models in Triton

`tfport export MODEL --format triton` exported each model, and the real `tritonserver` {versions}, from the package
nvidia-pytriton 0.7.0, loaded it. A client sent up to ten generated inputs over HTTP and gRPC and compared the answers
with tfport's; models with batches then got 16 examples at once, one per request. `tools/triton/trial.py` records this,
and `tools/triton/page.py` writes this page.

The package has the Python backend but not the ONNX Runtime backend. The server first loaded each model for ONNX Runtime
as written: it reads the configuration, and complains only about the missing backend. It then loaded the model with the
same configuration in the Python backend, with a file that calls ONNX Runtime on `model.onnx`. Nobody tried whether the
ONNX Runtime backend itself accepts it.

"""
DRAWN = """`trial.py 20261141 30` drew these models before any of them was tried (with all signatures: {models}). In the first run,
during which the code was corrected, {loaded} of {written} written models loaded and {same} gave the same answers on every
call; some timed out because the machine was shared. The server refused batches of single elements (guesslang, tfx and
vscode-languagedetection) and scalars (deepner, konlp and sipann), which need one size for clients, and a model name
with colons (chimpdrummingdetector); exporting outputs whose sizes depend on the examples ended in a traceback. All of
this is corrected, and `now` is the outcome since: of {written_now} written models, {loaded_now} load and {same_now} give the same
answers on every call. For a constant sound, three of basic-pitch's 15,136 elements differ by 1e-3, as they do in tfport
if its sums round differently: the trial recognizes rounding errors as certificates do. konlp had received inputs that
filled the memory. napari-deepspot's backend stopped once but not again; we do not know why it did.

"""


NEWEST = EVIDENCE / "triton_newest.json"
NEWEST_HEAD = """## A smaller draw

A seed chose these models from the readable ones of `tools/export_draw.toml`, before any of them was tried here: of {count},
{written} were written (tfport refused the others, or the trial timed out); {loaded} load and {same} give the same answers on
every call.

"""
DRAW = EVIDENCE / "triton_draw.json"
DRAW_HEAD = """## The newest draw

The last 58 files of `tools/export_draw.toml`, without two that are no models, before any of them was looked at. In the
first run, with every signature of these, {written} of {count} were written; {loaded} load and {same} give the same answers on every
call. Of those refused, two have weights but no architecture, one has a layer of its own, one has no signature, one
takes inputs of any size, of which tfport generated too many numbers, and three are forests of TensorFlow.js, whose
trees are in another file; since then, tfport reads the graphs of these.

"""


def name_of(text: str) -> str:
    text = re.sub(r"TimeoutExpired: [^\n]*?timed out after", "the export timed out after", text)
    return PRIVATE.sub("", text)


def outcome(record: dict[str, Any]) -> str:
    if record["outcome"] != "written":
        return f"{record['outcome']}: {record.get('reason', '')}"
    if record["load"] != "loaded":
        return f"not loaded: {record['load']}"
    more = f"; at once: {record['at once']}" if "at once" in record else ""
    return f"{record['answers']}{more}"


def row(model: str, first: dict[str, Any], later: dict[str, Any]) -> str:
    cells = [f"`{model}`", later.get("backend", ""), str(later.get("max_batch_size", "")), outcome(first)]
    cells.append("" if later is first else outcome(later))
    return "| " + " | ".join(name_of(c).replace("|", "\\|").replace("\n", " ")[:160] for c in cells) + " |"


def is_loaded(record: dict[str, Any]) -> bool:
    return bool(record["load"] == "loaded")


def is_same(record: dict[str, Any]) -> bool:
    return record.get("answers", "").startswith("same") and "wrong" not in record.get("at once", "")


def table(records: dict[str, Any], later: dict[str, Any]) -> str:
    head = "| model and signature | backend | batch | first run | now |\n|---|---|---|---|---|\n"
    return head + "\n".join(row(k, v, later.get(k, v)) for k, v in sorted(records.items())) + "\n"


def section(file: Path, head: str) -> str:
    records = json.loads(file.read_text())
    written = [r for r in records.values() if r["outcome"] == "written"]
    loaded, same = sum(map(is_loaded, written)), sum(map(is_same, written))
    counts = {"count": len(records), "written": len(written), "loaded": loaded, "same": same}
    return head.format(**counts) + table(records, {})


def recorded() -> tuple[dict[str, Any], dict[str, Any]]:
    """The first record of each model, and later ones."""
    if not sys.argv[1:]:
        both = json.loads((EVIDENCE / "triton.json").read_text())
        return both["first"], both["later"]
    read = [{name_of(k): v for k, v in json.loads(Path(p).read_text()).items()} for p in sys.argv[1:]]
    first: dict[str, Any] = {}
    later: dict[str, Any] = {}
    for records in read:
        for key, record in records.items():
            (later if key in first else first)[key] = record
    return first, later


def main() -> None:
    first, later = recorded()
    versions = " and ".join(sorted({r["server"] for r in first.values() if "server" in r}))
    drawn = {k: r for k, r in first.items() if r.get("drawn")}
    written = [r for r in drawn.values() if r["outcome"] == "written"]
    now = [r for r in (later.get(k, r) for k, r in drawn.items()) if r["outcome"] == "written"]
    text = HEAD.format(versions=versions)
    text += DRAWN.format(
        models=len(drawn),
        loaded=sum(map(is_loaded, written)),
        written=len(written),
        same=sum(map(is_same, written)),
        written_now=len(now),
        loaded_now=sum(map(is_loaded, now)),
        same_now=sum(map(is_same, now)),
    )
    text += table(drawn, later)
    text += f"\n{section(DRAW, DRAW_HEAD)}\n{section(NEWEST, NEWEST_HEAD)}"
    text += "\n## Recorded models\n\nModels of `tests/models` and the example, each with all of its signatures.\n\n"
    text += table({k: r for k, r in first.items() if not r.get("drawn")}, later)
    (EVIDENCE / "triton.md").write_text(text)
    both = {"first": first, "later": later}
    (EVIDENCE / "triton.json").write_text(name_of(json.dumps(both, indent=1, sort_keys=True)) + "\n")


if __name__ == "__main__":
    main()
