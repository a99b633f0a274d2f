"""Record the public interface: what programs that call tfport rely on.

    python -m tests.api.record              the JSON schemas in docs/schemas
    python -m tests.api.record 0.2.0        and tests/api/0.2.0.json.xz: do so when that version is released

The schemas describe what the commands of `tests.api.documents` print.
"""

import inspect
import json
import lzma
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from tests.api.documents import DOCUMENTS, MAPS, documents
from tests.api.json_schema import SCHEMAS, Schema, schema_of


def schemas() -> dict[str, Schema]:
    """A schema for each document, by its name, with the version that the documents state."""
    found = {}
    for name in DOCUMENTS:
        if samples := documents(name):
            (version,) = {sample["version"] for sample in samples}
            schema = schema_of(samples, MAPS, name)
            schema["properties"]["version"] = {"const": version, "type": "integer"}
            head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"tfport {name}"}
            found[name] = {**head, "$id": f"urn:tfport:{name}:{version}", **schema}
    return found


def functions() -> dict[str, Any]:
    """The public names, with the parameters of functions and classes."""
    import tfport

    found: dict[str, Any] = {}
    for name in tfport.__all__:
        thing = getattr(tfport, name)
        call = thing.__init__ if isinstance(thing, type) and not is_dataclass(thing) else thing
        parameters = inspect.signature(call).parameters.values()
        found[name] = {p.name: [p.kind.name, p.default is not p.empty] for p in parameters}
    return found


def options() -> dict[str, list[str]]:
    """The options of each command."""
    from tfport.cli.main import parser

    (commands,) = (action for action in parser()._actions if action.dest == "command")
    return {
        name: sorted(option for action in command._actions for option in action.option_strings)
        for name, command in commands.choices.items()
    }


def codes() -> dict[str, str]:
    """The finding codes, which are the rules of SARIF too, and their names."""
    from tfport.check.findings.finding import all_findings

    return {code: kind.name for code, kind in sorted(all_findings().items())}


def interface() -> dict[str, Any]:
    return {"functions": functions(), "options": options(), "codes": codes(), "schemas": schemas()}


def main(version: str | None = None) -> None:
    recorded = interface()
    if version is not None:
        text = json.dumps(recorded, sort_keys=True).encode()
        (Path(__file__).parent / f"{version}.json.xz").write_bytes(lzma.compress(text))
    if version != "0.1.0":
        SCHEMAS.mkdir(exist_ok=True)
        for name, schema in recorded["schemas"].items():
            text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
            SCHEMAS.joinpath(f"{name}.schema.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
