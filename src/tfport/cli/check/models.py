"""Check one model, or many; `many_models` does so in parallel processes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.cli.check.request import CheckRequest
from tfport.cli.many_models import for_each_model
from tfport.errors import Error
from tfport.reports.check.formats import ReportFormat
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.check.check_report import CheckReport
    from tfport.runtime.custom.registry import Registry


@dataclass(frozen=True)
class ModelResult:
    """The result for one model."""

    verdict: str | None
    """None if it could not be read."""
    severities: frozenset[str]
    """Of all findings."""
    part: Any
    """Its part of the report."""


def check_request(request: CheckRequest, *, ways_out: bool) -> CheckReport:
    """Check one model."""
    import tfport
    from tfport.check.check_report import check_model
    from tfport.lib.with_libraries import with_libraries

    targets = targets_of(request)  # first, as the target tfport may define custom ops of the model
    registry, tensorflow_libraries = _libraries(request.libraries)
    return check_model(
        tfport.load(request.model, tags=request.tags, registry=registry),
        with_libraries(targets, tensorflow_libraries),
        loader=request.loaders,
        signatures=request.signatures,
        fetches=request.fetches,
        feeds=request.feeds,
        soft_placement=request.soft_placement,
        checksums=request.checksums,
        custom=request.custom,
        ways_out=ways_out,
    )


def targets_of(request: CheckRequest) -> list[Target]:
    """The targets of a request; an unknown one is an error."""
    return _targets(
        request.on, request.device, request.gpu, request.delegate, request.libraries, request.ops_files
    )


@functools.cache  # many models have the same targets
def _targets(
    on: tuple[str, ...],
    device: str | None,
    gpu: str | None,
    delegate: str | None,
    libraries: tuple[str, ...],
    ops_files: tuple[str, ...],
) -> list[Target]:
    from tfport.atlas.resolve.targets import resolve_targets
    from tfport.cli.target_argument import tfport_target

    if ops_files:
        from tfport.runtime.custom.added_ops import load_ops_files  # only if needed

        load_ops_files(ops_files)
    return resolve_targets(
        on, device=device, gpu=gpu, delegate=delegate, own=lambda: tfport_target(_libraries(libraries)[0])
    )


@functools.cache
def _libraries(paths: tuple[str, ...]) -> tuple[Registry | None, list[str]]:
    """A registry with the libraries for tfport, and the paths of those for TensorFlow."""
    if not paths:
        return None, []
    from tfport.runtime.native.load import registry_with_unloaded

    return registry_with_unloaded(paths)


def model_result(report: CheckReport, report_format: ReportFormat) -> ModelResult:
    severities = frozenset(finding.severity for finding in report.findings)
    return ModelResult(report.verdict, severities, report_format.part(report))


def check_models(requests: Sequence[CheckRequest], report_format: ReportFormat) -> Iterator[ModelResult]:
    """Check each model; one that cannot be read does not stop the others."""
    for request in requests:
        targets_of(request)  # an unknown target is one error, not one for each model
    return for_each_model(functools.partial(_check_or_report, report_format=report_format), requests)


def _check_or_report(request: CheckRequest, report_format: ReportFormat) -> ModelResult:
    try:
        return model_result(check_request(request, ways_out=False), report_format)
    except Error as error:
        return ModelResult(None, frozenset(), report_format.unreadable(request.model, str(error)))
