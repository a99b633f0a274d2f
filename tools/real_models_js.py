"""Read what a browserified npm module holds, without running it.

Some packages ship a TF.js model as JavaScript: `model.min.js` with the JSON as an object
literal, `group1-shard1of2.min.js` with the bytes of `group1-shard1of2` as one base64 string.
"""

from __future__ import annotations

import base64
import json
import re

EXPORTS = "exports="
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|![01]|(?<![\w$.])-?\.\d|[A-Za-z_$][\w$]*(?=:)')


def as_json(token: re.Match[str]) -> str:
    """One token of a minified literal, as JSON spells it."""
    found = token[0]
    if found in ("!0", "!1"):
        return "true" if found == "!0" else "false"
    if found.startswith((".", "-.")):
        return found.replace(".", "0.")
    return found if found.startswith('"') else f'"{found}"'


def exported(source: str) -> object:
    """The value that the last module of a bundle exports: a literal, read as JSON."""
    literal = source[source.rindex(EXPORTS) + len(EXPORTS) :]
    return json.JSONDecoder().raw_decode(TOKEN.sub(as_json, literal))[0]


def decoded(files: dict[str, bytes]) -> dict[str, bytes]:
    """`model.min.js` and its shards → `model.json` and the shards that it names."""
    return {out: data for name, source in files.items() for out, data in [one(name, source.decode())]}


def one(name: str, source: str) -> tuple[str, bytes]:
    value = exported(source)
    if isinstance(value, str):
        return name.removesuffix(".min.js"), base64.b64decode(value)
    return name.replace(".min.js", ".json"), json.dumps(value).encode()
