"""The models of an MLflow registry: `models:/`, `models:/NAME`, `models:/NAME/VERSION`, `models:/NAME@ALIAS`.

A version is the folder that MLflow stored it in, local or remote; the model is found in it by content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfport.audit.store import REGISTRY, ModelFolder
from tfport.errors import Error, UnreadableFile
from tfport.startup.dataclass import replace

FoldersOf = Callable[[str], Iterable[ModelFolder]]
PAGE = 1000
FILE = "file://"


def registered_folders(store: str, folders_of: FoldersOf) -> Iterator[ModelFolder]:
    """The folders of the registered models that a store names."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise UnreadableFile(f"{store}: an MLflow registry needs mlflow: pip install mlflow-skinny") from None
    client = MlflowClient()
    try:
        for version in _versions(client, store):
            address = client.get_model_version_download_uri(version.name, version.version)
            for folder in folders_of(address.removeprefix(FILE)):
                yield replace(
                    folder,
                    name=version.name,
                    version=str(version.version),
                    owner=version.user_id or folder.owner,
                )
    except MlflowException as error:
        raise Error(f"{store}: {error}") from None


def _versions(client: Any, store: str) -> Iterator[Any]:
    name, slash, version = store.removeprefix(REGISTRY).strip("/").partition("/")
    if not slash and "@" in name:
        yield client.get_model_version_by_alias(*name.rsplit("@", 1))
    elif version:
        yield client.get_model_version(name, version)
    else:
        token: str | None = None
        condition = f"name = '{name}'" if name else None
        while True:
            page = client.search_model_versions(condition, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return
