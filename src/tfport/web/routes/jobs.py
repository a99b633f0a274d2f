"""Jobs: run a signature, rewrite for a target, profile; their state, cancel, download."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from aiohttp import web

from tfport.graph.model import Signature
from tfport.runtime.select_signature import select_signature
from tfport.web.allowed_paths import checked_targets
from tfport.web.jobs import DONE, Finish, Job
from tfport.web.json_answer import RefusedRequest, bad_request, field, json_answer, read_object
from tfport.web.model_store import LoadedModel
from tfport.web.run_inputs import input_options
from tfport.web.state import ServerState, state_of

MOST_REPEATS, MOST_BATCH = 50, 4096
PROFILE_SECONDS = "1"
NOT_READY = 409
SUFFIXES = {".pb", ".pbtxt", ".h5", ".hdf5", ".keras", ".tflite", ".meta", ".json"}
DOWNLOAD = "rewritten.zip"


async def _run(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    id, inputs = request.match_info["model"], field(body, "inputs", dict, {})
    name, repeat = field(body, "signature", str, ""), field(body, "repeat", int, 1)
    if not 1 <= repeat <= MOST_REPEATS:
        raise bad_request(f"`repeat`: expected 1 to {MOST_REPEATS}")
    signature, path = await state.about(id, lambda loaded: (_signature(loaded, name), loaded.path))
    folder = state.jobs.new_folder()
    options = await state.in_thread(lambda: list(input_options(signature, inputs, folder)))
    chosen = [f"--signature={name}"] if name else []
    arguments = ["run", path, "--json", f"--repeat={repeat}", *chosen, *options]
    return _started(state, "run", id, folder, arguments, _as_printed, "loading the model")


def _signature(loaded: LoadedModel, name: str) -> Signature:
    return select_signature(loaded.model, name or None)


async def _as_printed(printed: dict[str, Any], _: Path) -> dict[str, Any]:
    return printed


async def _fix(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    id = request.match_info["model"]
    (target,) = checked_targets([field(body, "target", str)], state.store.allowed)
    known = state.store.find(id)
    folder = state.jobs.new_folder()
    output = folder / _output_name(known.path, target)
    flags = {"allow_lossy": "--allow-lossy", "prove": "--prove"}
    options = [flag for name, flag in flags.items() if field(body, name, bool, False)]
    arguments = ["fix", known.path, f"--for={target}", "-o", str(output), "--json", *options]

    async def finish(printed: dict[str, Any], _: Path) -> dict[str, Any]:
        return await _fixed(state, id, printed, output)

    return _started(state, "fix", id, folder, arguments, finish, "reading the model")


def _output_name(path: str, target: str) -> str:
    """The name of a rewritten model: that of the original, with the target."""
    source = Path(path)
    suffix = source.suffix if source.suffix in SUFFIXES and source.is_file() else ""
    words = re.sub(r"[^\w.]+", "-", target).strip("-.")[:60]
    stem = re.sub(r"[^\w.-]+", "-", source.name.removesuffix(suffix)) or "model"
    separator = "-for-" if suffix else "_for_"
    name = f"{stem}{separator}{words}"
    return f"{name}{suffix}" if suffix else name.replace(".", "_")


async def _fixed(state: ServerState, id: str, printed: dict[str, Any], output: Path) -> dict[str, Any]:
    certificate = printed.get("certificate")
    rewritten = None
    if printed.get("output") and output.exists():
        state.store.allowed.add(output)
        known = await state.in_thread(lambda: state.store.add(str(output)))
        rewritten = await state.in_thread(lambda: state.store.entry(known))
    changes = (certificate or {}).get("changes", [])
    return {
        "result": printed,
        "certificate": certificate,
        "rewritten": rewritten,
        "changes": await state.about(id, lambda loaded: [_change(loaded, change) for change in changes]),
    }


def _change(loaded: LoadedModel, change: dict[str, Any]) -> dict[str, Any]:
    """A changed node with the id of its graph."""
    graph = loaded.graphs.nodes.id_of(change.get("function") or None)
    return {
        "graph": graph or "main",
        "node": change["node"],
        "op": change["op"],
        "rules": change["rules"],
        "after": change.get("after"),
    }


async def _profile(request: web.Request) -> web.Response:
    state, body = state_of(request), await read_object(request)
    id, name = request.match_info["model"], field(body, "signature", str, "")
    batch = field(body, "batch", int, 1)
    if not 1 <= batch <= MOST_BATCH:
        raise bad_request(f"`batch`: expected 1 to {MOST_BATCH}")
    path = await state.about(id, lambda loaded: (_signature(loaded, name), loaded.path)[1])
    chosen = [f"--signature={name}"] if name else []
    arguments = ["bench", path, "--profile", "--engine-ops", "--nodes", "--json", f"--batch={batch}"]
    arguments += [f"--seconds={PROFILE_SECONDS}", *chosen]

    async def finish(printed: dict[str, Any], _: Path) -> dict[str, Any]:
        (profile,) = printed.pop("profiles")
        profile["nodes"] = await state.about(id, lambda loaded: _profiled(loaded, profile.get("nodes", [])))
        return {**printed, **profile}

    return _started(state, "profile", id, state.jobs.new_folder(), arguments, finish, "measuring")


def _profiled(loaded: LoadedModel, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    graphs = loaded.graphs.nodes
    return [{"graph": graphs.id_of(node.pop("function")) or "main", **node} for node in nodes]


def _started(
    state: ServerState, kind: str, model: str, folder: Path, arguments: list[str], finish: Finish, stage: str
) -> web.Response:
    return json_answer(state.jobs.start(kind, model, folder, arguments, finish, stage).to_json(), 202)


async def _state(request: web.Request) -> web.Response:
    return json_answer(_job(request).to_json())


async def _cancel(request: web.Request) -> web.Response:
    return json_answer(state_of(request).jobs.cancel(request.match_info["job"]).to_json())


async def _download(request: web.Request) -> web.StreamResponse:
    job = _job(request)
    rewritten = (job.result or {}).get("rewritten") if job.state == DONE else None
    if rewritten is None:
        raise RefusedRequest(NOT_READY, "this job has written no model")
    archive = job.folder / DOWNLOAD
    if not archive.exists():
        await state_of(request).in_thread(lambda: _pack(Path(rewritten["path"]), archive))
    headers = {"Content-Disposition": f'attachment; filename="{DOWNLOAD}"', "Content-Type": "application/zip"}
    return web.FileResponse(archive, headers=headers)


def _pack(model: Path, archive: Path) -> None:
    """The model and its certificates as one archive."""
    temporary = archive.with_suffix(".part")
    beside = [
        path for path in model.parent.iterdir() if path.name.startswith(model.name.removesuffix(".meta"))
    ]
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
        for root in sorted(beside):
            for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
                if path.is_file():
                    file.write(path, path.relative_to(model.parent))
    temporary.rename(archive)


def _job(request: web.Request) -> Job:
    return state_of(request).jobs.find(request.match_info["job"])


ROUTES = [
    web.post("/models/{model}/run", _run),
    web.post("/models/{model}/fix", _fix),
    web.post("/models/{model}/profile", _profile),
    web.get("/jobs/{job}", _state),
    web.delete("/jobs/{job}", _cancel),
    web.get("/jobs/{job}/download", _download),
]
