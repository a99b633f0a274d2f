"""Does the target load its custom-op libraries? Their ops are registered only if it does. Findings 4xx."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check
from tfport.check.loaders import Loader


@check
def libraries_load(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if target.libraries:
        from tfport.lib.target_library import load_errors  # imported here: few targets have a library

        yield from load_errors(model, target)
