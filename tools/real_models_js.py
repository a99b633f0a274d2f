"""Extract the data of a browserified npm module without running it.

Some packages contain a TF.js model as JavaScript: `model.min.js` with the JSON as an object
literal, `group1-shard1of2.min.js` with the bytes of `group1-shard1of2` as one base64 string.
"""

from __future__ import annotations

import base64
import json
import re

EXPORTS = "exports="
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|![01]|(?<![\w$.])-?\.\d|[A-Za-z_$][\w$]*(?=:)')


def as_json(token: re.Match[str]) -> str:
    """Return a token of a minified literal as JSON."""
    text = token[0]
    if text in ("!0", "!1"):
        return "true" if text == "!0" else "false"
    if text.startswith((".", "-.")):
        return text.replace(".", "0.")
    return text if text.startswith('"') else f'"{text}"'


def exported(source: str) -> object:
    """Return the value that the last module of a bundle exports: a literal, read as JSON."""
    literal = source[source.rindex(EXPORTS) + len(EXPORTS) :]
    return json.JSONDecoder().raw_decode(TOKEN.sub(as_json, literal))[0]


def decoded(files: dict[str, bytes]) -> dict[str, bytes]:
    """Convert `model.min.js` and its shards to `model.json` and its shards."""
    return {out: data for name, source in files.items() for out, data in [converted(name, source.decode())]}


def converted(name: str, source: str) -> tuple[str, bytes]:
    value = exported(source)
    if isinstance(value, str):
        return name.removesuffix(".min.js"), base64.b64decode(value)
    return name.replace(".min.js", ".json"), json.dumps(value).encode()
