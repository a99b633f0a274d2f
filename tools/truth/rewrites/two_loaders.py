"""Run a rewritten model in a real release by two loaders: the C API, and TensorFlow's own Python.

`Release` is an environment with the release. The C API loads a SavedModel or a GraphDef and runs a session,
in a new process each time; Python loads a SavedModel with `tf.saved_model.load` from 2.0 on, and anything
else in a session.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jobs import Answer, Crash, Job, output_names
from judge import CANNOT, SAME, Outcome, judged
from references import tolerances
from release import Installation
from rewrite import rewrite

import tfport
from tfport.errors import Error
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.trial_plan import FittingSizes
from tfport.fix.certify.trials import GIVEN, Trial, TrialBuilder
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model, Signature
from tfport.startup.dataclass import replace

C_API, PYTHON = "C API", "Python"
CALLS = 10
RUNS = 3
"""Processes in which the C API repeats all calls."""
Call = tuple[str, dict[str, Any]]
"""The name of a signature and its inputs."""


class ObjectLoader(TensorFlow):
    """`tf.saved_model.load`, as users of TensorFlow 2 call it."""

    worker = Path(__file__).with_name("object_worker.py")

    def job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        job = super().job(folder, side, trials)
        asked = [(trial, side.signatures[trial.signature]) for trial in trials]
        job["trials"] = [
            {
                "signature": trial.signature,
                "feeds": {t: name for name, spec in way.inputs.items() for t in spec.tensors},
                "fetches": {spec.tensors[0]: name for name, spec in way.outputs.items()},
            }
            for trial, way in asked
        ]
        return job


@dataclass(frozen=True)
class Release:
    """A release of TensorFlow in an environment."""

    version: str
    python: Path

    @property
    def binary(self) -> Installation:
        library = self.python.parents[1] / "lib"
        for name in ("tensorflow", "tensorflow_core"):
            for folder in library.glob(f"python*/site-packages/{name}"):
                if list(folder.glob("libtensorflow_framework*")) or list(folder.rglob("_pywrap_tensorflow*")):
                    return Installation(folder)
        raise LookupError(f"{self.python}: no TensorFlow")

    def loader(self, model: Model) -> TensorFlow:
        is_object = model.format is SAVED_MODEL and int(self.version.partition(".")[0]) >= 2
        return (ObjectLoader if is_object else TensorFlow)(str(self.python))


def generated_calls(model: Model) -> list[Call]:
    """Each signature in turn, ten times with other values, of sizes that the original accepts."""
    ways = {name: way for name, way in model.signatures.items() if way.outputs}
    own = OwnSession(ModelSide(model, ways), None)
    words = own.words()
    rounds: list[list[Call]] = [[] for _ in range(CALLS)]
    for name, way in ways.items():
        builder = TrialBuilder(model, way, words)
        sizes = FittingSizes(builder)
        for sizing in [*sizes.usual[1:], *sizes.usual[:1], *sizes.unusual]:
            if (
                sizes.fit(sizing)
                and own.ask(builder.trial(sizing, ORDINARY), keeps=False).outputs is not None
            ):
                break
        for number, calls in enumerate(rounds):
            chosen = replace(sizing, rows=1 + number) if sizing.rows < CALLS else sizing
            trial = builder.trial(chosen, ORDINARY)
            calls.append((name, trial.inputs))
    return [call for calls in rounds for call in calls]


def expected_answers(path: Path, model: Model, calls: Sequence[Call], today: Release) -> list[Answer]:
    """What today's TensorFlow answers to the calls of the original.

    Python is asked if the C API refuses: it sets variables that no restore op of the file names.
    """
    jobs = [Job(path, inputs, model.signatures[name]) for name, inputs in calls]
    answers = today.binary.run(jobs, reference=True).answers
    if not any(isinstance(answer, str) for answer in answers):
        return answers
    by_python = in_python(today, model, model.signatures, path, calls)
    return answers if all(isinstance(answer, str) for answer in by_python) else by_python


def outcomes(
    path: Path,
    model: Model,
    calls: Sequence[Call],
    expected: Sequence[Answer],
    release: Release,
    out: Path,
) -> dict[str, Outcome]:
    """The outcome of each loader; a model that `fix` refuses has the same in both."""
    specs = [spec for way in model.signatures.values() for spec in way.outputs.values()]
    fetches = tuple(tensor for spec in specs for tensor in spec.tensors)
    is_graph = tfport.load(str(path)).format is not SAVED_MODEL
    try:
        new = rewrite(path, f"tensorflow=={release.version}", fetches if is_graph else (), out, ()).path
    except Error as error:
        return dict.fromkeys((C_API, PYTHON), Outcome(CANNOT, str(error)))
    written = tfport.load(str(new))
    ways = model.signatures if is_graph else written.signatures
    by_python = [in_python(release, written, ways, new, calls)]
    return {
        C_API: by_c_api(model, new, calls, expected, release.binary, ways),
        PYTHON: worst(model, calls, expected, by_python),
    }


def by_c_api(
    model: Model,
    new: Path,
    calls: Sequence[Call],
    expected: Sequence[Answer],
    binary: Installation,
    ways: Mapping[str, Signature] | None = None,
) -> Outcome:
    """The outcome of a rewritten model through the C API; `ways` are its signatures, if the file has none."""
    ways = tfport.load(str(new)).signatures if ways is None else ways
    jobs = [Job(new, inputs, ways[name]) for name, inputs in calls]
    return worst(model, calls, expected, binary.run(jobs, times=RUNS).repeated)


def in_python(
    release: Release, written: Model, ways: dict[str, Signature], path: Path, calls: Sequence[Call]
) -> list[Answer]:
    side = ModelSide(written, ways, str(path))
    trials = [Trial(name, f"call {i}", GIVEN, inputs) for i, (name, inputs) in enumerate(calls)]
    (result,) = release.loader(written).ask([side], trials)
    if result.why:
        return [Crash(result.why) if result.crashes else result.why] * len(calls)
    return [
        named(ways[trial.signature], outcome.outputs) if outcome.outputs is not None else outcome.why
        for trial, outcome in zip(trials, result.outcomes, strict=True)
    ]


def named(way: Signature, outputs: dict[str, Any]) -> dict[str, np.ndarray]:
    """The parts of sparse and ragged outputs by the names that the C API's answers have."""
    return {
        answer: np.asarray(part)
        for name, spec in way.outputs.items()
        for answer, part in zip(
            output_names(name, spec),
            outputs[name] if isinstance(outputs[name], tuple) else (outputs[name],),
            strict=True,
        )
    }


def worst(
    model: Model, calls: Sequence[Call], expected: Sequence[Answer], runs: Sequence[Sequence[Answer]]
) -> Outcome:
    """The first call whose answer is wrong; where today's TensorFlow refuses a call, the release must too."""
    allowed = {name: tolerances(model, way) for name, way in model.signatures.items()}
    for index, ((name, _), wanted) in enumerate(zip(calls, expected, strict=True)):
        answers = [run[index] for run in runs]
        if isinstance(wanted, str):
            if all(isinstance(a, str) and not isinstance(a, Crash) for a in answers):
                continue
            return Outcome("differs", f"call {index}, {name}: answers what TensorFlow refuses: {wanted}")
        outcome = judged([[answer] for answer in answers], [wanted], allowed[name])
        if outcome.outcome != SAME:
            return Outcome(outcome.outcome, f"call {index}, {name}: {outcome.says}")
    return Outcome(SAME)
