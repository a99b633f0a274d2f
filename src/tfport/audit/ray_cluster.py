"""Examine the folders of a store on a Ray cluster: an actor for each worker, each with a process of its own.

The process bounds the time and memory of a model, as on one machine (`workers`). An actor that is lost is
started again by Ray, elsewhere if its machine is gone, and its folders are examined once more. tfport is
installed on every machine, and all of them reach the store by the same path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from tfport.audit.examine import AuditQuestions, Row
from tfport.audit.store import ModelFolder
from tfport.audit.workers import Examiners, WorkerLimits
from tfport.errors import Error
from tfport.startup.dataclass import replace

LOCAL = "local"
"""Instead of an address: a new cluster on this machine."""
AHEAD = 2
"""Chunks of folders that an actor has; it examines one while the next is on its way."""
FOLDERS = 8
"""Folders of a chunk."""
TRIES = 5
"""How often a chunk is examined again if its actor is lost."""
Examined = list[tuple[ModelFolder, list[Row]]]


def examine_on_ray(
    address: str, questions: AuditQuestions, limits: WorkerLimits, folders: Iterable[ModelFolder]
) -> Iterator[tuple[ModelFolder, list[Row]]]:
    """Each folder with the rows of its models, in the order in which they are done."""
    try:
        import ray
    except ModuleNotFoundError:
        raise Error("--ray needs Ray: pip install 'tfport[ray]'") from None
    try:
        context = ray.init(address=address, log_to_driver=False, ignore_reinit_error=True)
    except Exception as error:  # each of its layers raises its own errors
        raise Error(f"--ray {address}: {str(error).splitlines()[0]}") from None
    try:
        yield from _examined(ray, questions, limits, iter(folders))
    finally:
        if address == LOCAL:
            context.disconnect()
            ray.shutdown()


def _examined(
    ray: Any, questions: AuditQuestions, limits: WorkerLimits, folders: Iterator[ModelFolder]
) -> Iterator[tuple[ModelFolder, list[Row]]]:
    number = limits.workers or int(ray.cluster_resources().get("CPU", 1))
    remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=TRIES)(ExaminingActor)
    actors = [remote.remote(questions, replace(limits, workers=1)) for _ in range(number)]
    busy: dict[Any, Any] = {}
    for actor in [actor for _ in range(AHEAD) for actor in actors]:
        _give(busy, actor, folders)
    while busy:
        for reference in ray.wait(list(busy), num_returns=1)[0]:
            _give(busy, busy.pop(reference), folders)
            yield from ray.get(reference)


def _give(busy: dict[Any, Any], actor: Any, folders: Iterator[ModelFolder]) -> None:
    if chunk := list(islice(folders, FOLDERS)):
        busy[actor.examine.remote(chunk)] = actor


class ExaminingActor:
    """Examines folders in a process of its own, which lives as long as the actor."""

    def __init__(self, questions: AuditQuestions, limits: WorkerLimits) -> None:
        self.examiners = Examiners(questions, limits).__enter__()

    def examine(self, folders: list[ModelFolder]) -> Examined:
        return list(self.examiners.examine(folders))
