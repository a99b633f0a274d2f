"""Models: open, list, forget, upload, complete a path; what is in one."""

from __future__ import annotations

import os
from typing import Any

from aiohttp import web

import tfport
from tfport.errors import Error
from tfport.formats.files import Folder
from tfport.formats.recognize import models_in
from tfport.web.example_models import write_examples
from tfport.web.json_answer import VERSION, bad_request, field, json_answer, read_object
from tfport.web.model_store import LoadedModel
from tfport.web.state import ServerState, state_of

CHUNK = 1 << 20


async def _list(request: web.Request) -> web.Response:
    state = state_of(request)
    entries = await state.in_thread(lambda: [state.store.entry(known) for known in state.store.all()])
    return json_answer({"version": VERSION, "models": [entry for entry in entries if not entry["example"]]})


async def _examples(request: web.Request) -> web.Response:
    state = state_of(request)

    def entries() -> list[dict[str, Any]]:
        state.store.allowed.add(state.folder / "examples")
        paths = write_examples(state.folder / "examples")
        return [state.store.entry(state.store.add(str(path), example=True)) for path in paths]

    return json_answer({"version": VERSION, "models": await state.in_thread(entries)})


async def _open(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    if "model" in body:
        path = state.store.find(field(body, "model", str)).path
    elif "upload" in body:
        path = state.uploads.model_path(field(body, "upload", str))
    elif "path" in body:
        path = field(body, "path", str)
    else:
        raise bad_request("expected `path`, `upload` or `model`")
    return json_answer(await open_path(state, path))


async def open_path(state: ServerState, path: str) -> dict[str, Any]:
    """Read a model and answer its entry; a model that cannot be read is forgotten again."""
    known = await state.in_thread(lambda: state.store.add(path))
    try:
        await state.in_thread(lambda: state.store.load(known.id))
    except Error:
        state.store.forget(known.id)
        raise
    if state.recent is not None and not os.path.realpath(known.path).startswith(str(state.folder)):
        await state.in_thread(lambda: state.recent.add(known.path) if state.recent is not None else None)
    return await state.in_thread(lambda: state.store.entry(known))


async def _forget(request: web.Request) -> web.Response:
    state_of(request).store.forget(request.match_info["model"])
    return json_answer({"version": VERSION})


async def _paths(request: web.Request) -> web.Response:
    state, prefix = state_of(request), request.query.get("prefix", "")

    def suggestions() -> list[dict[str, Any]]:
        return [
            {"path": path, "folder": is_folder, "model": _format_of(path) if is_folder else None}
            for path, is_folder in state.store.allowed.suggestions(prefix)
        ]

    return json_answer({"version": VERSION, "paths": await state.in_thread(suggestions)})


def _format_of(path: str) -> str | None:
    """The name of the format if a folder is one model."""
    try:
        models = models_in(Folder(os.path.expanduser(path)))
    except Error:
        return None
    return models[0].format.name if len(models) == 1 else None


async def _inspect(request: web.Request) -> web.Response:
    document = await state_of(request).about(request.match_info["model"], inspection)
    return json_answer(document)


def inspection(loaded: LoadedModel) -> dict[str, Any]:
    """`tfport inspect --json`."""
    return loaded.once("inspect", lambda: tfport.inspect(loaded.model).to_json())


async def _begin_upload(request: web.Request) -> web.Response:
    return json_answer({"version": VERSION, "upload": state_of(request).uploads.new()}, 201)


async def _upload_file(request: web.Request) -> web.Response:
    upload, path = request.match_info["upload"], request.match_info["path"]
    await state_of(request).uploads.add(upload, path, request.content.iter_chunked(CHUNK))
    return json_answer({"version": VERSION}, 201)


ROUTES = [
    web.get("/models", _list),
    web.post("/models", _open),
    web.delete("/models/{model}", _forget),
    web.get("/examples", _examples),
    web.get("/paths", _paths),
    web.get("/models/{model}/inspect", _inspect),
    web.post("/uploads", _begin_upload),
    web.put("/uploads/{upload}/{path:.+}", _upload_file),
]
