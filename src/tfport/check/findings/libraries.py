"""Does a library find what it needs: other libraries, their versions, symbols? Findings 41x and 42x."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.formats.elf.mangling import about_class, short_name

NO_FILE = "cannot open shared object file: No such file or directory"
REBUILD = "compile it again against the TensorFlow that loads it, with `tf.sysconfig.get_compile_flags()`"
ASSERTION = (
    "Inconsistency detected by ld.so: dl-lookup.c: 107: check_match: Assertion `version->filename == NULL || "
    "! _dl_name_match_p (version->filename, map)' failed!"
)
"""As glibc 2.36 says it."""
MOST_SHOWN = 4


def listed(names: Sequence[str], most: int = MOST_SHOWN) -> str:
    """`a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@finding("TFP410", "missing-library")
class MissingLibrary(Finding):
    """{file}: `{library}` is not found, which {chain} needs

    ## Cause
    A library names the libraries that it needs, and the loader looks for each: in the
    RPATH of those that need it, in LD_LIBRARY_PATH, in its RUNPATH, in the cache that
    `ldconfig` writes, and in the folders of the system. `$ORIGIN` stands for the folder
    of the library that has the RUNPATH. A RUNPATH, unlike an RPATH, does not count for
    what those libraries need in turn.
    ## Fix
    Install the package that has it; or add its folder with `-Wl,-rpath,'$ORIGIN/…'` when
    linking, or in LD_LIBRARY_PATH when running. `tfport lib --library-path FOLDER` tries.
    """

    file: str
    library: str
    chain: str
    looked: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    broken: str = ""
    """What the loader says of a file of that name which it cannot load."""
    brought_by: str = ""

    def cause(self) -> str:
        other = [f"{path} is for another machine" for path in self.passed_over]
        other += [f"the file of that name is none: {self.broken}"] if self.broken else []
        places = [f"looked in {listed(self.looked, 6)}"] if self.looked else []
        return "; ".join([*other, *places])

    def says(self) -> str:
        return self.broken or f"{self.library}: {NO_FILE}"

    def fixes(self) -> list[str]:
        package = [f"it usually comes with {self.brought_by}"] if self.brought_by else []
        return [*package, "name its folder in LD_LIBRARY_PATH, or link with -Wl,-rpath"]


@finding("TFP411", "missing-cuda-library")
class MissingCudaLibrary(Finding):
    """{file}: `{library}` is not found, of {part} {version}

    ## Cause
    The library was linked to one release of CUDA, and the number in the name of each of
    its libraries is that release's own: CUDA 11 does not satisfy what was linked to
    CUDA 12. TensorFlow itself opens CUDA later and only if it is there; a library that
    was linked to it does not load without.
    ## Fix
    Install that CUDA beside the other (the `nvidia-…-cu11` and `-cu12` packages bring it
    to a Python environment), or build the library with the CUDA of the target.
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
        install = [f"pip install {self.package}, and name its lib folder in LD_LIBRARY_PATH"]
        return [*(install if self.package else []), "build it with the CUDA of the machine that loads it"]


@finding("TFP412", "missing-tensorflow-library")
class MissingTensorFlowLibrary(Finding):
    """{file}: `{library}` is not a library of {target}

    ## Cause
    The number at the end of `libtensorflow_framework.so` is that of TensorFlow's series:
    none until 1.13, `.1` in 1.14 and 1.15, `.2` since 2.0. A library that was linked to
    one is not for the other.
    ## Fix
    Build it again against the release that loads it. A link to the file under the other
    name lets the loader pass, and the symbols fail next.
    """

    file: str
    library: str
    released: str
    has: tuple[str, ...] = ()

    def cause(self) -> str:
        own = f"{self.target} has {listed(self.has, 3)}" if self.has else ""
        known = f"TensorFlow has it {self.released}" if self.released else "no recorded release has it"
        return "; ".join(filter(None, [known, own]))

    def says(self) -> str:
        return f"{self.library}: {NO_FILE}"

    def fixes(self) -> list[str]:
        return [REBUILD]


@finding("TFP413", "system-too-old")
class SystemTooOld(Finding):
    """{file}: needs {family} {wanted}, and {system} has {found}

    ## Cause
    A library that was compiled on a newer system uses functions of its C or C++ library
    that an older one has not. GLIBC belongs to the system; GLIBCXX and CXXABI are of
    `libstdc++`, and conda or a compiler may bring another.
    ## Fix
    Build it on a system as old as the oldest that must load it: a manylinux image is made
    for that. Or load it in a newer image.
    """

    file: str
    family: str
    wanted: str
    first: str
    """Of all that it needs, the first that the loader does not find."""
    found: str
    system: str
    provider: str
    requirer: str

    def says(self) -> str:
        version = f"{self.family}_{self.first}"
        return f"{self.provider}: version `{version}' not found (required by {self.requirer})"

    def fixes(self) -> list[str]:
        return [f"build it where {self.family} is at most {self.found or 'the one of the target'}"]


@finding("TFP414", "other-symbol-version")
class OtherSymbolVersion(Finding):
    """{file}: `{provider}` has no version `{version}`, which {requirer} was linked to

    ## Cause
    Some libraries give their symbols versions. The one that is found is of another
    release than the one that was there when this was linked.
    ## Fix
    Install the release that it was linked to, or build it again with the one that is there.
    """

    file: str
    provider: str
    version: str
    requirer: str
    offers: tuple[str, ...] = ()
    gives_up: bool = False
    """Whether it has the symbols without any version, on which the loader ends the process."""

    def cause(self) -> str:
        if self.gives_up:
            return "it has the symbols, but none has a version; the process is ended"
        return f"it has {listed(sorted(self.offers))}" if self.offers else ""

    def says(self) -> str:
        if self.gives_up:
            return ASSERTION
        return f"{self.provider}: version `{self.version}' not found (required by {self.requirer})"


@finding("TFP415", "library-loaded-twice", WARNING)
class LoadedTwice(Finding):
    """{file}: `{library}` would be loaded from two places

    ## Cause
    The same library is found under two paths or two names, so it is in the process twice,
    each with its own globals: what is registered in one is not known to the other.
    ## Fix
    Let both find the same file: one RPATH, one LD_LIBRARY_PATH, no copy beside it.
    """

    file: str
    library: str
    paths: tuple[str, ...]

    def cause(self) -> str:
        return " and ".join(self.paths)


class SymbolFinding(Finding):
    """What all findings about symbols tell."""

    file: str
    requirer: str
    """The library that needs them, as the loader names it."""
    missing: Sequence[str]
    """Mangled, in the order in which the loader looks for them."""

    @property
    def symbols(self) -> str:
        """`1 symbol`, `4 symbols`."""
        return f"{len(self.missing)} symbol{'s' if len(self.missing) != 1 else ''}"

    @property
    def names(self) -> str:
        """Some of them, as they stand in C++."""
        return listed(list(dict.fromkeys(map(short_name, self.missing))))

    def says(self) -> str:
        return f"{self.requirer}: undefined symbol: {self.missing[0]}"


@finding("TFP420", "other-tensorflow")
class OtherTensorFlow(SymbolFinding):
    """{file}: needs {symbols} that {target} has not

    ## Cause
    TensorFlow promises nothing about its C++ from one release to the next: functions get
    and lose arguments, move between namespaces, and carry the date of Abseil in their
    names. A library goes with the releases that export every symbol that it needs. Some
    names tell the C++ standard, too: what was compiled as C++17 asks for functions that
    take a `std::string_view`, where releases compiled as C++14 have one of Abseil's.
    ## Fix
    Use one of those releases; or build it again against the one that loads it, with the
    flags of `tf.sysconfig.get_compile_flags()` and `get_link_flags()`.
    """

    built_for: str = ""
    """The releases that export everything that it needs."""
    evidence: tuple[str, ...] = ()

    def cause(self) -> str:
        return "; ".join([self.names, *self.evidence])

    def fixes(self) -> list[str]:
        use = [f"use TensorFlow {self.built_for}"] if self.built_for else []
        return [*use, REBUILD]


@finding("TFP421", "other-cxx-abi")
class OtherCxxAbi(SymbolFinding):
    """{file}: compiled with _GLIBCXX_USE_CXX11_ABI={abi}, and {target} with {other}

    ## Cause
    C++ has two classes of strings and lists, and which one a function takes is part of
    its name. What was compiled for the one does not find the functions of the other. The
    official wheels for x86-64 have the old one (0) up to 2.8, but the new one (1) in 1.13
    and 1.14 for Python 3.7, and the new one since 2.9.
    ## Fix
    Compile with what `tf.sysconfig.get_compile_flags()` of the target gives; give the
    same value to every library that is linked in, too.
    """

    abi: int

    @property
    def other(self) -> int:
        return 1 - self.abi

    def cause(self) -> str:
        return f"{self.symbols}: {self.names}"

    def fixes(self) -> list[str]:
        return [f"{REBUILD}, which set -D_GLIBCXX_USE_CXX11_ABI={self.other}"]


@finding("TFP422", "not-linked-to-tensorflow")
class NotLinked(SymbolFinding):
    """{file}: not linked to TensorFlow, of which it needs {symbols}

    ## Cause
    From 1.4 to 2.19 TensorFlow's libraries are in the process, but not for all to see: a
    library finds their symbols only if it names `libtensorflow_framework` among those
    that it needs. `-ltensorflow_framework` was forgotten, or stood before the source
    files on the command line, where `--as-needed` (the default of many systems) drops it
    again.
    ## Fix
    Put the output of `python -c 'import tensorflow as tf;
    print(*tf.sysconfig.get_link_flags())'` at the end of the command.
    """

    def cause(self) -> str:
        return self.names

    def fixes(self) -> list[str]:
        return ["link with tf.sysconfig.get_link_flags(), after the source files, or with -Wl,--no-as-needed"]


@finding("TFP423", "undefined-own-symbol")
class UndefinedOwnSymbol(SymbolFinding):
    """{file}: needs {symbols} that nothing defines

    ## Cause
    Something is declared and used, and nothing that was linked defines it: the source
    file with the class of a `REGISTER_KERNEL_BUILDER` was not compiled in, a template was
    not instantiated for a type, a `.cu` file was left out, a virtual function has no body
    (then its vtable or typeinfo is missing). A shared library may be linked with such
    gaps; it cannot be loaded.
    ## Fix
    Link the object that defines it. `-Wl,--no-undefined` lets the linker say so when the
    library is built.
    """

    def cause(self) -> str:
        classes = sorted({kind for symbol in self.missing if (kind := about_class(symbol))})
        about = f"a {' or '.join(classes)} is missing where not all virtual functions are defined"
        return "; ".join([self.names, *([about] if classes else [])])

    def fixes(self) -> list[str]:
        return ["link the object file that defines them, and -Wl,--no-undefined to be told"]


@finding("TFP424", "undefined-foreign-symbol")
class UndefinedForeignSymbol(SymbolFinding):
    """{file}: needs {symbols} that none of its libraries has

    ## Cause
    A function of C that is not TensorFlow's: of a library that was not named when
    linking, or that is there in another release than the one that was linked to; or one
    of its own that was not linked in.
    ## Fix
    Link the library that has them (`-lz`, `-lcudart`, …), or install the release that does.
    """

    def cause(self) -> str:
        return self.names

    def fixes(self) -> list[str]:
        return ["link the library or the object file that defines them"]


@finding("TFP427", "not-in-framework")
class NotInFramework(SymbolFinding):
    """{file}: needs {symbols} that {target} has, but not in `libtensorflow_framework`

    ## Cause
    From 1.4 to 2.19 a library sees only those of TensorFlow's libraries that it names,
    and the flags of `tf.sysconfig` name `libtensorflow_framework`: the core, without the
    kernels, readers and (before 2.5) the C API. The rest is in the process, in another
    library that is not in sight.
    ## Fix
    Do without those functions: copy what is needed from TensorFlow's source, as for the
    functors of kernels. Or link to the other library too, or let Python load it for all
    to see before TensorFlow is imported: `sys.setdlopenflags(os.RTLD_GLOBAL |
    os.RTLD_NOW)`.
    """

    library: str
    """The one that has them."""

    def cause(self) -> str:
        return f"{self.names}: in {self.library}"

    def fixes(self) -> list[str]:
        return [f"link to {self.library} too, or call sys.setdlopenflags before importing TensorFlow"]


@finding("TFP428", "declared-for-other-release", WARNING)
class DeclaredForOther(Finding):
    """{file}: its package asks for {declares}, which {target} is not

    ## Cause
    All symbols may be there and the classes behind them be laid out differently: then a
    library loads, and the process ends when it registers its ops or runs one. Those who
    built the package said which release they built it for.
    ## Fix
    Use the release that the package asks for, or the version of the package for this one.
    """

    file: str
    declares: str


@finding("TFP438", "unknown-layout")
class UnknownLayout(Finding):
    """{file}: nothing in it tells whether it was built for {target} or for {others}

    ## Cause
    All its symbols are in both, but the class that registers ops (`OpDefBuilder`) has another
    size: built for the one, a library ends the process of the other when it registers its
    ops. Seen on real binaries between 2.6 and 2.7. So the verdict is `unknown`.
    ## Fix
    Compile it against the TensorFlow that loads it; for a package, see which release it asks
    for.
    """

    decides = False
    file: str
    others: str


@finding("TFP425", "unknown-machine")
class UnknownMachine(Finding):
    """{file}: needs {libraries}, and what the machine of {target} has is not known

    ## Cause
    The library needs others than TensorFlow and the usual ones of a system. This machine
    is another, and no image of the one that will load it was given.
    ## Fix
    Give the root of an unpacked image with `--sysroot`, and further folders with
    `--library-path`.
    """

    decides = False
    file: str
    needs: Sequence[str] = ()

    @property
    def libraries(self) -> str:
        return listed(self.needs)

    def fixes(self) -> list[str]:
        return ["give the image that will load it with --sysroot FOLDER"]


@finding("TFP426", "unrecorded-symbols")
class UnrecordedSymbols(Finding):
    """{file}: which symbols {target} exports is not recorded{machine}

    ## Cause
    The symbols of the official wheels for x86-64, and of those for ARM64 since 2.10, are
    recorded. Of other builds nobody knows without asking them.
    ## Fix
    Ask about a recorded release; `tfport targets` lists them.
    """

    decides = False
    file: str
    machine: str = ""
