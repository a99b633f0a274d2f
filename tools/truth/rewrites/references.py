"""The cases with their models, inputs and expected outputs.

Expected outputs come from the TensorFlow of .venv-live, run on the original or on its twin; if it refuses the
model, from tfport's own runtime.
"""

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import rewrite_records as records
from cases import Case, brought, live_package
from inputs import inputs_for
from jobs import Answer, Job, output_names, way_of
from release import Installation

import tfport
from tfport.fix.certify.compare import Tolerance
from tfport.fix.certify.narrowest import narrowest_types
from tfport.graph.model import Model, Signature
from tfport.runtime.composite import flatten_inputs


@dataclass(frozen=True)
class PreparedCase:
    """A case with its model, inputs and expected outputs."""

    case: Case
    path: Path
    way: Signature
    written_by: str
    inputs: list[dict[str, np.ndarray]]
    tolerances: dict[str, Tolerance]
    """How far outputs may differ, by the narrowest type in which each is computed."""
    expected: list[dict[str, np.ndarray]]
    reference: str

    def jobs(self, path: Path, way: Signature) -> list[Job]:
        return [Job(path, inputs, way) for inputs in self.inputs]


def references(cases: list[Case]) -> list[PreparedCase]:
    """Every case with the expected outputs."""
    paths, asked, jobs = brought(cases), [], []
    for case in cases:
        model = tfport.load(str(paths[case.name]))
        way = way_of(model, case.signature, case.fetches, case.inputs)
        inputs = [inputs_for(way, case.inputs, batch) for batch in case.batches]
        allowed = tolerances(model, way)
        asked.append(PreparedCase(case, paths[case.name], way, writer(model), inputs, allowed, [], ""))
        jobs += [Job(paths[case.twin], i) if case.twin else Job(paths[case.name], i, way) for i in inputs]
    ran = Installation(live_package()).run(jobs, reference=True)
    answers = iter(ran.answers)
    return [expecting(a, [next(answers) for _ in a.inputs], ran.version) for a in asked]


def tolerances(model: Model, way: Signature) -> dict[str, Tolerance]:
    """The tolerances with which `tfport fix` judges the outputs of a signature, by their names in answers."""
    narrowest = narrowest_types(model, way)
    return {
        answer: Tolerance(narrowest=narrowest.get(name))
        for name, spec in way.outputs.items()
        for answer in output_names(name, spec)
    }


def expecting(asked: PreparedCase, answers: list[Answer], release: str) -> PreparedCase:
    """Add the outputs of TensorFlow, or tfport's own if TensorFlow refuses the original."""
    outputs = [answer for answer in answers if not isinstance(answer, str)]
    if len(outputs) == len(answers):
        twin = f", of `{asked.case.twin}` in tools/truth/rewrites/models.py" if asked.case.twin else ""
        return replace(asked, expected=outputs, reference=f"tensorflow {release}{twin}")
    why = records.cell(next(answer for answer in answers if isinstance(answer, str)))
    reference = f"tfport {version('tfport')}, as tensorflow {release} refuses it: {why}"
    try:
        return replace(asked, expected=own_answers(asked), reference=reference)
    except tfport.Error as error:
        return replace(asked, reference=f"none, as tensorflow {release} and tfport refuse it: {error}")


def own_answers(asked: PreparedCase) -> list[dict[str, np.ndarray]]:
    session = tfport.Session(str(asked.path))
    tensors = [
        pair
        for name, spec in asked.way.outputs.items()
        for pair in zip(output_names(name, spec), spec.tensors, strict=True)
    ]
    runs = [
        session.run([t for _, t in tensors], flatten_inputs(asked.way, inputs)) for inputs in asked.inputs
    ]
    return [{name: np.asarray(a) for (name, _), a in zip(tensors, run, strict=True)} for run in runs]


def writer(model: Model) -> str:
    """The release that wrote a model; for a frozen graph at most the producer is known."""
    release, producer = model.meta.meta_info_def.tensorflow_version, model.graph.rest.versions.producer
    return release or (f"producer {producer}" if producer else model.written_by or "unknown")
