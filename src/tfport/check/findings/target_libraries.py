"""Does the target load its custom-op libraries? Their ops are registered only if it does. Findings 4xx."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check
from tfport.check.loaders import Loader


@check
def libraries_load(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    for library in target.libraries:
        usages = [usage for usage in model.usages if target.registry.provider(usage.op) is library]
        for finding in library.errors if usages else ():
            at_nodes = finding.on_target(finding.on)  # a copy, as each loader has its own stage
            at_nodes.op, at_nodes.nodes = usages[0].op, [node for usage in usages for node in usage.nodes]
            yield at_nodes
