"""Parts of OpenAPI documents that every protocol on the REST port uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def ref(name: str) -> Json:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def object_schema(required: str, **properties: Json) -> Json:
    """Return the schema of an object; `required` are property names, separated by spaces."""
    return {"type": "object", "required": required.split(), "properties": properties}


def content(schema: str | None) -> Json:
    """Return a JSON body with a named schema; without a name, any object."""
    return {"application/json": {"schema": ref(schema) if schema else {"type": "object"}}}


def path_parameters(path: str, schemas: Mapping[str, Json]) -> list[Json]:
    """Return the parameters in a path, with their schemas."""
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in schemas.items()
        if f"{{{name}}}" in path
    ]
