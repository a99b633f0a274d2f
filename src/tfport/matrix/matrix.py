"""Check a model on every release: where it runs, and what breaks elsewhere.

A `Strip` is one loader on one device over the final releases of TensorFlow, for signatures
with equal results. Each `MatrixCell` is the result of `check_on` on one release.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tfport.atlas.resolve.releases import keras_series, lite_series, release_of, releases
from tfport.atlas.target import DEVICES, Target
from tfport.atlas.versions import version_key
from tfport.check.check import Result, check_on, loaders_of
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import ERROR, Finding, name_of
from tfport.check.loaders import KERAS, LITE, default_loaders
from tfport.graph.graph_outputs import GraphOutputs
from tfport.graph.model import Model
from tfport.lib.with_libraries import with_libraries
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass


class FindingKey(NamedTuple):
    """Identifies a finding, independent of the release."""

    code: str
    op: str | None
    attr: str | None

    @property
    def subject(self) -> str:
        """The op or attribute, such as `VarHandleOp.debug_name`; without an op, the name of the finding."""
        return ".".join(filter(None, (self.op, self.attr))) or name_of(self.code)


class Cause(NamedTuple):
    """A finding and the stage at which it is noticed, independent of the release."""

    key: FindingKey
    stage: str

    @property
    def code(self) -> str:
        return self.key.code

    @property
    def subject(self) -> str:
        return self.key.subject


@dataclass(frozen=True)
class MatrixCell:
    """The result of one release for some signatures."""

    target: Target
    verdict: str
    stage: str | None
    findings: list[Finding]
    """The findings that a loader notices."""
    causes: tuple[Cause, ...]
    """Their causes, each once."""

    @property
    def release(self) -> str:
        return release_of(self.target)

    @property
    def minor(self) -> tuple[int, int]:
        """The minor release that it belongs to."""
        major, minor, *_ = version_key(self.release).release
        return major, minor

    @property
    def outline(self) -> tuple[object, ...]:
        return self.verdict, self.stage, frozenset(self.causes)


@dataclass(frozen=True)
class CellRange:
    """Consecutive cells with equal outcomes."""

    cells: Sequence[MatrixCell]
    after: str | None
    """The next release; None at the end of the strip."""
    is_first: bool

    def __str__(self) -> str:
        first, last = self.cells[0].release, self.cells[-1].release
        if self.after is None:
            return "every release" if self.is_first else f"since {first}"
        if self.is_first:
            return f"before {self.after}"
        return first if first == last else f"{first} to {last}"


def joined(ranges: Iterable[CellRange]) -> str:
    return ", ".join(map(str, ranges))


@dataclass(frozen=True)
class Strip:
    """The results of all releases for a loader, a device and some signatures; the oldest first."""

    device: str
    loader: str
    signatures: tuple[str, ...]
    """Signatures with equal results; an empty name stands for a graph without signatures."""
    cells: list[MatrixCell]

    @property
    def package(self) -> str:
        """The package whose releases it covers."""
        return self.cells[0].target.requirement.partition("==")[0]

    def ranges(
        self, key: Callable[[MatrixCell], Hashable] = lambda cell: cell.outline
    ) -> Iterator[CellRange]:
        """Group consecutive cells with equal keys."""
        start = 0
        for _, group in groupby(self.cells, key):
            end = start + len(row := list(group))
            after = self.cells[end].release if end < len(self.cells) else None
            yield CellRange(row, after, start == 0)
            start = end

    def where(self, holds: Callable[[MatrixCell], bool]) -> list[CellRange]:
        """The ranges whose cells satisfy a condition."""
        return [cell_range for cell_range in self.ranges(holds) if holds(cell_range.cells[0])]

    def broken(self) -> Iterator[tuple[Cause, list[CellRange]]]:
        """Every cause with the releases that it breaks, starting with the newest releases."""
        causes = dict.fromkeys(cause for cell in reversed(self.cells) for cause in cell.causes)
        for cause in causes:
            yield cause, self.where(lambda cell, wanted=cause: wanted in cell.causes)  # type: ignore[misc]

    @property
    def outline(self) -> tuple[object, ...]:
        """Equal for strips that are drawn the same."""
        return tuple((cell.release, cell.outline) for cell in self.cells)


@dataclass(frozen=True, repr=False)
class Matrix(RenderedResult):
    """The results of all releases for a model."""

    model: str
    tensorflow: str
    """The release that wrote the model; empty if unknown."""
    graph_def: int
    min_consumer: int
    signatures: list[str]
    """The requested signatures."""
    outputs: GraphOutputs | None
    """The outputs that were checked instead of signatures."""
    strips: list[Strip]
    keras: str = ""
    """The version of Keras that saved a Keras file."""
    lite: str = ""
    """What wrote a TensorFlow Lite file."""


def matrix_of(
    model: Model,
    *,
    device: str | None = None,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    soft_placement: bool | None = None,
    libraries: Sequence[str] = (),
) -> Matrix:
    """Check a model on all final releases, on CPU and GPU unless a device is given."""
    subject, loaders = CheckedModel(model, signatures, fetches=fetches, feeds=feeds), loaders_of(loader)
    strips: list[Strip] = []
    if model.lite is not None:
        for series in lite_series(since=since, until=until):
            strips += _strips(_SignatureResults(subject, (LITE,), soft_placement), "cpu", series)
        return _matrix(subject, strips)
    if model.keras is not None and loaders in (None, (KERAS,)):
        for series in keras_series(since=since, until=until):
            strips += _strips(_SignatureResults(subject, (KERAS,), soft_placement), "cpu", series)
        return _matrix(subject, strips)
    for kind in (device,) if device else DEVICES:
        targets = with_libraries(releases(kind, since=since, until=until), libraries)
        named = loaders or default_loaders(targets[0])
        strips += _strips(_SignatureResults(subject, named, soft_placement), kind, targets)
    return _matrix(subject, strips)


def _matrix(subject: CheckedModel, strips: list[Strip]) -> Matrix:
    model = subject.model
    return Matrix(
        model=model.where,
        tensorflow=model.meta.meta_info_def.tensorflow_version,
        graph_def=subject.producer,
        min_consumer=model.graph.rest.versions.min_consumer,
        signatures=sorted(subject.signatures),
        outputs=subject.outputs,
        strips=strips,
        keras=model.keras.keras_version if model.keras is not None else "",
        lite=model.lite.origin if model.lite is not None else "",
    )


class _SignatureResults:
    """Checks each signature of a model on targets."""

    def __init__(self, subject: CheckedModel, loaders: Sequence[str], soft_placement: bool | None) -> None:
        self.subject, self.loaders, self.soft_placement = subject, loaders, soft_placement
        self.signatures = sorted(subject.signatures)

    def results(self, target: Target) -> list[dict[str, Result]]:
        """The results by loader for each signature; signatures with the same findings are checked once."""
        together = self._results(self.subject, target)
        if len(self.signatures) == 1:
            return [together]
        if all(self._is_shared(finding) for result in together.values() for finding in result.findings):
            return [together] * len(self.signatures)
        return [self._results(self.subject.with_signature(name), target) for name in self.signatures]

    def _results(self, subject: CheckedModel, target: Target) -> dict[str, Result]:
        results = check_on(subject, target, self.loaders, soft_placement=self.soft_placement)
        return {loader: result for result in results for loader in result.loaders}

    def _is_shared(self, finding: Finding) -> bool:
        """Whether a finding affects all signatures equally: all of them run its nodes, or none does."""
        if finding.contexts is not None:  # few, for many nodes
            running = (context.signatures for context, _ in finding.contexts)
        else:
            running = (self.subject.contexts.of(node).signatures for node in finding.nodes)
        counts = (len(finding.signatures), *(len(names & self.subject.signatures) for names in running))
        return all(count in (0, len(self.signatures)) for count in counts)


def _strips(signature_results: _SignatureResults, device: str, targets: Sequence[Target]) -> Iterator[Strip]:
    """A strip for each loader and each group of signatures with equal results."""
    results = [signature_results.results(target) for target in targets]
    for loader in signature_results.loaders:
        groups: dict[object, tuple[list[str], list[MatrixCell]]] = {}
        for i, name in enumerate(signature_results.signatures):
            cells = [_cell(by_loader[i][loader]) for by_loader in results]
            groups.setdefault(tuple(cell.outline for cell in cells), ([], cells))[0].append(name)
        for names, cells in groups.values():
            yield Strip(device, loader, tuple(names), cells)


def _cell(result: Result) -> MatrixCell:
    noticed = [(f, f.stage) for f in result.findings if f.severity == ERROR and f.stage is not None]
    causes = dict.fromkeys(Cause(FindingKey(f.code, f.op, f.attr), stage) for f, stage in noticed)
    return MatrixCell(result.target, result.verdict, result.stage, [f for f, _ in noticed], tuple(causes))
