"""Does a library find the libraries that it needs, in the right versions? Findings 41x, 425, 428 and 438."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.check.findings.finding import ERROR, WARNING, Finding, finding
from tfport.check.loader_stages import DLOPEN, DLOPEN_IGNORES

NO_FILE = "cannot open shared object file: No such file or directory"
REBUILD = "compile it again against the TensorFlow that loads it, with `tf.sysconfig.get_compile_flags()`"
ASSERTION = (
    "Inconsistency detected by ld.so: dl-lookup.c: 107: check_match: Assertion `version->filename == NULL || "
    "! _dl_name_match_p (version->filename, map)' failed!"
)
"""The text of glibc 2.36."""
MOST_SHOWN = 4


def shortened(names: Sequence[str], most: int = MOST_SHOWN) -> str:
    """`a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@finding("TFP410", "missing-library", noticed=DLOPEN)
class MissingLibrary(Finding):
    """{file}: `{library}`, which {chain} needs, is not found

    ## Cause
    A library names the libraries that it needs, and the dynamic loader searches for each: in the
    RPATH of the libraries that need it, in LD_LIBRARY_PATH, in the RUNPATH of the library that
    names it, in the cache that `ldconfig` writes, and in the system folders. `$ORIGIN` is the
    folder of the library that has the RUNPATH. A RUNPATH, unlike an RPATH, does not apply to the
    libraries that those need in turn.
    ## Fix
    Install the package that has it, or add its folder with `-Wl,-rpath,'$ORIGIN/…'` when you link,
    or in LD_LIBRARY_PATH when you run. To try a folder, use `tfport lib --library-path FOLDER`.
    ## Example
        tfport lib tests/libraries/needed_missing/op.so --on tensorflow==2.21.0 --sysroot /
    """

    file: str
    library: str
    chain: str
    searched: tuple[str, ...] = ()
    for_other_machine: tuple[str, ...] = ()
    broken: str = ""
    """The loader's error for a file of that name which it cannot load."""
    usual_package: str = ""

    def cause(self) -> str:
        other = [f"{path} is for another machine" for path in self.for_other_machine]
        other += [f"a file of that name is not a library: {self.broken}"] if self.broken else []
        places = [f"searched {shortened(self.searched, 6)}"] if self.searched else []
        return "; ".join([*other, *places])

    def says(self) -> str:
        return self.broken or f"{self.library}: {NO_FILE}"

    def fixes(self) -> list[str]:
        package = [f"it usually comes with {self.usual_package}"] if self.usual_package else []
        return [*package, "add its folder to LD_LIBRARY_PATH, or link with -Wl,-rpath"]


@finding("TFP411", "missing-cuda-library", noticed=DLOPEN)
class MissingCudaLibrary(Finding):
    """{file}: `{library}` from {part} {version} was not found

    ## Cause
    The library was linked to a particular CUDA release, and the names of CUDA libraries contain
    release numbers: CUDA 11 does not satisfy a library linked to CUDA 12. TensorFlow itself opens
    CUDA later, and only if it is available; a library linked to CUDA does not load without it.
    ## Fix
    Install that CUDA next to the other one (the `nvidia-…-cu11` and `-cu12` packages install it in
    a Python environment), or build the library with the target's CUDA.
    ## Example
        tfport lib tests/libraries/needed_of_other_cuda/op.so --on tensorflow==2.21.0 \\
            --sysroot /
    """

    file: str
    library: str
    part: str
    version: str
    package: str = ""
    built_with: str = ""

    def cause(self) -> str:
        return f"{self.target} was built with CUDA {self.built_with}" if self.built_with else ""

    def says(self) -> str:
        return f"{self.library}: {NO_FILE}"

    def fixes(self) -> list[str]:
        install = [f"pip install {self.package}, and add its lib folder to LD_LIBRARY_PATH"]
        return [*(install if self.package else []), "build it with the CUDA of the machine that loads it"]


@finding("TFP412", "missing-tensorflow-library", noticed=DLOPEN)
class MissingTensorFlowLibrary(Finding):
    """{file}: `{library}` is not a library of {target}

    ## Cause
    The number at the end of `libtensorflow_framework.so` identifies TensorFlow's series: none until
    1.13, `.1` in 1.14 and 1.15, `.2` since 2.0. A library that was linked to one series does not
    load in another.
    ## Fix
    Build it again against the release that loads it. A symbolic link with the other name satisfies
    the loader, but then symbols are missing.
    ## Example
        tfport lib tests/libraries/for_1_15_5/op.so --on tensorflow==2.21.0
    """

    file: str
    library: str
    released: str
    has: tuple[str, ...] = ()

    def cause(self) -> str:
        present = f"{self.target} has {shortened(self.has, 3)}" if self.has else ""
        known = f"TensorFlow has it {self.released}" if self.released else "no recorded release has it"
        return "; ".join(filter(None, [known, present]))

    def says(self) -> str:
        return f"{self.library}: {NO_FILE}"

    def fixes(self) -> list[str]:
        return [REBUILD]


@finding("TFP413", "system-too-old", noticed=DLOPEN)
class SystemTooOld(Finding):
    """{file}: needs {family} {wanted}, but {system} has {actual}

    ## Cause
    A library compiled on a newer system uses functions from its C or C++ library that an older one
    does not have. GLIBC belongs to the system; GLIBCXX and CXXABI belong to `libstdc++`, and conda
    or a compiler may install another copy.
    ## Fix
    Build it on a system as old as the oldest that must load it: manylinux images are made
    for that. Or load it in a newer image.
    ## Example
        tfport lib tests/libraries/glibc_too_old/op.so --on tensorflow==2.21.0 --sysroot /
    """

    file: str
    family: str
    wanted: str
    first: str
    """The first version that the loader does not find."""
    actual: str
    system: str
    provider: str
    requirer: str

    def says(self) -> str:
        version = f"{self.family}_{self.first}"
        return f"{self.provider}: version `{version}' not found (required by {self.requirer})"

    def fixes(self) -> list[str]:
        return [f"build it where {self.family} is at most {self.actual or 'that of the target'}"]


@finding("TFP414", "other-symbol-version", noticed=DLOPEN)
class OtherSymbolVersion(Finding):
    """{file}: `{provider}` has no version `{version}`, which {requirer} was linked to

    ## Cause
    Some libraries version their symbols. The loader finds a different release of the library than
    the one used for linking.
    ## Fix
    Install the release that it was linked to, or build it again with the installed one.
    ## Example
        tfport lib tests/libraries/needed_without_version/op.so --on tensorflow==2.21.0 \\
            --sysroot /
    """

    file: str
    provider: str
    version: str
    requirer: str
    offers: tuple[str, ...] = ()
    aborts: bool = False
    """Whether it has the symbols without any version, so that the loader aborts."""

    def cause(self) -> str:
        if self.aborts:
            return "it has the symbols, but without versions; the loader aborts the process"
        return f"it has {shortened(sorted(self.offers))}" if self.offers else ""

    def says(self) -> str:
        if self.aborts:
            return ASSERTION
        return f"{self.provider}: version `{self.version}' not found (required by {self.requirer})"


@finding("TFP415", "library-loaded-twice", WARNING, noticed=DLOPEN_IGNORES)
class LoadedTwice(Finding):
    """{file}: `{library}` would be loaded from two places

    ## Cause
    The same library is found under two paths or two names, so the process has two copies, each with
    its own globals: what is registered in one is unknown to the other. Since 2.20, TensorFlow's
    symbols are global, so a copy of its framework library in a wheel gets mixed up with it and may
    crash the process; the verdict is then `unknown`.
    ## Fix
    Delete one of the copies, or set RPATH or LD_LIBRARY_PATH so that only one is found.
    ## Example
        cp -r tests/libraries/needed_inner_by_rpath acme
        cp acme/deps/libacme.so.1 acme/deps/libacme_inner.so.1
        tfport lib acme/op.so --on tensorflow==2.21.0
    """

    decides = False
    file: str
    library: str
    paths: tuple[str, ...]
    is_mixed: bool = False
    """Whether it is a copy of TensorFlow that uses the symbols of the first one."""

    @property
    def severity(self) -> str:
        return ERROR if self.is_mixed else WARNING

    def cause(self) -> str:
        mixed = ["the symbols of TensorFlow are global, so both are mixed"] if self.is_mixed else []
        return "; ".join([" and ".join(self.paths), *mixed])


@finding("TFP425", "unknown-machine", noticed=DLOPEN)
class UnknownMachine(Finding):
    """{file}: needs {libraries}, and the libraries on the machine of {target} are unknown

    ## Cause
    The library needs more than TensorFlow and the usual system libraries. This machine has a
    different processor, and you gave no image of the machine that will load the library.
    ## Fix
    Pass the root of an unpacked image with `--sysroot`, and more folders with `--library-path`.
    ## Example
        cp tests/libraries/needed_missing/op.so arm.so
        printf '\\xb7' | dd of=arm.so bs=1 seek=18 conv=notrunc status=none
        tfport lib ./arm.so --on tensorflow==2.21.0
    """

    decides = False
    file: str
    needs: Sequence[str] = ()

    @property
    def libraries(self) -> str:
        return shortened(self.needs)

    def fixes(self) -> list[str]:
        return ["pass the image that will load it with --sysroot FOLDER"]


@finding("TFP428", "declared-for-other-release", WARNING, noticed=DLOPEN_IGNORES)
class DeclaredForOther(Finding):
    """{file}: its package requires {declares}, which {target} is not

    ## Cause
    All symbols may exist while the classes behind them have a different memory layout. Then the
    library loads, but the process crashes when the library registers its ops or runs one. The
    package declares which release it was built for.
    ## Fix
    Use the release that the package requires, or the version of the package for this one.
    ## Example
        mkdir acme acme-1.dist-info
        cp tests/libraries/for_2_16_2/op.so acme
        echo 'Requires-Dist: tensorflow<2.17' > acme-1.dist-info/METADATA
        python -m zipfile -c acme-1-py3-none-any.whl acme acme-1.dist-info
        tfport lib acme-1-py3-none-any.whl --on tensorflow==2.17.1
    """

    file: str
    declares: str


@finding("TFP438", "unknown-layout", noticed=DLOPEN)
class UnknownLayout(Finding):
    """{file}: it is unknown whether it was built for {target} or for {others}

    ## Cause
    Both have all its symbols, but the class that registers ops (`OpDefBuilder`) has a different
    size in each: a library built for one crashes the other when it registers its ops. This was
    recorded from real binaries of 2.6 and 2.7, so the verdict is `unknown`.
    ## Fix
    Compile it against the TensorFlow that loads it; for a package, see which release it
    requires.
    ## Example
        tfport lib tests/libraries/for_2_8_4/op.so --on tensorflow==2.8.4
    """

    decides = False
    file: str
    others: str

    def cause(self) -> str:
        return "both have all its symbols, but the class that registers ops has a different size in each"

    def fixes(self) -> list[str]:
        return [REBUILD]
