"""Findings about the libraries that a library needs: missing, too old, loaded twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.atlas.cuda import CUDA_LIBRARY, cuda_of
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.findings.finding import Finding
from tfport.check.findings.library_dependencies import (
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
from tfport.lib.closure import MissingVersion
from tfport.lib.library_search import LibrarySearch, LoadedLibrary
from tfport.lib.origin import has_global_symbols
from tfport.lib.subject import LibrarySubject
from tfport.lib.tensorflow_libraries import (
    FRAMEWORK_COPY,
    is_tensorflow,
    libraries_of,
    releases_with,
    symbol_version,
)

SYSTEM_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")


def library_findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """The findings about needed libraries, in the order in which the loader notices them."""
    closure = subject.closure
    yield from _of_tensorflow(subject, target)
    if closure.unknown:
        yield UnknownMachine(on=target, file=subject.file, needs=closure.unknown)
    else:
        for search, by in closure.missing:
            yield _missing(subject, target, search, by)
        yield from _versions(subject, target)
    yield from _twice(subject, target)
    yield from _declared(subject, target)


def _of_tensorflow(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    if target.build is None:
        return
    existing = libraries_of(target.build.version)
    for name in subject.closure.of_tensorflow:
        if name not in existing:
            yield MissingTensorFlowLibrary(
                on=target, file=subject.file, library=name, released=releases_with(name), has=existing
            )


def _missing(subject: LibrarySubject, target: Target, search: LibrarySearch, by: LoadedLibrary) -> Finding:
    cuda = CUDA_LIBRARY.match(search.name)
    if cuda is not None:
        library, version = cuda[1], cuda[2]
        part = "the GPU driver" if library == "cuda" else "cuDNN" if library == "cudnn" else "CUDA"
        built = cuda_of(target.build.facts).get("version") if target.build else None
        return MissingCudaLibrary(
            on=target,
            file=subject.file,
            library=search.name,
            part=part,
            version=version,
            package=nvidia_package(library, version),
            built_with=built or "",
        )
    return MissingLibrary(
        on=target,
        file=subject.file,
        library=search.name,
        chain=" → ".join(by.chain()),
        searched=tuple(_searched(subject, path, why) for path, why in search.searched),
        for_other_machine=tuple(map(subject.shown, search.skipped)),
        broken=f"{subject.shown(search.broken[0])}: {search.broken[1].says}" if search.broken else "",
        usual_package=package_of(search.name),
    )


def _searched(subject: LibrarySubject, path: str, why: str) -> str:
    where = subject.shown(path)
    return where if why == "a default folder" else f"{where} ({why})"


def _versions(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """Findings about missing versions, one for each family such as GLIBC."""
    release = target.build.version if target.build is not None else None
    of_tensorflow = {name: symbol_version(name, release) for name in libraries_of(release)} if release else {}
    missing_versions = list(subject.closure.missing_versions(of_tensorflow))
    of_system: dict[str, MissingVersion] = {}
    for missing in missing_versions:
        known = SYSTEM_VERSION.fullmatch(missing.version)
        if known is None:
            yield OtherSymbolVersion(
                on=target,
                file=subject.file,
                provider=subject.shown(missing.provider),
                version=missing.version,
                requirer=subject.name_in_messages(missing.requirer),
                offers=tuple(missing.offers),
            )
        else:
            of_system.setdefault(known[1], missing)
    for family, missing in of_system.items():
        yield _too_old(subject, target, family, missing, missing_versions)

    for missing in list(subject.closure.unversioned())[:1]:
        yield OtherSymbolVersion(
            on=target,
            file=subject.file,
            provider=subject.shown(missing.provider),
            version=missing.version,
            requirer=subject.name_in_messages(missing.requirer),
            aborts=True,
        )


def _too_old(
    subject: LibrarySubject,
    target: Target,
    family: str,
    first: MissingVersion,
    missing_versions: list[MissingVersion],
) -> Finding:
    required = [
        m[2]
        for missing in missing_versions
        if (m := SYSTEM_VERSION.fullmatch(missing.version)) and m[1] == family
    ]
    offered = [m[2] for v in first.offers if (m := SYSTEM_VERSION.fullmatch(v)) and m[1] == family]
    system = subject.closure.system
    return SystemTooOld(
        on=target,
        file=subject.file,
        family=family,
        wanted=max(required, key=version_key),
        first=SYSTEM_VERSION.fullmatch(first.version)[2],  # type: ignore[index]
        actual=max(offered, key=version_key, default="none"),
        system=system.name if system else "the machine",
        provider=subject.shown(first.provider),
        requirer=subject.name_in_messages(first.requirer),
    )


def _declared(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    version = target.build.version if target.build is not None else None
    if version is None or not subject.requirements:
        return
    if not any(each.specifier.contains(version, prereleases=True) for each in subject.requirements):
        yield DeclaredForOther(on=target, file=subject.file, declares=subject.declares)


def layout_findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """A finding if the library may be built for a release with another memory layout of OpDefBuilder.

    It matters only if the target has everything else that the library needs.
    """
    origin = subject.origin
    if (
        target.build is None
        or subject.requirements
        or not any("OpDefBuilder" in name for name in origin.exporters)
    ):
        return
    larger = has_larger_builder(target.build.version)
    ends = [release for span in origin.spans for release in (span.first, span.last)]
    if any(has_larger_builder(release) is larger for release in ends):
        others = [release for release in ends if has_larger_builder(release) is not larger]
        if others:
            names = f"TensorFlow {min(others, key=version_key)}"
            yield UnknownLayout(on=target, file=subject.file, others=names)


def has_larger_builder(release: str) -> bool:
    """Whether `OpDefBuilder` has the larger layout of 2.7 and later, which no symbol shows."""
    return version_key(release) >= version_key("2.7")


def _twice(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    """Findings about libraries loaded from two places, and about a second TensorFlow."""
    paths_by_name: dict[str, list[str]] = {}
    for loaded in subject.closure.loaded:
        paths_by_name.setdefault(loaded.library.soname or loaded.name, []).append(loaded.path)
    for name, paths in paths_by_name.items():
        is_copy = FRAMEWORK_COPY.fullmatch(name) is not None
        if is_tensorflow(name) or is_copy:
            paths = [*paths, f"the one of {target.name}"]
        if len(paths) > 1:
            is_mixed = is_copy and target.build is not None and has_global_symbols(target.build.version)
            yield LoadedTwice(
                on=target, file=subject.file, library=name, paths=tuple(paths), is_mixed=is_mixed
            )


# The packages that usually contain a library.

PACKAGES = {  # library name without version: the software and its packages
    "libstdc++": "gcc's runtime (Debian: libstdc++6, RPM: libstdc++, conda: libstdcxx-ng)",
    "libgcc_s": "gcc's runtime (Debian: libgcc-s1, RPM: libgcc, conda: libgcc-ng)",
    "libgomp": "OpenMP of gcc (Debian: libgomp1, RPM: libgomp, conda: libgomp)",
    "libiomp5": "OpenMP of Intel (pip: intel-openmp, conda: intel-openmp)",
    "libz": "zlib (Debian: zlib1g, RPM: zlib)",
    "libssl": "OpenSSL of exactly this version (Debian: libssl3 for .so.3, libssl1.1 for .so.1.1)",
    "libcrypto": "OpenSSL of exactly this version (Debian: libssl3 for .so.3, libssl1.1 for .so.1.1)",
    "libcrypt": "libxcrypt (Debian: libcrypt1, RPM: libxcrypt; .so.1 also libxcrypt-compat)",
    "libcurl": "curl (Debian: libcurl4, RPM: libcurl)",
    "libnsl": "libnsl (RPM: libnsl for .so.1, libnsl2 for .so.2)",
    "libgflags": "gflags (Debian: libgflags2.2)",
    "libglog": "glog (Debian: libgoogle-glog0v5, libgoogle-glog0v6)",
    "libprotobuf": "protobuf of exactly this version",
    "libopenblas": "OpenBLAS (Debian: libopenblas0, conda: openblas)",
    "libmkl_rt": "Intel's MKL (pip: mkl)",
    "libmpi": "Open MPI (.so.40, .so.20) or MPICH (.so.12)",
    "libibverbs": "RDMA (Debian: libibverbs1)",
    "libnuma": "numactl (Debian: libnuma1, RPM: numactl-libs)",
    "libsentencepiece": "sentencepiece (Debian: libsentencepiece0)",
    "libGL": "Mesa (Debian: libgl1, RPM: mesa-libGL)",
    "libX11": "X (Debian: libx11-6, RPM: libX11)",
    "libsndfile": "libsndfile (Debian: libsndfile1)",
    "libavcodec": "FFmpeg of exactly this version",
    "libavformat": "FFmpeg of exactly this version",
    "libavutil": "FFmpeg of exactly this version",
    "libopencv_core": "OpenCV of exactly this version",
    "libarrow": "Arrow of exactly this version (pip: pyarrow)",
    "libtensorflow": "TensorFlow's C library, which the Python package does not contain",
    "libtensorflowlite": "TensorFlow Lite, built from source",
}
PYTHON = re.compile(r"libpython(\d\.\d+)m?\.so.*")
NVIDIA = {
    "cudart": "cuda-runtime",
    "cublas": "cublas",
    "cublasLt": "cublas",
    "cudnn": "cudnn",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "nccl": "nccl",
    "cupti": "cuda-cupti",
}
OWN_VERSIONS = {  # libraries with their own version numbers: {library: {its version: CUDA's}}
    "cufft": {"10": "11", "11": "12"},
    "curand": {"10": ""},
    "cusolver": {"10": "11", "11": ""},
    "cudnn": {"8": "", "9": ""},
    "nccl": {"2": ""},
}


def package_of(library: str) -> str:
    """The package that usually contains a library; empty if unknown."""
    if python := PYTHON.fullmatch(library):
        return f"Python {python[1]}, built as a shared library"
    return PACKAGES.get(library.partition(".so")[0], "")


def nvidia_package(library: str, version: str) -> str:
    """The Python package with a library of CUDA 11 or 12; empty if there is none."""
    major = version.partition(".")[0]
    cuda = OWN_VERSIONS.get(library, {}).get(major, "" if library in OWN_VERSIONS else major)
    if library not in NVIDIA or (cuda and cuda not in ("11", "12")):
        return ""
    return f"nvidia-{NVIDIA[library]}-cu{cuda}" if cuda else f"nvidia-{NVIDIA[library]}-cu12 or -cu11"
