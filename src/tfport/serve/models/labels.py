"""May these labels be given? Only to versions that answer, unless the server allows more."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.serve.model_catalog import ModelCatalog, VersionState
from tfport.serve.models.config import ModelSettings
from tfport.serve.status import StatusCode, StatusError


def check_labels(models: Iterable[ModelSettings], catalog: ModelCatalog, *, unavailable: bool) -> None:
    """Refuse labels on versions that are not available.

    With `unavailable` a label may be given before its version is there; one that is in use still only
    moves to a version that answers.
    """
    for model in models:
        current = catalog.labels(model.name)
        for label, version in sorted(model.labels.items()):
            early = unavailable and current.get(label, version) == version
            if not early and not _answers(catalog, model.name, version):
                raise StatusError(
                    StatusCode.FAILED_PRECONDITION,
                    f"Request to assign label to version {version} of model {model.name}, "
                    "which is not currently available for inference",
                )


def _answers(catalog: ModelCatalog, name: str, version: int) -> bool:
    try:
        return catalog.statuses(name, version)[0].state is VersionState.AVAILABLE
    except StatusError:
        return False
