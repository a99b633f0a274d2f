"""Record what real interpreters did with files, in a form without the files of others.

    python -m tests.check.lite.record_truth OUTCOMES.json FOLDER

OUTCOMES.json has, for each file in FOLDER, what the interpreters of `tools/truth/lite` did. Of a file only
its skeleton is kept: operator codes, the nodes with custom ops, calls of subgraphs, tensor types.
"""

import json
import lzma
import sys
from pathlib import Path

from tfport.formats.files import Folder
from tfport.formats.lite.read import read_lite
from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteSignature,
    LiteTensor,
    OperatorCode,
    Subgraph,
)

RECORD = Path(__file__).with_name("truth.json.xz")
WAYS = {"default": None, "plain": "none"}
"""The delegate that each way of asking stands for."""


def skeleton(file: LiteFile) -> dict[str, object]:
    """What decides whether an interpreter resolves the ops of a file."""
    codes = file.operator_codes
    return {
        "version": file.version,
        "codes": [[c.op, c.number, c.version, c.custom] for c in codes],
        "signatures": [[s.key, s.subgraph] for s in file.signatures],
        "subgraphs": [
            {
                "types": sorted({tensor.type for tensor in graph.tensors}),
                "nodes": [
                    [number, codes.index(node.code), _calls(node)]
                    for number, node in enumerate(graph.operators)
                    if node.code.custom or _calls(node)
                ],
            }
            for graph in file.subgraphs
        ],
    }


def _calls(node: LiteOperator) -> dict[str, int]:
    return {
        name: value for name, value in node.options.items() if "subgraph" in name and isinstance(value, int)
    }


def rebuilt(record: dict[str, object]) -> LiteFile:
    """A file with the skeleton of a record; other nodes are fillers that need nothing."""
    codes = [OperatorCode(*row) for row in record["codes"]]
    subgraphs = []
    for graph in record["subgraphs"]:
        last = max((number for number, _, _ in graph["nodes"]), default=-1)
        nodes = [LiteOperator(OperatorCode("ADD", 0), (), ()) for _ in range(last + 1)]
        for number, code, options in graph["nodes"]:
            nodes[number] = LiteOperator(codes[code], (), (), dict(options))
        tensors = [LiteTensor("", kind, ()) for kind in graph["types"]]
        subgraphs.append(Subgraph("", tensors, nodes, (), ()))
    signatures = [LiteSignature(key, number, {}, {}) for key, number in record["signatures"]]
    return LiteFile("", record["version"], "", codes, subgraphs, signatures, [b""], [])


def outcome(answer: dict[str, object]) -> list[object]:
    """`[]` if the file was allocated, else the step that failed and the text."""
    return [] if answer["ok"] else [answer["step"], answer.get("text") or ""]


def main(outcomes: str, folder: str) -> None:
    texts: list[list[object]] = [[]]
    files = []
    for name, by_way in sorted(json.loads(Path(outcomes).read_text()).items()):
        path = Path(folder, name)
        if not path.exists():
            continue
        answers = {}
        for key, answer in by_way.items():
            if key.split()[1] in WAYS:
                row = outcome(answer)
                if row not in texts:
                    texts.append(row)
                answers[key] = texts.index(row)
        files.append({**skeleton(read_lite(Folder(path.parent), path.name)), "outcomes": answers})
    text = json.dumps({"texts": texts, "files": files}, separators=(",", ":")).encode()
    RECORD.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
