"""A JSON schema of sample documents, and what a newer schema breaks for readers of an older one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

Schema = dict[str, Any]
SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
MOST_FIELDS = 40
"""An object with more keys is a map: its keys are names of the model, not fields of the document."""


def published(name: str) -> Schema:
    """The schema of a document in docs/schemas."""
    schema: Schema = json.loads(SCHEMAS.joinpath(f"{name}.schema.json").read_text("utf-8"))
    return schema


def misfits(document: Any, name: str) -> list[str]:
    """What a document has that its schema does not allow."""
    errors = jsonschema.Draft202012Validator(published(name)).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in errors]


def schema_of(samples: list[Any], maps: frozenset[str], where: str) -> Schema:
    """What all samples have in common. `maps` are the places of objects whose keys are names, such as
    `inspect.ops.total`; `run.value=any` is a value of any type."""
    if f"{where}=any" in maps:
        return {}
    types = {type(sample) for sample in samples}
    names = sorted({SCALARS[kind] for kind in types if kind in SCALARS})
    if "number" in names and "integer" in names:
        names.remove("integer")
    schema: Schema = {}
    objects = [sample for sample in samples if isinstance(sample, dict)]
    if objects:
        names.append("object")
        schema |= _object(objects, maps, where)
    if lists := [sample for sample in samples if isinstance(sample, list)]:
        names.append("array")
        if items := [item for sample in lists for item in sample]:
            schema["items"] = schema_of(items, maps, where)
    if names == ["null"]:
        return {}  # the samples do not show what else it can be
    return {"type": names[0] if len(names) == 1 else names, **schema}


def _object(objects: list[dict[str, Any]], maps: frozenset[str], where: str) -> Schema:
    if where in maps:
        values = [value for sample in objects for value in sample.values()]
        return {"additionalProperties": schema_of(values, maps, f"{where}.*")} if values else {}
    fields = list(dict.fromkeys(field for sample in objects for field in sample))
    assert len(fields) <= MOST_FIELDS, (where, fields)
    return {
        "properties": {
            field: schema_of(
                [sample[field] for sample in objects if field in sample], maps, f"{where}.{field}"
            )
            for field in fields
        },
        "required": [field for field in fields if all(field in sample for sample in objects)],
    }


def breaks(old: Schema, new: Schema, where: str = "") -> Iterator[str]:
    """What a program that reads documents of the old schema cannot rely on any more."""
    if "type" in old and not _types(new) <= _types(old):
        yield f"{where}: {sorted(_types(old))} became {sorted(_types(new))}"
    for field, value in old.get("properties", {}).items():
        if field not in new.get("properties", {}):
            yield f"{where}.{field} is gone"
            continue
        if field in old["required"] and field not in new["required"]:
            yield f"{where}.{field} is no longer always there"
        yield from breaks(value, new["properties"][field], f"{where}.{field}")
    for part in ("items", "additionalProperties"):
        if part in old and part in new:
            yield from breaks(old[part], new[part], f"{where}[]")


def _types(schema: Schema) -> set[str]:
    """The types of a value; a whole number is a number too."""
    kinds = schema.get("type", "null")
    types = {kinds} if isinstance(kinds, str) else set(kinds)
    return types | ({"integer"} if "number" in types else set())
