"""The body of a request: one JSON object, bounded, with fields of the expected types."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson
from aiohttp import web

from tfport.web.refused_request import RefusedRequest, bad_request

T = TypeVar("T")
TOO_LARGE = 413


async def read_object(request: web.Request) -> dict[str, Any]:
    """The JSON object in a body."""
    try:
        body = await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise RefusedRequest(TOO_LARGE, f"the body is too large: {error.text}") from None
    try:
        document = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise bad_request("expected a JSON object")
    return document


def field(document: dict[str, Any], name: str, kind: type[T], default: T | None = None) -> T:
    """A field of the body; without a default it is required."""
    value = document.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise bad_request(f"`{name}`: expected {NAMES[kind]}")
    return value


def texts(document: dict[str, Any], name: str) -> list[str]:
    """A field with a list of strings; empty if it is missing."""
    values = document.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise bad_request(f"`{name}`: expected a list of strings")
    return values


NAMES: dict[type, str] = {str: "a string", int: "an integer", bool: "true or false", dict: "an object"}
