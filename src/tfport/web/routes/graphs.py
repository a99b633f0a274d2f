"""Graphs of a model: the list, one by columns, a node in detail."""

from __future__ import annotations

import orjson
from aiohttp import web

from tfport.errors import Error
from tfport.web.json_answer import JSON, VERSION, json_answer, unknown
from tfport.web.model_store import LoadedModel
from tfport.web.state import state_of


async def _list(request: web.Request) -> web.Response:
    def graphs(loaded: LoadedModel) -> list[dict[str, object]]:
        return [summary.to_json() for summary in loaded.graphs.summaries]

    summaries = await state_of(request).about(request.match_info["model"], graphs)
    return json_answer({"version": VERSION, "graphs": summaries})


async def _graph(request: web.Request) -> web.Response:
    id = request.match_info["graph"]

    def columns(loaded: LoadedModel) -> bytes:
        try:
            return orjson.dumps(loaded.graphs.document(id))
        except Error as error:
            raise unknown(str(error)) from None

    body = await state_of(request).about(request.match_info["model"], columns)
    return web.Response(body=body, content_type=JSON)


async def _node(request: web.Request) -> web.Response:
    id, name = request.match_info["graph"], request.query.get("name", "")

    def details(loaded: LoadedModel) -> dict[str, object]:
        try:
            return loaded.graphs.details(id, name)
        except Error as error:
            raise unknown(str(error)) from None

    return json_answer(await state_of(request).about(request.match_info["model"], details))


ROUTES = [
    web.get("/models/{model}/graphs", _list),
    web.get("/models/{model}/graphs/{graph}", _graph),
    web.get("/models/{model}/graphs/{graph}/node", _node),
]
