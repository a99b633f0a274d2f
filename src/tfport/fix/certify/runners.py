"""A model on trials in tfport's own runtime; what a runner gets and returns.

A runner runs a model on trials, and returns for each the outputs or why it refused. `other_runner` and
`tensorflow_runner` run models in other processes; `verify` compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any

import numpy as np

from tfport.errors import CannotRun, DeadlineExceeded, Error, RunCancelled
from tfport.fix.certify.inputs.vocabulary_words import graph_words, table_words
from tfport.fix.certify.trials import UNENDED, Trial
from tfport.graph.model import Model, Signature
from tfport.graph.op_facts.kinds import ENTERS
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.composite import flatten_inputs, pack_outputs
from tfport.runtime.custom.registry import Registry
from tfport.runtime.engines.engine import Engine
from tfport.runtime.freed_memory import return_freed_memory
from tfport.runtime.program import Program
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass, field

LOOPS = ("While", "StatelessWhile", *ENTERS)
"""Only these may go on for ever."""
SECONDS, SECONDS_AGAIN = 30.0, 5.0
"""For a call of a model with loops, and for the calls after one that did not end."""

WORKER = "tfport-trial"


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The outcome of a trial: outputs by name, or why there are none."""

    outputs: dict[str, Any] | None = None
    why: str = ""
    ran: bool = True
    """Whether the trial was run at all: a process may have ended before."""


@dataclass(frozen=True, slots=True)
class ModelSide:
    """One of the two models, with the signatures to run by name."""

    model: Model
    signatures: dict[str, Signature]
    path: str | None = None
    """The path of the unchanged model; None if it must be saved for other processes."""


@dataclass(slots=True)
class RunnerResult:
    """The outcomes of one side on a runner."""

    outcomes: list[TrialOutcome] = field(default_factory=list)
    why: str = ""
    """Why there are none: the model does not load, or the runner lacks ops."""
    crashes: list[str] = field(default_factory=list)
    """How the process ended, each time that it crashed."""


class OwnSession:
    """tfport's runtime with one side loaded."""

    def __init__(
        self, side: ModelSide, registry: Registry | None, engine: str | Engine = "onnxruntime"
    ) -> None:
        self.side = side
        self.registry = registry
        self.why = ""
        self.seconds = SECONDS
        self._session: Session | None = None
        try:
            self._session = Session(side.model, registry=registry, engine=engine)
        except Error as error:
            self.why = str(error)

    def words(self) -> list[bytes]:
        """Strings that the model looks for: keys of its tables, and literals of its graph."""
        inputs = (spec for signature in self.side.signatures.values() for spec in signature.inputs.values())
        if not any(spec.dtype.base.name == "string" for spec in inputs):
            return []
        keys = table_words(self._session.state) if self._session is not None else []
        return list(dict.fromkeys([*keys, *graph_words(self.side.model)]))

    def ask(self, trial: Trial, *, keeps: bool = True) -> TrialOutcome:
        """The outcome of a trial; one that is refused, or without `keeps`, leaves the variables as they were.

        If one model refuses a trial and the other does not, or later, then random generators and other state
        would differ in all trials after it.
        """
        if self._session is None:
            return TrialOutcome(why=self.why, ran=False)
        before = [(variable, variable.value) for variable in self._session.state.variables()]
        outcome = self._asked(self._session, trial)
        if outcome.outputs is None or not keeps:
            for variable, value in before:
                if value is not None and variable.value is not value:
                    variable.assign(value)
        return outcome

    def _asked(self, session: Session, trial: Trial) -> TrialOutcome:
        signature = self.side.signatures[trial.signature]
        try:
            values = run_to_end(session, fetches(signature), fed(signature, trial), self.seconds)
        except DeadlineExceeded:
            why = f"{UNENDED} {self.seconds:.0f} seconds"
            self.seconds = min(self.seconds, SECONDS_AGAIN)
            return TrialOutcome(why=why)
        except CannotRun as error:
            return TrialOutcome(why=str(error), ran=False)
        except Error as error:
            return TrialOutcome(why=str(error))
        except MemoryError:
            return TrialOutcome(why="out of memory")
        except Exception as error:  # an error of an engine must not stop the other trials
            return TrialOutcome(why=f"{type(error).__name__}: {error}")
        return TrialOutcome(pack_outputs(signature, list(map(_copied, values))))

    def program(self, signature: str) -> Program | None:
        """What a signature computes; None where that cannot be planned."""
        if self._session is None:
            return None
        called = self.side.signatures[signature]
        feeds = [name for spec in called.inputs.values() for name in spec.tensors]
        try:
            return self._session.program(fetches(called), feeds)
        except Error:
            return None

    def release_memory(self) -> None:
        """Free the plans, each of which has its own copy of the weights; variables keep their values."""
        if self._session is not None:
            self._session.plans.clear()
            self._session.release_checkpoint()
            return_freed_memory()


def run_to_end(session: Session, tensors: list[str], feeds: Mapping[str, Any], seconds: float) -> list[Any]:
    """The values of tensors; DeadlineExceeded if a model with loops needs more seconds.

    An engine that computes cannot be interrupted, only told to stop: it runs in another thread.
    """
    graph = session.model.graph
    if not any(each.has_any(LOOPS) for each in (graph, *graph.library.functions.values())):
        values: list[Any] = session.run(tensors, feeds)
        return values
    stop, answer = StopSignal(), Future[Any]()

    def answer_in_time() -> None:
        try:
            answer.set_result(session.run(tensors, feeds, timeout=seconds, stop=stop))
        except BaseException as error:
            answer.set_exception(error)

    thread = Thread(target=answer_in_time, name=WORKER, daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.5)  # with a timeout, a signal is handled soon
    except KeyboardInterrupt:
        stop.stop(RunCancelled("interrupted"))
        raise
    return list(answer.result())


def fetches(signature: Signature) -> list[str]:
    return [name for spec in signature.outputs.values() for name in spec.tensors]


def fed(signature: Signature, trial: Trial) -> dict[str, Any]:
    """An array for each tensor; inputs that this side does not have are dropped."""
    return flatten_inputs(signature, {n: array for n, array in trial.inputs.items() if n in signature.inputs})


def _copied(value: Any) -> Any:
    """An output as an array of its own: one of an engine keeps all memory of the engine's run alive."""
    return value.copy() if isinstance(value, np.ndarray) else value
