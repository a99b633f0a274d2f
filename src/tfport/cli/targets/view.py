"""Render the list of recorded builds, and one target in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.atlas.atlas import ARM
from tfport.atlas.lite.releases import LiteRegistry
from tfport.atlas.summaries import Overview, Package, Release, SourceSummary, TargetSummary
from tfport.reports.console import columns, count, facts, title
from tfport.reports.layout.parts import ReportPart


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
    head = ("release", *HEAD, "ops", "kernels")
    yield columns(map(_row, shown), width, head=head, gap=1, right=3)


def _row(release: Release) -> tuple[str, ...]:
    build = release.build
    return build.version, *cells(build.facts), str(release.ops), str(release.kernels or "")


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
        yield from rows(part.build.facts)
    yield "ops", [f"{part.ops:,}"]
    yield "kernels", [f"{device} {n:,}" for device, n in part.kernels.items()] or ["none recorded"]
    yield "on import", [f"{library} {n}" for library, n in part.libraries.items()]


# Render the facts about a build that its wheel contains: Python, CUDA, C++ ABI, GraphDef versions.
#
# A fact that could not be read is left out.

PINS = ("numpy", "protobuf", "keras", "tf-keras", "ml-dtypes", "h5py", "tensorflow")
ABI = {True: "new", False: "old"}
GRAPH_DEF = ("producer", "min_consumer", "min_producer")
FLOORS = {"glibc": "GLIBC", "glibcxx": "GLIBCXX", "cxxabi": "CXXABI"}

HEAD = ("date", "Python", "CUDA", "cuDNN", "compute", "GLIBC", "ABI", "GraphDef")

Facts = dict[str, Any]


def cells(facts: Facts) -> tuple[str, ...]:
    """The cells of a row of the table of releases, as in HEAD."""
    cuda = facts.get("cuda") or {}
    return (
        date(facts)[: len("2022-11")],
        _version_range(facts.get("pythons")),
        cuda.get("version") or "",
        cuda.get("cudnn") or "",
        _version_range(capabilities(cuda)),
        facts.get("glibc") or "",
        ABI[facts["cxx11_abi"]] if "cxx11_abi" in facts else "",
        str((facts.get("graph_def") or {}).get("producer") or ""),
    )


def date(facts: Facts) -> str:
    """The upload date, or the date of the newest file in the wheel."""
    return (facts.get("uploaded") or facts.get("built") or "")[: len("2022-11-16")]


def capabilities(cuda: Facts) -> list[str]:
    """The compute capabilities with machine code, or those that the build declares."""
    return cuda.get("sass") or cuda.get("capabilities") or []


def _version_range(versions: list[str] | None) -> str:
    if not versions:
        return ""
    return versions[0] if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def rows(facts: Facts) -> Iterator[tuple[str, list[str]]]:
    """All facts to show, each as a label and its items."""
    cuda, versions = facts.get("cuda") or {}, facts.get("graph_def") or {}
    yield "date", [date(facts)] if date(facts) else []
    yield "Python", facts.get("pythons") or ([r] if (r := facts.get("requires_python")) else [])
    yield "CUDA", [cuda["version"]] if cuda.get("version") else ["none"] if "cuda" in facts else []
    yield "cuDNN", [cuda["cudnn"]] if cuda.get("cudnn") else []
    yield "compute", capabilities(cuda)
    yield "PTX", cuda.get("ptx") or []
    if "cxx11_abi" in facts:
        yield "C++ ABI", [f"_GLIBCXX_USE_CXX11_ABI={int(facts['cxx11_abi'])}"]
    yield "needs", [f"{name} {facts[key]}" for key, name in FLOORS.items() if facts.get(key)]
    yield "GraphDef", [f"{name} {versions[name]}" for name in GRAPH_DEF if versions.get(name) is not None]
    yield "requires", pins(facts)
    yield "compiler", [facts["compiler"]] if facts.get("compiler") else []
    yield "git", [facts["git"]] if facts.get("git") else []
    yield "same as", [facts["alias_of"]] if facts.get("alias_of") else []


def pins(facts: Facts) -> list[str]:
    """The requirements that can conflict with other packages."""
    plain = (requirement.partition(";") for requirement in facts.get("requires") or [])
    wanted = [(name.strip(), marker) for name, _, marker in plain if _package(name) in PINS]
    return [f"{name};{marker}" if marker else name for name, marker in wanted]


def _package(requirement: str) -> str:
    name = requirement.strip()
    end = next((i for i, c in enumerate(name) if not (c.isalnum() or c in "-_.")), len(name))
    return name[:end].lower().replace("_", "-")


def flat(facts: Facts, prefix: str = "") -> Facts:
    """Nested facts as a flat dict, with names such as `cuda version`."""
    by_name: Facts = {}
    for key, value in facts.items():
        if isinstance(value, dict):
            by_name |= flat(value, f"{prefix}{key} ")
        else:
            by_name[f"{prefix}{key}"] = value
    return by_name
