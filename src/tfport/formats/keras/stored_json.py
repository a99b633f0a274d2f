"""JSON inside Keras files: configurations and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.encoding.json_text import check_depth, parse_json
from tfport.formats.keras.records import Json

MOST_JSON = 64 * 2**20
"""Configurations have a few megabytes; those with long vocabularies more."""


def json_object(text: memoryview | bytes, where: str) -> Mapping[str, Json]:
    """A JSON object with bounded nesting."""
    if bytes(text[:64]).lstrip()[:1] == b'"':  # as `json.dump(model.to_json(), file)` writes it
        quoted: str = parse_json(text, where, str, MOST_JSON)
        text = quoted.encode("utf-8", "replace")
    value: dict[str, Json] = parse_json(text, where, dict, MOST_JSON)
    check_depth(value, where)
    return value


def json_attribute(attributes: Mapping[str, Any], name: str, where: str) -> Mapping[str, Json] | None:
    """A JSON object in an attribute of an HDF5 file; None if there is none, or it is `null`."""
    text = text_attribute(attributes, name)
    if not text or text.strip() in ("null", "None"):
        return None
    return json_object(text.encode(), f"{where}: {name}")


def text_attribute(attributes: Mapping[str, Any], name: str) -> str:
    """A text in an attribute, stored as bytes or string; empty if there is none."""
    value: Any = attributes.get(name)
    if getattr(value, "size", 0) == 1:  # an array or scalar of NumPy
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def stored_model(value: Mapping[str, Json], where: str) -> Mapping[str, Json]:
    """A configuration with the class of its model."""
    if not isinstance(value.get("class_name"), str) or "config" not in value:
        raise UnreadableFile(
            f"{where}: expected the `class_name` and `config` of a Keras model, "
            f"found {', '.join(list(value)[:5]) or 'nothing'}"
        )
    return value
