"""The history of an op: who registers it since when, how its definition changed, which kernels it has had.

Everything is read from the recorded x86-64 builds. Releases are in the order of
their numbers: what 1.15.0 brought may be missing in 2.0.0, which is older.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tfport.atlas.atlas import ARM, TENSORFLOWS, Atlas, Build, OpRecord
from tfport.atlas.kernel_history import (
    KernelAvailability,
    Line,
    kernel_lines,
    lines_of,
    main_type,
    with_kernels,
)
from tfport.atlas.op_definitions import definition_changes
from tfport.atlas.op_search import later_ops
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.formats.proto.graph_pb2 import OpDef

Whose = tuple[str, str]
"""A package, and the library in it; all libraries of an add-on are loaded with it, so they have no name."""
Defined = dict[int, OpDef]
"""How builds, by their numbers, define an op."""
Run = dict[Line, set[int]]
"""The kernels of an op, and the builds that have each."""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """What is different in a release from the one before."""

    release: str
    changes: list[str]


@dataclass(frozen=True, slots=True)
class ProviderHistory:
    """What one package does for an op."""

    package: str
    library: str
    """The library in TensorFlow's wheel that brings the op when imported; empty for the package itself."""
    releases: tuple[Span, ...]
    """Where it registers the op; none where it only adds kernels."""
    changes: list[ReleaseChange]
    kernels: list[KernelAvailability]


@dataclass(frozen=True, slots=True)
class OpHistory:
    """What the recorded builds tell of an op."""

    name: str
    definition: OpDef
    """The newest."""
    provisions: list[ProviderHistory]
    """`tensorflow` first; of its other packages, only what they have beyond it."""
    type_attr: str | None
    """The attribute by whose values the kernels are listed."""
    later: dict[str, str]
    """Ops of the same name with a higher number, and the first release of TensorFlow with each."""
    kernels_missing: tuple[Span, ...]
    """Releases of TensorFlow with the op whose kernels are not recorded."""

    @property
    def stock(self) -> ProviderHistory | None:
        """What `tensorflow` itself does for the op."""
        return next((p for p in self.provisions if (p.package, p.library) == (STOCK, "")), None)

    @property
    def since(self) -> str | None:
        """The first recorded release of TensorFlow that registers it."""
        return self.stock.releases[0].first if self.stock and self.stock.releases else None

    @property
    def until(self) -> str | None:
        """The last one; None where the newest still does, or none ever did."""
        last = self.stock.releases[-1] if self.stock and self.stock.releases else None
        return last.last if last and not last.open else None


def op_history(atlas: Atlas, name: str) -> OpHistory | None:
    """The history of an op; None for one that no recorded build registers."""
    definitions = atlas.definitions(name)
    if not definitions:
        return None
    kernel_sets = atlas.kernel_sets(name)
    newest = _newest(definitions)
    type_attr = main_type(newest, (kernel for chapter in kernel_sets for kernel in chapter.kernels))
    return OpHistory(
        name,
        newest,
        _provisions(atlas, _defined(definitions), _run(kernel_sets, type_attr)),
        type_attr,
        later_ops(atlas, name),
        _kernels_missing(atlas, definitions),
    )


def _newest(definitions: list[OpRecord]) -> OpDef:
    """The definition of the newest TensorFlow that has the op, or else of whoever comes last."""
    last = max(definitions, key=lambda chapter: max((b.package == STOCK, b.number) for b in chapter.builds))
    assert last.definition is not None
    return last.definition


def _whose(build: Build, chapter: OpRecord) -> Whose:
    return build.package, chapter.provider if build.is_tensorflow else ""


def _defined(definitions: list[OpRecord]) -> dict[Whose, Defined]:
    """For each provider how each of its builds defines the op."""
    found: dict[Whose, Defined] = {}
    for chapter in definitions:
        for build in chapter.builds:
            if ARM not in build.platform and chapter.definition is not None:
                found.setdefault(_whose(build, chapter), {})[build.number] = chapter.definition
    return found


def _run(kernel_sets: list[OpRecord], type_attr: str | None) -> dict[Whose, Run]:
    """For each provider its kernels, with the builds that have them."""
    found: dict[Whose, Run] = {}
    for chapter in kernel_sets:
        lines = lines_of(chapter, type_attr)
        for build in chapter.builds:
            if ARM not in build.platform:
                mine = found.setdefault(_whose(build, chapter), {})
                for line in lines:
                    mine.setdefault(line, set()).add(build.number)
    return found


def _provisions(atlas: Atlas, defined: dict[Whose, Defined], run: dict[Whose, Run]) -> list[ProviderHistory]:
    found = []
    for package, library in sorted(defined.keys() | run.keys(), key=_order):
        mine = defined.get((package, library), {}), run.get((package, library), {})
        if package in TENSORFLOWS and package != STOCK:
            stock = defined.get((STOCK, library), {}), run.get((STOCK, library), {})
            mine = _beyond(stock, mine, atlas, package)
        definitions, lines = mine
        builds = on_x86(atlas, package)
        if definitions or lines:
            kernels = kernel_lines(_tellers(atlas, builds, lines), lines)
            changes = _changes(builds, definitions)
            found.append(ProviderHistory(package, library, spans(builds, definitions), changes, kernels))
    return found


def _beyond(
    stock: tuple[Defined, Run], mine: tuple[Defined, Run], atlas: Atlas, package: str
) -> tuple[Defined, Run]:
    """What builds have that stock TensorFlow of the same release has not."""
    numbers = {build.version: build.number for build in on_x86(atlas, STOCK)}
    same = {build.number: numbers.get(build.version) for build in on_x86(atlas, package)}
    definitions = {n: definition for n, definition in mine[0].items() if same[n] not in stock[0]}
    lines = {
        line: {n for n in having if same[n] not in stock[1].get(line, ())} for line, having in mine[1].items()
    }
    return definitions, {line: having for line, having in lines.items() if having}


def _tellers(atlas: Atlas, builds: Sequence[Build], lines: Run) -> list[Build]:
    """The builds whose kernels are recorded; others do not interrupt a span."""
    told = with_kernels(atlas, builds).union(*lines.values())
    return [build for build in builds if build.number in told or not build.is_tensorflow]


def _order(whose: Whose) -> tuple[bool, bool, Whose]:
    package, _ = whose
    return package != STOCK, package not in TENSORFLOWS, whose


def _changes(builds: Sequence[Build], definitions: Defined) -> list[ReleaseChange]:
    having = [(build, definitions[build.number]) for build in builds if build.number in definitions]
    found = [
        ReleaseChange(build.version, definition_changes(before, now))
        for (_, before), (build, now) in itertools.pairwise(having)
        if before is not now
    ]
    return [change for change in found if change.changes]


def _kernels_missing(atlas: Atlas, definitions: list[OpRecord]) -> tuple[Span, ...]:
    having = {build.number for chapter in definitions if not chapter.provider for build in chapter.builds}
    stock = on_x86(atlas, STOCK)
    return spans(stock, having - with_kernels(atlas, stock))
