"""Reports: where a model runs, what fails on targets, what it could do, an op, an explained message."""

from __future__ import annotations

from typing import Any

from aiohttp import web

import tfport
from tfport.atlas.atlas import atlas
from tfport.check.target_suggestions import target_suggestions
from tfport.explain.code import code_page
from tfport.explain.messages import is_code
from tfport.reports.explained import codes_json
from tfport.reports.ops import ops_json
from tfport.web.allowed_paths import checked_targets
from tfport.web.graph_view.finding_nodes import report_with_nodes, scan_with_nodes
from tfport.web.json_answer import VERSION, bad_request, field, json_answer, read_object, texts
from tfport.web.matrix_details import matrix_with_details
from tfport.web.model_store import LoadedModel
from tfport.web.state import state_of

MOST_CODES = 50


async def _matrix(request: web.Request) -> web.Response:
    return json_answer(await state_of(request).about(request.match_info["model"], _matrix_of))


def _matrix_of(loaded: LoadedModel) -> dict[str, Any]:
    return loaded.once("matrix", lambda: matrix_with_details(tfport.matrix(loaded.model)))


async def _check(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    targets = checked_targets(texts(body, "targets"), state.store.allowed)
    device, signatures = body.get("device"), texts(body, "signature") or None
    if device not in (None, "cpu", "gpu"):
        raise bad_request("`device`: expected cpu or gpu")

    def check(loaded: LoadedModel) -> dict[str, Any]:
        report = tfport.check(loaded.model, targets, device=device, signatures=signatures)
        return report_with_nodes(report, loaded.graphs)

    return json_answer(await state.about(request.match_info["model"], check))


async def _scan(request: web.Request) -> web.Response:
    return json_answer(await state_of(request).about(request.match_info["model"], _scan_of))


def _scan_of(loaded: LoadedModel) -> dict[str, Any]:
    return loaded.once("scan", lambda: scan_with_nodes(tfport.scan(loaded.path), loaded.graphs))


async def _targets(request: web.Request) -> web.Response:
    state, prefix = state_of(request), request.query.get("prefix", "")
    model = request.query.get("model")
    format_key = state.store.find(model).kind if model else ""
    suggestions = await state.in_thread(lambda: target_suggestions(prefix, format_key or None))
    return json_answer({"version": VERSION, "targets": [s.to_json() for s in suggestions]})


async def _op(request: web.Request) -> web.Response:
    name = request.match_info["op"]
    return json_answer(await state_of(request).in_thread(lambda: ops_json(atlas(), [name])))


async def _explain(request: web.Request) -> web.Response:
    body = await read_object(request)
    text = field(body, "text", str)

    def explain() -> dict[str, Any]:
        words = text.split()
        if words and len(words) <= MOST_CODES and all(map(is_code, words)):
            return codes_json([code_page(word) for word in words])
        return tfport.explain(text).to_json()

    return json_answer(await state_of(request).in_thread(explain))


ROUTES = [
    web.get("/models/{model}/matrix", _matrix),
    web.post("/models/{model}/check", _check),
    web.get("/models/{model}/scan", _scan),
    web.get("/targets", _targets),
    web.get("/ops/{op}", _op),
    web.post("/explain", _explain),
]
