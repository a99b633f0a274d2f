"""Render the list of recorded builds, and one target in full."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.atlas import ARM
from tfport.atlas.lite.registry import LiteRegistry
from tfport.atlas.overview import Overview, Package, Release
from tfport.atlas.target_summary import SourceSummary, TargetSummary
from tfport.cli.targets import build_facts
from tfport.reports.console import columns, facts, title
from tfport.reports.layout import ReportPart
from tfport.words import count


def render_overview(overview: Overview, width: int, *, everything: bool) -> Iterator[ReportPart]:
    """The releases of TensorFlow, then the other packages with one line each."""
    others = [package for package in overview.packages if not package.is_tensorflow]
    for package in overview.packages:
        if package.is_tensorflow or everything:
            yield from _releases(package, width, everything=everything)
    if others and not everything:
        yield title("other packages with ops")
        yield columns(map(_line, others), width, head=("package", "recorded", "", "ops"), right=1)
    yield title("for Keras files")
    yield columns(map(_version_line, overview.keras.items()), width, head=("package", "recorded", ""))
    yield title("for TensorFlow Lite files")
    yield columns(map(_version_line, overview.lite.items()), width, head=("package", "recorded", ""))
    if not everything:
        yield title("", "Newest patch of each release; --all lists every patch.")


def _releases(package: Package, width: int, *, everything: bool) -> Iterator[ReportPart]:
    shown = package.releases if everything else package.newest_patches()
    yield title(_name(package), f"{count(len(package.releases), 'build')}, {_range(package)}")
    head = ("release", *build_facts.HEAD, "ops", "kernels")
    yield columns(map(_row, shown), width, head=head, gap=1, right=3)


def _row(release: Release) -> tuple[str, ...]:
    build = release.build
    return build.version, *build_facts.cells(build.facts), str(release.ops), str(release.kernels or "")


def _name(package: Package) -> str:
    return f"{package.name} ({ARM})" if package.is_for_arm else package.name


def _range(package: Package) -> str:
    versions = list(dict.fromkeys(release.build.version for release in package.releases))
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _line(package: Package) -> tuple[str, ...]:
    newest = package.releases[-1]
    return _name(package), count(len(package.releases), "build"), _range(package), str(newest.ops)


def _version_line(entry: tuple[str, list[str]]) -> tuple[str, ...]:
    package, versions = entry
    return package, count(len(versions), "release"), f"{versions[0]} to {versions[-1]}"


def render_target(target: TargetSummary, width: int) -> Iterator[ReportPart]:
    """A target with all its parts."""
    yield title(target.name, count(target.ops, "op") if target.parts else "")
    if target.notes:
        yield facts([("note", [note]) for note in target.notes], width)
    for part in target.parts:
        if len(target.parts) > 1:
            yield title(part.name)
        yield facts(_rows(part), width)
    if target.lite is not None:
        yield title("TensorFlow Lite", target.lite.name)
        yield facts(_lite_rows(target.lite), width)


def _lite_rows(registry: LiteRegistry) -> Iterator[tuple[str, list[str]]]:
    """What an interpreter registers."""
    pairs = sum(len(versions) for versions in registry.ops.values() if versions)
    yield "builtin ops", [f"{len(registry.ops)} in {count(pairs, 'version')}"]
    yield "custom ops", sorted(registry.custom_ops) or ["none"]
    yield "delegates", sorted(registry.delegates) or ["none by default"]
    yield "XNNPACK only", sorted(registry.delegated)


def _rows(part: SourceSummary) -> Iterator[tuple[str, list[str]]]:
    if part.build:
        yield "wheel", [part.build.wheel]
        yield "SHA-256", [part.build.sha256]
        yield from build_facts.rows(part.build.facts)
    yield "ops", [f"{part.ops:,}"]
    yield "kernels", [f"{device} {n:,}" for device, n in part.kernels.items()] or ["none recorded"]
    yield "on import", [f"{library} {n}" for library, n in part.libraries.items()]
