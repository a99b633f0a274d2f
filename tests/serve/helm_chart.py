"""Render a Helm chart: the part of Go's templates that the chart in `deploy/helm` uses, and nothing else.

    documents = rendered(CHART, {"networkPolicy": {"enabled": True}})

Helm itself is not needed for the tests. What is not known here is an error: an unknown function, a value that
`values.yaml` does not have, a block that is not closed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "tfport-serve"
RELEASE = "models"
_ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_PATH = re.compile(r"\.|(\.\w+)+")


def rendered(chart: Path, changed: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the objects of a chart with changed values."""
    values = _merged(yaml.safe_load((chart / "values.yaml").read_text()), changed or {})
    root = {"Values": values, "Release": {"Name": RELEASE}}
    documents: list[dict[str, Any]] = []
    for file in sorted((chart / "templates").iterdir()):
        documents += filter(None, yaml.safe_load_all(_render(_tokens(file.read_text()), root)))
    return documents


def _merged(values: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    out = dict(values)
    for key, value in changed.items():
        if key not in values:
            raise KeyError(f"values.yaml has no {key}")
        deeper = isinstance(value, dict) and isinstance(values[key], dict) and values[key]
        out[key] = _merged(values[key], value) if deeper else value
    return out


def _tokens(text: str) -> list[str]:
    """Return texts and actions in turn; white space beside a dash is left out."""
    out, end, trims = [], 0, False
    for action in _ACTION.finditer(text):
        before = text[end : action.start()]
        before = before.lstrip() if trims else before
        out += [before.rstrip() if action[1] else before, action[2]]
        end, trims = action.end(), bool(action[3])
    return [*out, text[end:].lstrip() if trims else text[end:]]


def _render(tokens: list[str], root: dict[str, Any]) -> str:
    text, rest = _block(tokens, 0, root)
    assert rest == len(tokens), "an `end` too many"
    return text


def _block(tokens: list[str], at: int, dot: Any) -> tuple[str, int]:
    """Render until the end of a block; return the text and the index after its `end`."""
    out = []
    while at < len(tokens):
        out.append(tokens[at])
        if at + 1 == len(tokens):
            return "".join(out), at + 1
        action, at = tokens[at + 1], at + 2
        keyword, _, expression = action.partition(" ")
        if keyword == "end":
            return "".join(out), at
        if keyword == "if":
            text, at = _block(tokens, at, dot)
            out.append(text if _value(expression, dot) else "")
        elif keyword == "range":
            items = _value(expression, dot)
            texts = [_block(tokens, at, item) for item in items]
            out += [text for text, _ in texts]
            at = texts[0][1] if texts else _skipped(tokens, at)
        else:
            out.append(_printed(_value(action, dot)))
    raise AssertionError("a block is not closed")


def _skipped(tokens: list[str], at: int) -> int:
    """Return the index after the `end` of a block that is not rendered."""
    depth = 1
    while depth:
        keyword = tokens[at + 1].partition(" ")[0]
        depth += (keyword in ("if", "range")) - (keyword == "end")
        at += 2
    return at


def _value(expression: str, dot: Any) -> Any:
    first, *functions = expression.split(" | ")
    words = first.split()
    value = _looked_up(words[-1], dot)
    for function in [*reversed(words[:-1]), *functions]:
        value = _called(function, value)
    return value


def _looked_up(path: str, dot: Any) -> Any:
    assert _PATH.fullmatch(path), path
    for name in filter(None, path.split(".")):
        dot = dot[name]
    return dot


def _called(function: str, value: Any) -> Any:
    name, _, argument = function.partition(" ")
    if name == "not":
        return not value
    if name == "quote":
        return json.dumps(_printed(value))
    if name == "toYaml":
        return yaml.safe_dump(value, sort_keys=True).rstrip("\n")
    if name == "nindent":
        return "".join(f"\n{' ' * int(argument)}{line}" for line in value.split("\n"))
    raise AssertionError(f"unknown function {name}")


def _printed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
