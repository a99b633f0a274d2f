"""Write `docs/evidence/ops.md`: the TensorFlow ops that tfport runs, beside those that two converters
convert.

    python tools/op_table.py

What tfport runs comes from its index; what the converters convert from `docs/evidence/converter_ops.json`,
which `tools/converter_ops.py` records. `make docs-refresh` calls this, and `tests/test_docs.py` checks that
the page is current.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tfport.frontends.lite.definitions import lite_definitions
from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence" / "ops.md"
CONVERTERS = ROOT / "docs" / "evidence" / "converter_ops.json"
INDEX = ROOT / "src" / "tfport" / "index.json"
IN_ONNX, IN_NUMPY, WHILE_PLANNING = "ONNX", "NumPy", "plan"
INTRODUCTION = """# Ops that tfport runs, and two converters

This page is generated (`tools/op_table.py`). It lists every TensorFlow op, including those of packages such
as TensorFlow Text, that tfport runs: as ONNX nodes in an engine, with a kernel in NumPy, or while it plans a
run. TensorFlow Lite's own operators are not counted. A `yes` beside an op means that the converter knows it,
not that it converts every attribute and dtype: OpenVINO {openvino} with its tokenizers was given a graph with
one node of every recorded op, and did not answer "No conversion rule found"; tf2onnx {tf2onnx} declares a
handler. Patterns of several ops that a converter replaces together, such as OpenVINO's
`SentencepieceTokenizeOp` with `RaggedTensorToSparse`, do not count.

| | ops |
|---|---|
| tfport | {ours:,} |
| of them as ONNX nodes | {lowered:,} |
| OpenVINO | {openvino_ops:,} |
| tf2onnx | {tf2onnx_ops:,} |
| tfport, and neither of the two | {alone:,} |
| one of the two, and not tfport | {others:,} |
"""


def page() -> str:
    recorded = json.loads(CONVERTERS.read_text())
    openvino, tf2onnx = (set(recorded[name]["ops"]) for name in ("openvino", "tf2onnx"))
    ways = ways_to_run()
    theirs = openvino | tf2onnx
    text = INTRODUCTION.format(
        openvino=recorded["openvino"]["version"].partition("-")[0],
        tf2onnx=recorded["tf2onnx"]["version"],
        ours=len(ways),
        lowered=sum(IN_ONNX in way for way in ways.values()),
        openvino_ops=len(openvino),
        tf2onnx_ops=len(tf2onnx),
        alone=len(ways.keys() - theirs),
        others=len(theirs - ways.keys()),
    )
    sections = [text, *family_tables(ways, openvino, tf2onnx)]
    if missing := sorted(theirs - ways.keys()):
        sections.append("## Only in a converter\n\n" + ", ".join(f"`{op}`" for op in missing) + "\n")
    return "\n".join(sections)


def ways_to_run() -> dict[str, str]:
    """How tfport runs each op."""
    catalogs = ((STRUCTURES, WHILE_PLANNING), (LOWERINGS, IN_ONNX), (KERNELS, IN_NUMPY))
    ways: dict[str, list[str]] = {}
    for catalog, way in catalogs:
        for op in catalog.names():
            ways.setdefault(op, []).append(way)
    return {op: ", ".join(some) for op, some in sorted(ways.items()) if op not in lite_definitions()}


def family_tables(ways: dict[str, str], openvino: set[str], tf2onnx: set[str]) -> Iterator[str]:
    families = op_families()
    for family in sorted({families[op] for op in ways}):
        ops = [op for op in ways if families[op] == family]
        rows = [f"| `{op}` | {ways[op]} | {yes(op in openvino)} | {yes(op in tf2onnx)} |" for op in ops]
        yield "\n".join(
            [f"## {family}\n", "| op | tfport | OpenVINO | tf2onnx |", "|---|---|---|---|", *rows, ""]
        )


def yes(is_there: bool) -> str:
    return "yes" if is_there else ""


def op_families() -> dict[str, str]:
    """The folder of `runtime/ops` whose module declares each op."""
    index = json.loads(INDEX.read_text())
    return {
        op: module.removeprefix("runtime.ops.").partition(".")[0]
        for catalog in (KERNELS, LOWERINGS, STRUCTURES)
        for module, ops in index[catalog.kind].items()
        for op in ops.split()
    }


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
