"""Check version labels: they may point to available versions only, unless the server allows more."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.serve.model_catalog import ModelCatalog, VersionState
from tfport.serve.models.config import ModelSettings
from tfport.serve.status import StatusCode, StatusError


def check_labels(models: Iterable[ModelSettings], catalog: ModelCatalog, *, unavailable: bool) -> None:
    """Raise if a label points to a version that is not available.

    With `unavailable`, a new label may point to a version that is not loaded yet; a label in use can
    still only move to an available version.
    """
    for model in models:
        current = catalog.labels(model.name)
        for label, version in sorted(model.labels.items()):
            early = unavailable and current.get(label, version) == version
            if not early and not _is_available(catalog, model.name, version):
                raise StatusError(
                    StatusCode.FAILED_PRECONDITION,
                    f"Request to assign label to version {version} of model {model.name}, "
                    "which is not currently available for inference",
                )


def _is_available(catalog: ModelCatalog, name: str, version: int) -> bool:
    try:
        return catalog.statuses(name, version)[0].state is VersionState.AVAILABLE
    except StatusError:
        return False
