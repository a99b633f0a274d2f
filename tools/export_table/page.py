"""docs/export.md: the table of targets and sources, from the outcomes of `run.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/export.md"
OTHERS = {
    "tflite": ("TFLiteConverter", "`.tflite`"),
    "tf2onnx": ("tf2onnx", "ONNX"),
    "onnx2tf": ("onnx2tf", "`.tflite`"),
}
TARGETS = ("ONNX", "`.tflite`", "TensorFlow.js", "Triton", "SavedModel", "GraphDef", "Keras 3", "weights")
WRITTEN, NOT_READ = "written", "not read"
OTHER_ENDS = {"invalid": "invalid", "too slow": "out of time"}
NOTHING = "has no weights"
"""Why a layer without weights has no file of weights: that is not a refusal."""
HEAD = """# What converts to what

`tools/export_table/run.py` draws {count} models of each format (seed {seed}), converts each to every target
with [`tfport export`](commands/export.md) ([`fix`](commands/fix.md) for Keras files), and writes this page.
Published packages have the SavedModels, graphs, MetaGraphs, checkpoints and TensorFlow.js models
(`tools/real_models.toml`); the Keras files are those that real releases saved, mostly of one layer each; the
`.tflite` files are what TensorFlow's converter made from the SavedModels. Cells say *written of tried*.
`.tflite`, TensorFlow.js and Keras files were also compared with the original in tfport's runtime, and a file
whose outputs differ is not written. Graphs were written as Keras files with `--as-graph`.

"""
BESIDE = """
## Compared with other converters

On the same models, each converter had {seconds} CPU seconds for a model. Its file counts if ONNX Runtime or
LiteRT loads it, otherwise it is invalid; its outputs were not compared. onnx2tf got the valid files of
tf2onnx. Keras files were converted with Keras 3 and, where that fails, with tf-keras. `-` means that the
converter does not read the format, or had nothing to read.

{releases}

"""
WHY = """
## Why not

Every refusal in this run, with tfport's message, is in `docs/evidence/export_table.json`. The most frequent:

"""
MOST_REASONS = 12
MOST_SECONDS = 300
"""As in `others.py`."""


def write_page(document: Mapping[str, Any]) -> None:
    models = document["models"].values()
    sources = list(dict.fromkeys(model["source"] for model in models))
    rows = [["from", *TARGETS]]
    for source in sources:
        of_source = [model for model in models if model["source"] == source]
        rows.append([source, *(_counted([m["tfport"].get(target) for m in of_source]) for target in TARGETS)])
    text = HEAD.format(**document) + _table(rows)
    if document["converters"]:
        releases = (f"- {OTHERS[which][0]}: {', '.join(r)}" for which, r in document["converters"].items())
        text += BESIDE.format(seconds=MOST_SECONDS, releases="\n".join(releases))
        text += _table(list(_beside(models, sources, document["converters"])))
    PAGE.write_text(text + WHY + _reasons(models))


def _beside(models: Any, sources: list[str], converters: Mapping[str, Any]) -> Any:
    known = [name for name in OTHERS if name in converters]
    yield ["from", *(cell for name in known for cell in (OTHERS[name][0], f"tfport, {OTHERS[name][1]}"))]
    for source in sources:
        of_source = [model for model in models if model["source"] == source]
        cells = []
        for name in known:
            theirs = [
                m.get(name) for m in of_source if m.get(name, {}).get("outcome") not in (None, NOT_READ)
            ]
            cells.append(_counted(theirs) if theirs else "-")
            cells.append(_counted([m["tfport"].get(OTHERS[name][1]) for m in of_source]))
        yield [source, *cells]


def _counted(records: list[Mapping[str, Any] | None]) -> str:
    """How many were written, of those that have something to write, and what else happened but refusals."""
    tried = [record or {"outcome": "not tried"} for record in records]
    tried = [record for record in tried if not record.get("why", "").endswith(NOTHING)]
    ended = [record["outcome"] for record in tried]
    others = [f"{ended.count(o)} {words}" for o, words in OTHER_ENDS.items() if o in ended]
    return f"{ended.count(WRITTEN)} of {len(tried)}" + (f" ({', '.join(others)})" if others else "")


def _table(rows: list[list[str]]) -> str:
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _reasons(models: Any) -> str:
    counts: dict[tuple[str, str], int] = {}
    for model in models:
        for target, record in model["tfport"].items():
            if record["outcome"] != WRITTEN and not record["why"].endswith(NOTHING):
                key = target, _short(record["why"] or record["outcome"])
                counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])[:MOST_REASONS]
    return _table([["target", "reason", "models"], *([t, why, str(n)] for (t, why), n in ordered)])


def _short(why: str) -> str:
    """A reason without the path of the model, in one cell."""
    parts = why.removeprefix("tfport: ").split(": ", 1)
    text = parts[1] if len(parts) == 2 and "/" in parts[0] else why
    return text.replace("|", "\\|")[:140]
