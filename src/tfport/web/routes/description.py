"""The description of the API."""

from __future__ import annotations

from aiohttp import web

from tfport.web.json_answer import json_answer
from tfport.web.openapi import document


async def _openapi(_: web.Request) -> web.Response:
    return json_answer(document())


ROUTES = [web.get("/openapi.json", _openapi)]
