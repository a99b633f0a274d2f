"""The files of the page, the cookie that its first address gives it, and the description of its API."""

from __future__ import annotations

from aiohttp import web

from tfport.static_page.page import ASSETS
from tfport.web.json_answer import VERSION, json_answer
from tfport.web.openapi import document
from tfport.web.state import state_of
from tfport.web.token import ServerToken

KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


async def _file(request: web.Request) -> web.Response:
    """One of the files of the page by name; nothing else in the package can be reached."""
    name = request.match_info.get("name") or "index.html"
    path = ASSETS / name
    if path.suffix not in KINDS or path.parent != ASSETS or not path.is_file():
        raise web.HTTPNotFound
    return web.Response(body=path.read_bytes(), content_type=KINDS[path.suffix], charset="utf-8")


async def _openapi(_: web.Request) -> web.Response:
    return json_answer(document())


async def _login(request: web.Request) -> web.Response:
    """The guard has seen the token; the answer sets the cookie, which ends with the browser."""
    token = ServerToken(state_of(request).options.token)
    answer = json_answer({"version": VERSION})
    answer.set_cookie(token.cookie_name, token.cookie_value, httponly=True, samesite="Strict", path="/")
    return answer


API_ROUTES = [web.post("/login", _login), web.get("/openapi.json", _openapi)]
ROUTES = [web.get("/", _file), web.get(r"/{name:[A-Za-z][\w.-]*}", _file)]
