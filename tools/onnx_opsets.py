"""Record what each version of ONNX's ops takes, from the `onnx` package: `python tools/onnx_opsets.py`.

Writes src/tfport/runtime/onnx/opsets.json, for the ops that changed after opset 13: attributes, number of
inputs, and the types of each. Run it in a Python with onnx.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import onnx
from onnx import defs, helper

FIRST = 13
OUTPUT = Path(__file__).parent.parent / "src" / "tfport" / "runtime" / "onnx" / "opsets.json"
NAMES = {"float": "float32", "double": "float64"}
MOST = 1_000


def main() -> None:
    versions: dict[str, dict[int, defs.OpSchema]] = defaultdict(dict)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated:
            versions[schema.name][schema.since_version] = schema
    types: dict[tuple[str, ...], int] = {}
    ops = {}
    for name, known in sorted(versions.items()):
        old = [version for version in known if version <= FIRST]
        kept = sorted([max(old)] if old else []) + sorted(version for version in known if version > FIRST)
        if kept != [version for version in kept if version <= FIRST]:
            ops[name] = {str(version): record(known[version], types) for version in kept}
    releases = {str(opset): ir for _, ir, opset, *_ in reversed(helper.VERSION_TABLE) if opset >= FIRST}
    text = json.dumps(
        {
            "onnx": onnx.__version__,
            "ir_versions": dict(sorted(releases.items(), key=lambda row: int(row[0]))),
            "types": [" ".join(names) for names in types],
            "ops": ops,
        }
    )
    OUTPUT.write_text(text.replace('}}, "', '}},\n"') + "\n")


def record(schema: defs.OpSchema, types: dict[tuple[str, ...], int]) -> dict[str, object]:
    inputs = [
        types.setdefault(tuple(sorted(filter(None, map(plain, entry.types)))), len(types))
        for entry in schema.inputs
    ]
    most = min(schema.max_input, MOST)
    return {"attrs": sorted(schema.attributes), "most": most, "inputs": inputs}


def plain(text: str) -> str:
    """The element type of `tensor(float)`; empty for others."""
    if not text.startswith("tensor("):
        return ""
    name = text.removeprefix("tensor(").removesuffix(")")
    return NAMES.get(name, name)


if __name__ == "__main__":
    main()
