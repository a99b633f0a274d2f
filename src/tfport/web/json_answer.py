"""Answers in JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson
from aiohttp import web

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
