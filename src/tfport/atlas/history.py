"""The history of an op: which packages register it since when, changes of its definition, its kernels.

Everything comes from the recorded x86-64 builds. Releases are sorted by number:
2.0.0 is older than 1.15.0 and may lack what 1.15.0 added.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tfport.atlas.atlas import ARM, TENSORFLOWS, Atlas, Build, OpVersion
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
from tfport.startup.dataclass import dataclass

Provider = tuple[str, str]
"""A package, and the library in it; empty for add-ons, which load all their libraries."""
Defined = dict[int, OpDef]
"""The definition of an op by build number."""
Kernels = dict[Line, set[int]]
"""The kernels of an op, with the numbers of the builds that have each."""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """Changes of a definition in a release."""

    release: str
    changes: list[str]


@dataclass(frozen=True, slots=True)
class ProviderHistory:
    """What one package registers for an op."""

    package: str
    library: str
    """The library in TensorFlow's wheel that registers the op when imported; empty for the package itself."""
    releases: tuple[Span, ...]
    """Releases that register the op; empty if the package only adds kernels."""
    changes: list[ReleaseChange]
    kernels: list[KernelAvailability]


@dataclass(frozen=True, slots=True)
class OpHistory:
    """What is recorded about an op."""

    name: str
    definition: OpDef
    """The newest definition."""
    provisions: list[ProviderHistory]
    """`tensorflow` first; for its variants, only what they have in addition."""
    type_attr: str | None
    """The attribute by which kernels are listed."""
    later: dict[str, str]
    """Newer versions of the op (`V2`, `V3`), and the first release of TensorFlow with each."""
    kernels_missing: tuple[Span, ...]
    """TensorFlow releases that have the op, but whose kernels are not recorded."""

    @property
    def stock(self) -> ProviderHistory | None:
        """What `tensorflow` itself registers."""
        return next((p for p in self.provisions if (p.package, p.library) == (STOCK, "")), None)

    @property
    def since(self) -> str | None:
        """The first recorded TensorFlow release that registers the op."""
        return self.stock.releases[0].first if self.stock and self.stock.releases else None

    @property
    def until(self) -> str | None:
        """The last such release; None if the newest still has the op, or none ever did."""
        last = self.stock.releases[-1] if self.stock and self.stock.releases else None
        return last.last if last and not last.open else None


def op_history(atlas: Atlas, name: str) -> OpHistory | None:
    """Return the history of an op; None if no recorded build registers it."""
    definitions = atlas.definitions(name)
    if not definitions:
        return None
    kernel_sets = atlas.kernel_sets(name)
    newest = _newest(definitions)
    type_attr = main_type(newest, (kernel for version in kernel_sets for kernel in version.kernels))
    return OpHistory(
        name,
        newest,
        _provisions(
            atlas, _definitions_by_provider(definitions), _kernels_by_provider(kernel_sets, type_attr)
        ),
        type_attr,
        later_ops(atlas, name),
        _kernels_missing(atlas, definitions),
    )


def _newest(definitions: list[OpVersion]) -> OpDef:
    """Return the definition of the newest TensorFlow that has the op, else of the last add-on."""
    last = max(definitions, key=lambda version: max((b.package == STOCK, b.number) for b in version.builds))
    assert last.definition is not None
    return last.definition


def _provider(build: Build, version: OpVersion) -> Provider:
    return build.package, version.provider if build.is_tensorflow else ""


def _definitions_by_provider(definitions: list[OpVersion]) -> dict[Provider, Defined]:
    """Return the definitions of an op by provider."""
    by_provider: dict[Provider, Defined] = {}
    for version in definitions:
        for build in version.builds:
            if ARM not in build.platform and version.definition is not None:
                by_provider.setdefault(_provider(build, version), {})[build.number] = version.definition
    return by_provider


def _kernels_by_provider(kernel_sets: list[OpVersion], type_attr: str | None) -> dict[Provider, Kernels]:
    """Return the kernels of an op by provider."""
    by_provider: dict[Provider, Kernels] = {}
    for version in kernel_sets:
        lines = lines_of(version, type_attr)
        for build in version.builds:
            if ARM not in build.platform:
                mine = by_provider.setdefault(_provider(build, version), {})
                for line in lines:
                    mine.setdefault(line, set()).add(build.number)
    return by_provider


def _provisions(
    atlas: Atlas, defined: dict[Provider, Defined], run: dict[Provider, Kernels]
) -> list[ProviderHistory]:
    histories = []
    for package, library in sorted(defined.keys() | run.keys(), key=_order):
        mine = defined.get((package, library), {}), run.get((package, library), {})
        if package in TENSORFLOWS and package != STOCK:
            stock = defined.get((STOCK, library), {}), run.get((STOCK, library), {})
            mine = _in_addition_to_stock(stock, mine, atlas, package)
        definitions, lines = mine
        builds = on_x86(atlas, package)
        if definitions or lines:
            kernels = kernel_lines(_builds_with_kernels(atlas, builds, lines), lines)
            changes = _changes(builds, definitions)
            histories.append(ProviderHistory(package, library, spans(builds, definitions), changes, kernels))
    return histories


def _in_addition_to_stock(
    stock: tuple[Defined, Kernels], mine: tuple[Defined, Kernels], atlas: Atlas, package: str
) -> tuple[Defined, Kernels]:
    """Return what builds have in addition to stock TensorFlow of the same release."""
    numbers = {build.version: build.number for build in on_x86(atlas, STOCK)}
    same = {build.number: numbers.get(build.version) for build in on_x86(atlas, package)}
    definitions = {n: definition for n, definition in mine[0].items() if same[n] not in stock[0]}
    lines = {
        line: {n for n in having if same[n] not in stock[1].get(line, ())} for line, having in mine[1].items()
    }
    return definitions, {line: having for line, having in lines.items() if having}


def _builds_with_kernels(atlas: Atlas, builds: Sequence[Build], lines: Kernels) -> list[Build]:
    """Return the builds whose kernels are recorded; the others do not interrupt a span."""
    numbers = with_kernels(atlas, builds).union(*lines.values())
    return [build for build in builds if build.number in numbers or not build.is_tensorflow]


def _order(provider: Provider) -> tuple[bool, bool, Provider]:
    package, _ = provider
    return package != STOCK, package not in TENSORFLOWS, provider


def _changes(builds: Sequence[Build], definitions: Defined) -> list[ReleaseChange]:
    having = [(build, definitions[build.number]) for build in builds if build.number in definitions]
    changes = [
        ReleaseChange(build.version, definition_changes(before, now))
        for (_, before), (build, now) in itertools.pairwise(having)
        if before is not now
    ]
    return [change for change in changes if change.changes]


def _kernels_missing(atlas: Atlas, definitions: list[OpVersion]) -> tuple[Span, ...]:
    having = {build.number for version in definitions if not version.provider for build in version.builds}
    stock = on_x86(atlas, STOCK)
    return spans(stock, having - with_kernels(atlas, stock))
