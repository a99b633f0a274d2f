"""Write the schema of TensorFlow Lite files as data, from a `schema.fbs` of LiteRT.

    python tools/atlas/lite_schema.py path/to/schema.fbs

`enums` has the type and the numbers by name, `unions` the tables by number, `tables` the fields in the
order of their slots: name, type and default. A union takes two slots.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

SCHEMA = Path(__file__).parents[2] / "src/tfport/formats/lite/schema.json"
COMMENT = re.compile(r"//[^\n]*|\(deprecated\)(?=\s*[,{])")
BLOCK = re.compile(r"\b(enum|union|table)\s+(\w+)\s*(?::\s*(\w+))?\s*\{([^}]*)\}")
FIELD = re.compile(r"(\w+)\s*:\s*(\[?\s*\w+\s*\]?)\s*(?:=\s*([\w.+-]+))?\s*(\([^)]*\))?\s*;")


def schema(text: str) -> dict[str, dict[str, object]]:
    """The enums, unions and tables of a schema."""
    text = COMMENT.sub("", text)
    blocks = BLOCK.findall(text)
    numbers = {name: _numbered(body) for kind, name, _, body in blocks if kind == "enum"}
    enums = {name: [base, numbers[name]] for kind, name, base, _ in blocks if kind == "enum"}
    unions = {name: ["NONE", *_names(body)] for kind, name, _, body in blocks if kind == "union"}
    tables = {name: list(_fields(body, unions, numbers)) for kind, name, _, body in blocks if kind == "table"}
    return {"enums": enums, "unions": unions, "tables": tables}


def _names(body: str) -> list[str]:
    return [part.strip() for part in body.split(",") if part.strip()]


def _numbered(body: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for part in _names(body):
        name, _, number = part.partition("=")
        numbers[name.strip()] = int(number) if number else len(numbers)
    return numbers


def _fields(body: str, unions: dict[str, list[str]], enums: dict[str, dict[str, int]]):
    for name, kind, default, notes in FIELD.findall(body):
        kind = re.sub(r"\s", "", kind)
        if kind in unions:
            yield [f"{name}_type", "utype", 0]
            yield [name, kind, None]
        elif "deprecated" in notes and "deprecated" not in name:
            yield [f"deprecated_{name}", kind, None]
        else:
            yield [name, kind, _default(kind, default, enums)]


def _default(kind: str, text: str, enums: dict[str, dict[str, int]]) -> object:
    if kind in enums:
        return enums[kind].get(text, int(text) if text.isdigit() else 0)
    if kind == "bool":
        return text == "true"
    if kind in ("float", "double"):
        return float(text or 0)
    if kind.startswith("[") or kind == "string" or kind[0].isupper():
        return None
    return int(text or 0)


def main() -> None:
    read = schema(Path(sys.argv[1]).read_text())
    rows = [
        f'"{kind}": {{\n'
        + ",\n".join(f'"{n}": {json.dumps(v, separators=(",", ":"))}' for n, v in part.items())
        + "\n}"
        for kind, part in read.items()
    ]
    SCHEMA.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
