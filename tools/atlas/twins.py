"""Is a build another one under a second name?

`same_files` compares wheels on the index by the checksums of their libraries;
`same_registry` compares records. Both name the record that the build is an alias of.
"""

from pathlib import Path

from index import choose
from records import X86, folder_of
from remote import libraries, open_zip

Build = tuple[str, str, str]
"""Package, release, platform."""
ARM = "aarch64"
REGISTRY = ("ops.pb", "kernels.pb", "kernels_session.pb", "libraries")


def relatives(build: Build) -> list[Build]:
    """The builds that this one may equal, the nearest first."""
    package, release, platform = build
    if ".post" in release:
        return [(package, release.partition(".post")[0], platform)]
    if platform == X86:
        return [("tensorflow", release, X86)] if package != "tensorflow" else []
    aws = [("tensorflow-cpu-aws", release, ARM)] if package == "tensorflow" else []
    return [*aws, ("tensorflow-cpu", release, X86), ("tensorflow", release, X86)]


def same_files(build: Build, cache: Path) -> Path | None:
    """The record of a wheel with the very same libraries."""
    near = [b for b in relatives(build) if b[2] == build[2]]
    recorded = [(b, place) for b in near if (place := folder_of(cache, *b) / "facts.json").exists()]
    own = libraries(open_zip(choose(*build).url)) if recorded else {}
    for other, facts in recorded:
        if not own and other[0] == "tensorflow-cpu-aws":  # 2.10 to 2.15: a wheel that only requires that one
            return facts.parent
        if own and own == libraries(open_zip(choose(*other).url)):
            return facts.parent
    return None


def same_registry(build: Build, out: Path, cache: Path) -> Path | None:
    """The record with the same ops and kernels, byte for byte."""
    for other in relatives(build):
        place = folder_of(cache, *other)
        if (place / "facts.json").exists() and contents(place) == contents(out):
            return place
    return None


def contents(record: Path) -> dict[str, bytes]:
    """The registry of a record: each file with what is in it."""
    files = [p for name in REGISTRY for p in sorted((record / name).rglob("*")) or [record / name]]
    return {str(p.relative_to(record)): p.read_bytes() for p in files if p.is_file()}
