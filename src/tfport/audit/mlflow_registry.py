"""The models of an MLflow registry: all of them, those of a name, one version, or the version of an alias.

A version is the folder that MLflow stored it in, local or remote; the model is found in it by content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.errors import Error
from tfport.extras import optional_module
from tfport.startup.dataclass import dataclass

PAGE = 1000
FILE = "file://"


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """A version of a registered model."""

    name: str
    version: str
    owner: str
    address: str
    """Where it is stored."""


def registered_versions(wanted: str, store: str) -> Iterator[RegisteredVersion]:
    """The versions that `NAME`, `NAME/VERSION`, `NAME@ALIAS` or nothing means; messages name `store`."""
    MlflowClient = optional_module("mlflow", f"{store}: an MLflow registry").MlflowClient
    from mlflow.exceptions import MlflowException

    client = MlflowClient()
    try:
        for v in _versions(client, wanted.strip("/")):
            address = client.get_model_version_download_uri(v.name, v.version).removeprefix(FILE)
            yield RegisteredVersion(v.name, str(v.version), v.user_id or "", address)
    except MlflowException as error:
        raise Error(f"{store}: {error}") from None


def _versions(client: Any, wanted: str) -> Iterator[Any]:
    name, _, version = wanted.partition("/")
    if not version and "@" in name:
        yield client.get_model_version_by_alias(*name.rsplit("@", 1))
    elif version:
        yield client.get_model_version(name, version)
    else:
        condition, token = (f"name = '{name}'" if name else None), None
        while True:
            page = client.search_model_versions(condition, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return
