"""Which paths a client may name in a configuration that it sends.

    roots = ReloadRoots(["/models", "s3://bucket/models"])
    roots.check(config, in_use)              raises PERMISSION_DENIED

Whoever can call HandleReloadConfigRequest would otherwise make the server read any file or URL, also those
that only the server can reach, and write request logs anywhere. The configuration file is the operator's and
may name any path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.serve.models.store import LOCAL
from tfport.serve.status import StatusCode, StatusError

FLAG = "--model_config_reload_roots"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


class ReloadRoots:
    """Folders, local or in object stores, from which clients may choose."""

    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(roots)
        self._parts = [parts for root in self.roots if (parts := _parts(root)) is not None]

    def check(self, config: pb.ModelServerConfig, in_use: pb.ModelServerConfig) -> None:
        """Raise if a configuration names a path that is below no root and not in use."""
        known = {path for _, _, path in _paths(in_use)}
        for model, field, path in _paths(config):
            if path not in known and not self._has(path):
                listed = ", ".join(self.roots) or "none"
                raise StatusError(
                    StatusCode.PERMISSION_DENIED,
                    f"model {model}: {field} `{path}` is outside the roots of {FLAG}: {listed}",
                )

    def _has(self, path: str) -> bool:
        parts = _parts(path)
        return parts is not None and any(parts[: len(root)] == root for root in self._parts)


def default_roots(config: pb.ModelServerConfig) -> list[str]:
    """Return the folders that contain the base paths of a configuration."""
    return sorted({_folder(model.base_path) for model in config.model_config_list.config})


def _folder(path: str) -> str:
    url = _URL.fullmatch(path)
    if url is None or path.startswith(LOCAL):
        local = os.path.normpath(path.removeprefix(LOCAL))
        return local if os.path.dirname(local) == os.sep else os.path.dirname(local)
    folder = url[2].rstrip("/").rpartition("/")[0]
    return f"{url[1]}://{folder}" if folder else path


def _paths(config: pb.ModelServerConfig) -> Iterator[tuple[str, str, str]]:
    """Yield the paths of a configuration: the model, the field and the path."""
    for model in config.model_config_list.config:
        yield model.name, "base_path", model.base_path
        if prefix := model.logging_config.log_collector_config.filename_prefix:
            yield model.name, "filename_prefix", prefix


def _parts(path: str) -> list[str] | None:
    """Return the parts of a path, the first one for where it is; None if it could lead elsewhere."""
    url = _URL.fullmatch(path)
    if url is None or path.startswith(LOCAL):
        local = os.path.normpath(path.removeprefix(LOCAL))
        return ["file", *filter(None, local.split(os.sep))] if os.path.isabs(local) else None
    parts = [part for part in url[2].split("/") if part]
    # `::` chains file systems of fsspec, and servers may decode what is escaped
    if "::" in path or any(unquote(part) in (".", "..") or "\\" in part for part in parts):
        return None
    return [url[1].lower(), *parts]
