"""Requests and answers in JSON: bounded bodies with fields of the expected types, documents, errors."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import orjson
from aiohttp import web

from tfport.errors import Error

VERSION = 1
MOST_BODY = 16 << 20
JSON = "application/json"


def json_answer(document: Any, status: int = 200) -> web.Response:
    """A response with a document; NaN becomes null, and keys may be anything that JSON can name."""
    return web.Response(body=encoded(document), status=status, content_type=JSON)


def encoded(document: Any) -> bytes:
    """A document as JSON."""
    try:
        return orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:  # a path that is not UTF-8, or an integer of more than 64 bits
        return json.dumps(document, default=str).encode()


def error_answer(status: int, sentence: str) -> web.Response:
    """A response with one sentence."""
    return json_answer({"version": VERSION, "error": sentence}, status)


# Errors: an HTTP status and one sentence


class RefusedRequest(Error):
    """A request that is answered with an error."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def bad_request(sentence: str) -> RefusedRequest:
    return RefusedRequest(400, sentence)


def forbidden(sentence: str) -> RefusedRequest:
    return RefusedRequest(403, sentence)


def unknown(sentence: str) -> RefusedRequest:
    return RefusedRequest(404, sentence)


# Bodies of requests

T = TypeVar("T")
TOO_LARGE = 413
NAMES: dict[type, str] = {str: "a string", int: "an integer", bool: "true or false", dict: "an object"}


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
