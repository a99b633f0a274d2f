"""One loaded version of one model.

    servable = Servable("half_plus_two", 123, session, runner)
    await servable.predict("serving_default", {"x": array})        {"y": array}

Missing or unknown inputs and outputs are rejected with TensorFlow Serving's messages before anything
runs. The runner decides how a call runs: alone in a thread, or in a batch with others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import CannotRun, DeadlineExceeded, Error, InternalError, ResourceExhausted, RunCancelled
from tfport.graph.model import Model, Signature
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.composite import flatten_inputs, pack_outputs
from tfport.runtime.engines.engine import NumbersRefused
from tfport.runtime.session import Session
from tfport.serve.interface import ServableInterface
from tfport.serve.request_checks import inputs_are_known, outputs_are_known
from tfport.serve.status import StatusCode, StatusError, invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUN_CODES: dict[type[Error], StatusCode] = {
    CannotRun: StatusCode.UNIMPLEMENTED,
    DeadlineExceeded: StatusCode.DEADLINE_EXCEEDED,
    RunCancelled: StatusCode.CANCELLED,
    ResourceExhausted: StatusCode.RESOURCE_EXHAUSTED,
}
"""Codes of errors of a run that are not the fault of its inputs."""
NOBODY_WAITS = "the run was stopped: the client is gone, or its deadline has passed"
Arrays = dict[str, "NDArray[Any]"]
"""Inputs or outputs of a signature by name; strings are `bytes` in object arrays."""


def size_of(answers: Arrays) -> int:
    """Return the approximate number of bytes to write; strings count as pointers."""
    return sum(getattr(array, "nbytes", 0) for array in answers.values())


class Runner(Protocol):
    """Runs calls of one servable."""

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        """Return the named outputs."""
        ...


class ThreadRunner:
    """Runs each call alone, in a thread of a pool."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        return await in_thread(
            self.pool, lambda stop: run_signature(session, signature, inputs, outputs, stop)
        )


async def in_thread(pool: Executor, run: Callable[[StopSignal], Arrays]) -> Arrays:
    """Run in a thread; the run is stopped if the caller is cancelled: its client is gone or out of time."""
    stop = StopSignal()
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, run, stop)
    except asyncio.CancelledError:
        stop.stop(RunCancelled(NOBODY_WAITS))
        raise


def run_signature(
    session: Session,
    signature: Signature,
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    stop: StopSignal | None = None,
    *,
    on_device: bool = False,
    repeats: bool = True,
) -> Arrays:
    """Compute outputs of a signature in this thread; runtime errors become status errors.

    With `on_device`, outputs that are in the memory of a GPU stay there. Without `repeats`, NumbersRefused is
    raised where the host would compute the answer because of numbers that the engine refuses.
    """
    called = _with_outputs(signature, outputs)
    fetches = [tensor for spec in called.outputs.values() for tensor in spec.tensors]
    try:
        # as in TensorFlow Serving, the ops decide whether a shape is right
        feeds = flatten_inputs(called, inputs)
        arrays = session.run(fetches, feeds, any_shape=True, on_device=on_device, stop=stop, repeats=repeats)
        return pack_outputs(called, arrays)
    except NumbersRefused as error:
        if not repeats:
            raise
        raise invalid_argument(str(error)) from None
    except InternalError as error:
        raise StatusError(StatusCode.INTERNAL, str(error)) from error
    except tuple(RUN_CODES) as error:
        code = next(code for kind, code in RUN_CODES.items() if isinstance(error, kind))
        raise StatusError(code, str(error)) from None
    except Error as error:
        raise invalid_argument(str(error)) from None
    except MemoryError:
        raise StatusError(StatusCode.RESOURCE_EXHAUSTED, "OOM: not enough memory for this request") from None


def _with_outputs(signature: Signature, outputs: Sequence[str]) -> Signature:
    """The signature with some of its outputs."""
    if list(signature.outputs) == outputs:
        return signature
    wanted = {name: signature.outputs[name] for name in outputs}
    return Signature(signature.name, signature.method, signature.inputs, wanted, signature.defaults)


class Servable:
    """A session with its signatures, under the model name and version that clients use."""

    def __init__(self, name: str, version: int, session: Session, runner: Runner) -> None:
        self.name, self.version, self.session, self.runner = name, version, session, runner
        self.interface = ServableInterface(name, session.model.signatures)
        self.running = 0
        """Calls in progress: unloading waits for them."""

    @property
    def model(self) -> Model:
        return self.session.model

    @property
    def signatures(self) -> dict[str, Signature]:
        return self.model.signatures

    def signature(self, name: str = "") -> Signature:
        """Return the signature of this name; the default one if the name is empty."""
        return self.interface.signature(name)

    def joins(self, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]) -> bool:
        """Whether the rows of several requests may run together."""
        may_join = getattr(self.runner, "may_join", None)
        return may_join is not None and may_join(self.session, signature, inputs, outputs)

    @property
    def has_light_calls(self) -> bool:
        """Whether some calls are so short that they can be answered at once."""
        light = getattr(self.runner, "light", None)
        return light is not None and light.any

    def predict_at_once(self, signature: Signature, inputs: Mapping[str, Any]) -> Arrays | None:
        """Answer a call here, without waiting; None if it may take long."""
        inputs_are_known(signature, inputs)
        run_at_once = getattr(self.runner, "at_once", None)
        return run_at_once and run_at_once(self.session, signature, inputs)

    async def predict(self, signature: str, inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> Arrays:
        """Answer a call; `outputs` are the ones to return (default: all)."""
        chosen = self.signature(signature)
        inputs_are_known(chosen, inputs)
        outputs_are_known(chosen, outputs)
        self.running += 1
        try:
            return await self.runner(self.session, chosen, inputs, outputs or list(chosen.outputs))
        finally:
            self.running -= 1
