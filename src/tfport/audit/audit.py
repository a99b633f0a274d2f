"""Audit a store: list its folders, examine those that are new or changed, and note the results.

`audit_store` streams into a database, which may have results of an earlier run; `summary` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import version

from tfport.audit.database import AuditDatabase
from tfport.audit.examine import AuditQuestions
from tfport.audit.ray_cluster import examine_on_ray
from tfport.audit.store import ModelFolder, folders_of
from tfport.audit.workers import Examiners, WorkerLimits
from tfport.formats.remote import is_address
from tfport.operating_system import processors
from tfport.startup.dataclass import dataclass

REMOTE_WORKERS = 2
"""Workers for each processor if they wait for a network."""
LISTED = 1000


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """How far an audit is."""

    listed: int
    """The folders of the store that may have models, so far."""
    done: int = 0
    total: int | None = None
    """The folders to examine; None while the store is listed."""
    models: int = 0


def audit_store(
    stores: Sequence[str],
    questions: AuditQuestions,
    database: AuditDatabase,
    limits: WorkerLimits,
    progress: Callable[[AuditProgress], None] = lambda progress: None,
    ray: str = "",
) -> None:
    """Examine every model of the stores that the database does not have yet; `ray` is a cluster's address."""
    targets = [target.requirement for target in questions.targets()]  # an unknown target is one error
    database.begin(_asked(questions, targets), stores, targets)
    for listed in database.add_folders(_every_folder(stores)):
        if listed % LISTED == 0:
            progress(AuditProgress(listed))
    total, pending = database.counts
    models = 0
    with ExitStack() as stack:
        if ray:
            examined = examine_on_ray(ray, questions, limits, database.pending())
        else:
            examined = stack.enter_context(Examiners(questions, limits)).examine(database.pending())
        for done, (folder, rows) in enumerate(examined, 1):
            database.finish(folder, rows)
            models += len(rows)
            progress(AuditProgress(total, done, pending, models))
    database.set("complete", "1")


def _every_folder(stores: Sequence[str]) -> Iterator[ModelFolder]:
    for store in stores:
        yield from folders_of(store.rstrip("/") or store)


def _asked(questions: AuditQuestions, targets: Sequence[str]) -> str:
    """The questions, as a text that is equal only if the answers of another run can be kept."""
    options = (questions.device, questions.gpu, questions.scan, questions.try_fix)
    return repr((version("tfport"), sorted(targets), *options))


def usual_workers(stores: Sequence[str]) -> int:
    """The number of workers if the user names none."""
    available = processors()
    return available * REMOTE_WORKERS if any(map(is_address, stores)) else available
