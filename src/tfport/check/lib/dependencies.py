"""Are the libraries that a library needs there, and new enough? Findings of one target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.explain.cuda import CUDA_LIBRARY, cuda_of
from tfport.check.findings.finding import Finding
from tfport.check.findings.libraries import (
    DeclaredForOther,
    LoadedTwice,
    MissingCudaLibrary,
    MissingLibrary,
    MissingTensorFlowLibrary,
    OtherSymbolVersion,
    SystemTooOld,
    UnknownLayout,
    UnknownMachine,
)
from tfport.check.lib.closure import MissingVersion
from tfport.check.lib.library_packages import brought_by, nvidia_package
from tfport.check.lib.library_search import LibrarySearch, LoadedLibrary
from tfport.check.lib.tensorflow_libraries import is_tensorflow, libraries_of, releases_with

if TYPE_CHECKING:
    from tfport.check.lib.diagnosis import LibrarySubject

SYSTEM_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")


def library_findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """What is wrong with the libraries that one needs, in the order in which the loader notices."""
    closure = subject.closure
    yield from _of_tensorflow(subject, target)
    if closure.unknown:
        yield UnknownMachine(on=target, file=subject.file, needs=closure.unknown)
    else:
        for found, by in closure.missing:
            yield _missing(subject, target, found, by)
        yield from _versions(subject, target)
    yield from _twice(subject, target)
    yield from _declared(subject, target)
    yield from _layout(subject, target)


def _of_tensorflow(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    if target.build is None:
        return
    there = libraries_of(target.build.version)
    for name in subject.closure.of_tensorflow:
        if name not in there:
            yield MissingTensorFlowLibrary(
                on=target, file=subject.file, library=name, released=releases_with(name), has=there
            )


def _missing(subject: LibrarySubject, target: Target, found: LibrarySearch, by: LoadedLibrary) -> Finding:
    cuda = CUDA_LIBRARY.match(found.name)
    if cuda is not None:
        what, version = cuda[1], cuda[2]
        part = "the driver of the GPU" if what == "cuda" else "cuDNN" if what == "cudnn" else "CUDA"
        built = cuda_of(target.build.facts).get("version") if target.build else None
        return MissingCudaLibrary(
            on=target,
            file=subject.file,
            library=found.name,
            part=part,
            version=version,
            package=nvidia_package(what, version),
            built_with=built or "",
        )
    return MissingLibrary(
        on=target,
        file=subject.file,
        library=found.name,
        chain=" → ".join(by.chain()),
        looked=tuple(_place(subject, place, why) for place, why in found.looked),
        passed_over=tuple(map(subject.shown, found.passed_over)),
        broken=f"{subject.shown(found.broken[0])}: {found.broken[1].says}" if found.broken else "",
        brought_by=brought_by(found.name),
    )


def _place(subject: LibrarySubject, place: str, why: str) -> str:
    where = subject.shown(place)
    return where if why == "a usual folder" else f"{where} ({why})"


def _versions(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """Lacks of versions: the highest of a family stands for all below it."""
    lacks = list(subject.closure.version_lacks())
    of_system: dict[str, MissingVersion] = {}
    for lack in lacks:
        known = SYSTEM_VERSION.fullmatch(lack.version)
        if known is None:
            yield OtherSymbolVersion(
                on=target,
                file=subject.file,
                provider=subject.shown(lack.provider.path),
                version=lack.version,
                requirer=subject.name_in_messages(lack.requirer),
                offers=tuple(lack.provider.library.versions_offered),
            )
        else:
            of_system.setdefault(known[1], lack)
    for family, lack in of_system.items():
        yield _too_old(subject, target, family, lack, lacks)

    for lack in list(subject.closure.unversioned())[:1]:
        yield OtherSymbolVersion(
            on=target,
            file=subject.file,
            provider=subject.shown(lack.provider.path),
            version=lack.version,
            requirer=subject.name_in_messages(lack.requirer),
            gives_up=True,
        )


def _too_old(
    subject: LibrarySubject, target: Target, family: str, first: MissingVersion, lacks: list[MissingVersion]
) -> Finding:
    wanted = [m[2] for lack in lacks if (m := SYSTEM_VERSION.fullmatch(lack.version)) and m[1] == family]
    offered = [
        m[2]
        for v in first.provider.library.versions_offered
        if (m := SYSTEM_VERSION.fullmatch(v)) and m[1] == family
    ]
    system = subject.closure.system
    return SystemTooOld(
        on=target,
        file=subject.file,
        family=family,
        wanted=max(wanted, key=version_key),
        first=SYSTEM_VERSION.fullmatch(first.version)[2],  # type: ignore[index]
        found=max(offered, key=version_key, default="none"),
        system=system.name if system else "the machine",
        provider=subject.shown(first.provider.path),
        requirer=subject.name_in_messages(first.requirer),
    )


def _declared(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    if not subject.declares or target.build is None:
        return
    if not Requirement(subject.declares).specifier.contains(target.build.version, prereleases=True):
        yield DeclaredForOther(on=target, file=subject.file, declares=subject.declares)


def _layout(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """Whether it may have been built for a release in which what registers ops has another size."""
    origin = subject.origin
    if (
        target.build is None
        or subject.declares
        or not any("OpDefBuilder" in name for name in origin.exporters)
    ):
        return
    here = has_larger_builder(target.build.version)
    ends = [release for span in origin.spans for release in (span.first, span.last)]
    if any(has_larger_builder(release) is here for release in ends):
        others = [release for release in ends if has_larger_builder(release) is not here]
        if others:
            names = f"TensorFlow {min(others, key=version_key)}"
            yield UnknownLayout(on=target, file=subject.file, others=names)


def has_larger_builder(release: str) -> bool:
    """Whether it is 2.7 or later: there `OpDefBuilder` is larger than before, and no symbol tells."""
    return version_key(release) >= version_key("2.7")


def _twice(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """Libraries of one name from two places; and a TensorFlow beside the one in the process."""
    places: dict[str, list[str]] = {}
    for one in subject.closure.loaded:
        places.setdefault(one.library.soname or one.name, []).append(one.path)
    for name, paths in places.items():
        if is_tensorflow(name):
            paths = [*paths, f"the one of {target.name}"]
        if len(paths) > 1:
            yield LoadedTwice(on=target, file=subject.file, library=name, paths=tuple(paths))
