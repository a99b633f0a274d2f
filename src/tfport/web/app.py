"""The application: routes below `/api/v1`, the files of the page, and the guard around them."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from aiohttp import web

from tfport.web.allowed_paths import AllowedPaths
from tfport.web.guard import Guard
from tfport.web.jobs import JobBoard
from tfport.web.json_answer import MOST_BODY
from tfport.web.model_store import ModelStore
from tfport.web.options import UiOptions
from tfport.web.recent_models import RecentModels
from tfport.web.routes import description, details, graphs, jobs, models, page, reports, uploads
from tfport.web.state import MOST_AT_ONCE, STATE, ServerState
from tfport.web.uploads import Uploads

PREFIX = "/api/v1"
MODULES = (models, graphs, details, reports, jobs, uploads, description)
API_ROUTES = [route for module in MODULES for route in module.ROUTES]


def make_app(options: UiOptions, hosts: frozenset[str] | None = None) -> web.Application:
    """The application; `hosts` are the names that a request may call it by."""
    app = web.Application(middlewares=[Guard(options.token, hosts).around], client_max_size=MOST_BODY)
    allowed = AllowedPaths([*options.allow, *options.models])
    store = ModelStore(allowed, most_open=options.most_open)
    recent = RecentModels() if options.remember else None
    for path in reversed(recent.paths() if recent is not None else []):
        if os.path.exists(path) and allowed.allows(os.path.realpath(path)):
            store.add(path)
    for path in options.models:
        store.add(path)
    folder = Path(tempfile.mkdtemp(prefix="tfport-ui-"))
    received = Uploads(folder / "uploads", options.most_upload)
    allowed.add(folder / "uploads")
    board = JobBoard(folder / "jobs", most_running=options.most_jobs)
    app[STATE] = ServerState(options, store, asyncio.Semaphore(MOST_AT_ONCE), board, received, folder, recent)

    async def clean(_: web.Application) -> None:
        await board.close()
        shutil.rmtree(folder, ignore_errors=True)

    app.on_cleanup.append(clean)
    for route in API_ROUTES:
        app.router.add_route(route.method, PREFIX + route.path, route.handler)
    app.add_routes(page.ROUTES)
    return app
