"""Check one model, or many in parallel processes; results keep the order of the requests."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.cli.check.request import CheckRequest
from tfport.errors import Error
from tfport.reports.check.formats import ReportFormat
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.check.check_report import CheckReport
    from tfport.runtime.custom.registry import Registry

PARALLEL_FROM = 16
"""Fewer models take less time here than starting processes."""
CHUNK = 4
GC_THRESHOLD = 200_000
T = TypeVar("T")


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
        from tfport.runtime.custom.ops_file import load_ops_files  # only if needed

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
    processors = len(os.sched_getaffinity(0))
    if len(requests) < PARALLEL_FROM or processors < 2:
        return _sequentially(requests, report_format)
    return _in_parallel(requests, report_format, processors)


def _check_or_report(request: CheckRequest, report_format: ReportFormat) -> ModelResult:
    try:
        return model_result(check_request(request, ways_out=False), report_format)
    except Error as error:
        return ModelResult(None, frozenset(), report_format.unreadable(request.model, str(error)))


def _sequentially(requests: Sequence[CheckRequest], report_format: ReportFormat) -> Iterator[ModelResult]:
    for request in requests:
        yield _check_or_report(request, report_format)
        gc.collect()  # automatic collection is disabled in commands, and models are large


def _in_parallel(
    requests: Sequence[CheckRequest], report_format: ReportFormat, processors: int
) -> Iterator[ModelResult]:
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import resource_tracker

    spawn = multiprocessing.get_context("spawn")  # a fork would share the open atlas
    check = functools.partial(_check_or_report, report_format=report_format)
    resource_tracker.ensure_running()  # its start would unblock interrupts
    pool = None
    try:
        with _interrupts_blocked():  # also those of a pool half made, whose semaphores nobody would release
            pool = ProcessPoolExecutor(processors, mp_context=spawn, initializer=_configure_worker)
            models = pool.map(check, requests, chunksize=CHUNK)
        yield from models
    except BrokenProcessPool:
        raise Error(
            "a worker process was killed, possibly for lack of memory; check fewer models at a time"
        ) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: they end with this one, without messages of their own."""
    import signal  # here, as few commands start processes

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _configure_worker() -> None:
    """Collect garbage, but rarely: a worker checks many models."""
    gc.set_threshold(GC_THRESHOLD)


def with_progress(models: Iterable[T], total: int) -> Iterator[T]:
    """The same models, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from models
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(models, "checking", total, console=Console(stderr=True), transient=True)
