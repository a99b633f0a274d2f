"""The published cases: the tables of this folder as requests and the answers that TensorFlow Serving gives.

Fields of a row, all but the name optional:

    post, get, ask    path of a REST request, below /v1/models/ unless it starts with /
    body, headers     what is sent
    call, request     name of a gRPC method, and its request as a text proto
    status, code      of the answer: 200 or OK by default, 400 if there is an error
    answer            the whole answer, as JSON or as a text proto
    error, error_is   a part of the error message, or all of it
    flags             flags of the server
    then              further requests of the same case, in order
    deviates          tfport answers otherwise: the entry of `DEVIATIONS` that says how

A row with `both` is sent to classify and to regress, with `checked` also to a server that checks method
names, with `models` to each of these models.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DEVIATIONS = {  # how tfport answers otherwise, in the words of docs/commands/serve.md
    "list-of-models": "`GET /v1/models` lists all models",
    "status-of-a-label": "A label has its version's status",
    "model-before-body": "An unknown model is rejected before the body is read",
    "number-format": "Numbers in JSON have the fewest digits that restore them",
    "number-too-big": "A number in JSON that is too big for a double is infinite",
    "half-precision": "float16 and bfloat16 can be sent and received as JSON",
    "small-integers": "An integer that does not fit int8, int16 or uint8 is an error",
    "model-platform": "`model_platform` is optional",
}
CHECKED = ["--enable_signature_method_name_check"]
Row = dict[str, Any]


def _features(**features: str) -> str:
    inner = "".join(f'feature {{ key: "{name}" value {{ {value} }} }} ' for name, value in features.items())
    return f"features {{ {inner}}}"


def _classes(*pairs: tuple[str, float]) -> str:
    labels = " ".join(f'value: "{label}"' for label, _ in pairs)
    scores = " ".join(f"value: {score}" for _, score in pairs)
    return _features(**{"class": f"bytes_list {{ {labels} }}", "score": f"float_list {{ {scores} }}"})


def _number(name: str, value: float) -> str:
    return _features(**{name: f"float_list {{ value: {value} }}"})


PARTS = {  # text protos that rows use as %(name)s: features, and Examples of them
    "dos": _classes(("dos", 2), ("uno", 1)),
    "cuatro": _classes(("cuatro", 4), ("tres", 3)),
    "zero": _classes(("minus", -1), ("zero", 0), ("one", 1)),
    "two": _number("output", 2),
    "three": _number("output", 3),
    "x": _number("x", 2),
}
PARTS = {f"{name}_features": text for name, text in PARTS.items()} | {
    name: f"examples {{ {text} }}" for name, text in PARTS.items()
}


def rows(file: str) -> list[Row]:
    """The rows of a table, one for each way in which they are sent."""
    table = tomllib.loads((FOLDER / file).read_text())
    shared = {name: value for name, value in table.items() if name != "case"}
    return [filled for row in table["case"] for filled in _ways({**shared, **row})]


def _ways(row: Row) -> Iterator[Row]:
    name = row["name"]
    if "both" in row:
        for verb in ("classify", "regress"):
            yield {**row, "name": f"{name}, {verb}", "post": f"{row['both']}_to_{verb}:{verb}"}
    elif row.get("checked"):
        yield _filled(row, {})
        yield {**_filled(row, {}), "name": f"{name}, method names checked", "flags": CHECKED}
    elif "models" in row:
        for model in row["models"]:
            yield {**_filled(row, {"model": model}), "name": f"{name}, {model}"}
    else:
        yield _filled(row, {})


def _filled(value: Any, more: dict[str, str]) -> Any:
    """Replace %(name)s in the text protos of a row."""
    if isinstance(value, dict):
        return {key: _filled(item, more) if key != "body" else item for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, more) for item in value]
    parts = PARTS | more
    return re.sub(r"%\((\w+)\)s", lambda match: parts[match[1]], value) if isinstance(value, str) else value


def steps(row: Row) -> list[Row]:
    """The requests of a row."""
    return row.get("then") or [row]


def expanded(text: str) -> bytes:
    """A body; `<text>*3` stands for the text three times."""
    return re.sub(r"<([^>]*)>\*(\d+)", lambda match: match[1] * int(match[2]), text).encode()
