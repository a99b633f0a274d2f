"""Answers for one model or a thousand: here, or by a process for each processor, in the order asked."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tfport.cli.check.formats import Form
from tfport.cli.check.request import Asked, Outcome
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.check.report.report import CheckReport
    from tfport.runtime.custom.registry import Registry

FEW = 16
"""So many models are sooner answered here than processes are started."""
AT_ONCE = 4
YOUNG = 200_000
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What is said of one model."""

    outcome: Outcome
    part: Any


def report_on(asked: Asked, *, ways_out: bool) -> CheckReport:
    """The report on one model."""
    import tfport
    from tfport.check.report.report import check_model

    targets = targets_of(asked)  # first: tfport itself may know ops of one's own that models have
    registry, others = _libraries(asked.libraries)
    return check_model(
        tfport.load(asked.model, tags=asked.tags, registry=registry),
        targets,
        loader=asked.loaders,
        signatures=asked.signatures,
        soft_placement=asked.soft_placement,
        checksums=asked.checksums,
        libraries=others,
        ways_out=ways_out,
    )


def targets_of(asked: Asked) -> list[Target]:
    """The targets to hold it against; an error where one is not known."""
    return _targets(asked.on, asked.device, asked.gpu, asked.libraries)


@functools.cache  # many models are held against the same
def _targets(
    on: tuple[str, ...], device: str | None, gpu: str | None, libraries: tuple[str, ...]
) -> list[Target]:
    from tfport.atlas.target import resolve_targets
    from tfport.cli.targets.command import own

    return resolve_targets(on, device=device, gpu=gpu, own=lambda: own(_libraries(libraries)[0]))


@functools.cache
def _libraries(paths: tuple[str, ...]) -> tuple[Registry | None, list[str]]:
    """A registry that knows tfport's libraries among these, and the others."""
    if not paths:
        return None, []
    from tfport.runtime.native.load import registry_with_unloaded

    return registry_with_unloaded(paths)


def answer(asked: Asked, form: Form) -> Answer:
    """What is said of one model of several; one that cannot be read is told, and stops nothing."""
    try:
        return answered(report_on(asked, ways_out=False), form)
    except Error as error:
        return Answer(Outcome(None), form.unreadable(asked.model, str(error)))


def answered(report: CheckReport, form: Form) -> Answer:
    severities = frozenset(finding.severity for finding in report.findings)
    return Answer(Outcome(report.verdict, severities), form.part(report))


def answers(all_asked: Sequence[Asked], form: Form) -> Iterator[Answer]:
    """An answer for each model, in order."""
    for asked in all_asked:
        targets_of(asked)  # a target that nobody knows is one error, not one for each model
    processors = len(os.sched_getaffinity(0))
    if len(all_asked) < FEW or processors < 2:
        return _in_turn(all_asked, form)
    return _side_by_side(all_asked, form, processors)


def _in_turn(all_asked: Sequence[Asked], form: Form) -> Iterator[Answer]:
    for asked in all_asked:
        yield answer(asked, form)
        gc.collect()  # commands run without it, and models are large


def _side_by_side(all_asked: Sequence[Asked], form: Form, processors: int) -> Iterator[Answer]:
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    new = multiprocessing.get_context("spawn")  # a fork would share an open atlas
    pool = ProcessPoolExecutor(processors, mp_context=new, initializer=_begin)
    try:
        with _deaf_to_interruptions():
            found = pool.map(functools.partial(answer, form=form), all_asked, chunksize=AT_ONCE)
        yield from found
    except BrokenProcessPool:
        raise Error("a process that checks models was ended, as for want of memory; give fewer") from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_to_interruptions() -> Iterator[None]:
    """What is started here never hears of Ctrl-C: it ends when we do, without a word of its own."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _begin() -> None:
    """A process for many models looks for waste, but seldom."""
    gc.set_threshold(YOUNG)


def with_progress(answers: Iterable[T], total: int) -> Iterator[T]:
    """The same, while a bar on a terminal shows how far it is."""
    if not sys.stderr.isatty():
        yield from answers
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(answers, "checking", total, console=Console(stderr=True), transient=True)
