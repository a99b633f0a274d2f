"""The report of `tfport check`: a result for each target and loader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfport.atlas.target import CONVERTER_KIND, OURS, Target
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result, Verdict, check_on, loaders_of
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import ERROR, LOAD, Finding
from tfport.check.other_format import OtherFormat
from tfport.graph.graph_outputs import GraphOutputs
from tfport.graph.model import Model
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from tfport.atlas.keras_releases import KerasObject

EXIT = {RUNS: 0, FAILS: 1, UNKNOWN: 2}


@dataclass(repr=False)
class CheckReport(RenderedResult):
    """A model and the results of all targets."""

    model: str
    tensorflow: str
    graph_def: int
    min_consumer: int
    signatures: list[str]
    """The requested signatures."""
    results: list[Result] = field(default_factory=list)
    outputs: GraphOutputs | None = None
    """The outputs that were checked instead of signatures."""
    keras: str = ""
    """The version of Keras that saved a Keras file; empty if unknown, and for other models."""
    lite: str = ""
    """What wrote a TensorFlow Lite file; empty for other models."""
    subject: Model | None = field(default=None, repr=False, compare=False)
    """The model itself."""

    def __bool__(self) -> bool:
        """Whether no target refuses the model: false if any verdict is `fails`."""
        return self.verdict != FAILS

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all targets."""
        verdicts = {result.verdict for result in self.results}
        return next((v for v in (FAILS, UNKNOWN) if v in verdicts), RUNS)

    @property
    def findings(self) -> list[Finding]:
        """The findings on all targets."""
        return [finding for result in self.results for finding in result.findings]

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]


def check_model(
    model: Model,
    targets: Sequence[Target],
    *,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    soft_placement: bool | None = None,
    checksums: bool = False,
    custom: Sequence[str] = (),
    ways_out: bool = True,
    refuses_format: bool = True,
) -> CheckReport:
    """Check a model on targets; `ways_out` also searches the nearest releases that run it.

    A model whose format none of the targets reads is an error if `refuses_format`, otherwise a finding.
    `custom` are classes and functions that the program registers with Keras: `NAME` or `NAME=FILE.py`.
    """
    subject = CheckedModel(
        model,
        signatures,
        fetches=fetches,
        feeds=feeds,
        checksums=checksums,
        custom=_custom_objects(custom),
    )
    loaders = loaders_of(loader)
    results: list[Result] = []
    refused: list[OtherFormat] = []
    for target in targets:
        try:
            results += check_on(subject, target, loaders, soft_placement=soft_placement)
        except OtherFormat as error:
            refused.append(error)
            results.append(_other_format(subject, target, error))
    if refuses_format and refused and len(refused) == len(results):
        raise refused[0]
    if ways_out:
        _add_ways_out(subject, results, soft_placement)
    return CheckReport(
        model=model.where,
        tensorflow=model.meta.meta_info_def.tensorflow_version,
        graph_def=subject.producer,
        min_consumer=model.graph.rest.versions.min_consumer,
        signatures=sorted(subject.signatures),
        outputs=subject.outputs,
        results=results,
        keras=model.keras.keras_version if model.keras is not None else "",
        lite=model.lite.origin if model.lite is not None else "",
        subject=model,
    )


def _custom_objects(declared: Sequence[str]) -> Mapping[str, KerasObject]:
    if not declared:
        return {}
    from tfport.check.keras.custom import custom_objects  # imported here: few need it

    return custom_objects(declared)


def _other_format(subject: CheckedModel, target: Target, error: OtherFormat) -> Result:
    """The result of a target that does not read the format of the model."""
    from tfport.check.findings.model_format import OtherModelFormat  # imported here: few need it

    signatures = sorted(subject.signatures)
    finding = OtherModelFormat(on=target, what=error.what, advice=error.advice, signatures=signatures)
    return Result(target, (error.loader,), FAILS, LOAD, [finding])


def _add_ways_out(subject: CheckedModel, results: list[Result], soft_placement: bool | None) -> None:
    """Add the nearest releases that run the model to the first error of each target."""
    done: set[str] = set()
    for result in results:
        stopping = [f for f in result.findings if f.stage and f.severity == ERROR and by_release(f)]
        if result.verdict == FAILS and stopping and result.target.requirement not in done:
            from tfport.check.nearest import nearest_releases  # imported here: models that run do not need it

            done.add(result.target.requirement)
            loaders = [
                loader
                for other in results
                if other.target.requirement == result.target.requirement
                for loader in other.loaders
            ]
            nearest = nearest_releases(subject, result.target, loaders, soft_placement=soft_placement)
            rewrite = _rewrite_advice(subject.model, result.target) if not stopping[0].ways_out else []
            stopping[0].ways_out = [*stopping[0].ways_out, *nearest.ways_out, *rewrite]


def _rewrite_advice(model: Model, target: Target) -> list[str]:
    """The advice to rewrite the model, if `tfport fix` supports the target and can read the model."""
    if target.kind in (CONVERTER_KIND, OURS):
        return []
    if model.keras is not None and model.keras.layout == "weights":
        command = f"tfport fix ARCHITECTURE --weights {model.where} --for {target.requirement} -o OUT"
        return [f"`{command}` adds these weights to the model's architecture, such as the JSON of `to_json`"]
    if model.no_graph:
        return []
    return [f"`tfport fix MODEL --for {target.requirement} -o OUT` tries to rewrite it"]


def by_release(finding: Finding) -> bool:
    """Whether another release may help: not if files are missing or the graph is invalid."""
    return not finding.code.startswith(("TFP004", "TFP01", "TFP02", "TFP03", "TFP06"))
