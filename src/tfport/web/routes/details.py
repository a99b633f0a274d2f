"""What is inside of a model: graphs, nodes, search, stored tensors, assets; the difference of two graphs."""

from __future__ import annotations

import re
from typing import Any

import orjson
from aiohttp import web

import tfport
from tfport.errors import Error, MissingTensor, UnreadableFile
from tfport.frontends.model_weights import ModelWeight
from tfport.graph.difference import graph_difference, match_functions
from tfport.graph.graph import Graph
from tfport.web.graph_view.search import search
from tfport.web.graph_view.tensor_peek import asset_peek, npy_file, stored_tensor, weight_rows, weights_by_key
from tfport.web.json_answer import JSON, VERSION, bad_request, field, json_answer, read_object, unknown
from tfport.web.model_store import LoadedModel
from tfport.web.state import ServerState, state_of

LONGEST_QUERY = 1000
MOST_NAME = 100


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


async def _search(request: web.Request) -> web.Response:
    query = request.query.get("q", "")[:LONGEST_QUERY]
    document = await state_of(request).about(
        request.match_info["model"], lambda loaded: search(loaded.graphs, query)
    )
    return json_answer(document)


async def _tensor(request: web.Request) -> web.Response:
    key = request.query.get("key", "")

    def peek(loaded: LoadedModel) -> dict[str, Any]:
        try:
            return stored_tensor(loaded.model, _weights(loaded), key)
        except MissingTensor as error:
            raise unknown(str(error)) from None

    return json_answer(await state_of(request).about(request.match_info["model"], peek))


def _weights(loaded: LoadedModel) -> dict[str, ModelWeight]:
    return loaded.once("weights", lambda: weights_by_key(loaded.model))


async def _tensors(request: web.Request) -> web.Response:
    rows = await state_of(request).about(
        request.match_info["model"], lambda loaded: weight_rows(_weights(loaded))
    )
    return json_answer({"version": VERSION, "tensors": rows})


async def _npy(request: web.Request) -> web.Response:
    key = request.query.get("key", "")

    def content(loaded: LoadedModel) -> bytes:
        try:
            return npy_file(loaded.model, _weights(loaded), key)
        except MissingTensor as error:
            raise unknown(str(error)) from None

    body = await state_of(request).about(request.match_info["model"], content)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", key)[-MOST_NAME:] or "tensor"
    headers = {"Content-Disposition": f'attachment; filename="{name}.npy"'}
    return web.Response(body=body, content_type="application/octet-stream", headers=headers)


async def _asset(request: web.Request) -> web.Response:
    file = request.query.get("file", "")

    def peek(loaded: LoadedModel) -> dict[str, Any]:
        try:
            return asset_peek(loaded.model, file)
        except UnreadableFile as error:
            raise unknown(str(error)) from None

    return json_answer(await state_of(request).about(request.match_info["model"], peek))


async def _difference(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    a = await _side(state, field(body, "a", dict))
    b = await _side(state, field(body, "b", dict))
    functions = match_functions(a, b)
    return json_answer(await state.in_thread(lambda: graph_difference(a, b, functions).to_json()))


async def _compare(request: web.Request) -> web.Response:
    """Two whole models, as `tfport diff --json`."""
    state, body = state_of(request), await read_object(request)
    a, b = [await state.about(field(body, side, str), lambda loaded: loaded.model) for side in ("a", "b")]
    return json_answer(await state.in_thread(lambda: tfport.diff(a, b).to_json()))


async def _side(state: ServerState, address: dict[str, Any]) -> Graph:
    """The graph at `{"model": id, "graph": id}`."""
    id = field(address, "graph", str, "main")

    def find(loaded: LoadedModel) -> Graph:
        if id not in loaded.graphs.nodes:
            raise bad_request(f"`{id}` is not a graph of TensorFlow ops; only those can be compared")
        return loaded.graphs.nodes.graph(id)

    return await state.about(field(address, "model", str), find)


ROUTES = [
    web.get("/models/{model}/graphs", _list),
    web.get("/models/{model}/graphs/{graph}", _graph),
    web.get("/models/{model}/graphs/{graph}/node", _node),
    web.get("/models/{model}/search", _search),
    web.get("/models/{model}/tensors", _tensors),
    web.get("/models/{model}/tensor", _tensor),
    web.get("/models/{model}/tensor.npy", _npy),
    web.get("/models/{model}/asset", _asset),
    web.post("/diff", _difference),
    web.post("/compare", _compare),
]
