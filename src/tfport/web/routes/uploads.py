"""Uploads: begin one, send its files."""

from __future__ import annotations

from aiohttp import web

from tfport.web.json_answer import VERSION, json_answer
from tfport.web.state import state_of

CHUNK = 1 << 20


async def _begin(request: web.Request) -> web.Response:
    return json_answer({"version": VERSION, "upload": state_of(request).uploads.new()}, 201)


async def _file(request: web.Request) -> web.Response:
    upload, path = request.match_info["upload"], request.match_info["path"]
    await state_of(request).uploads.add(upload, path, request.content.iter_chunked(CHUNK))
    return json_answer({"version": VERSION}, 201)


ROUTES = [web.post("/uploads", _begin), web.put("/uploads/{upload}/{path:.+}", _file)]
