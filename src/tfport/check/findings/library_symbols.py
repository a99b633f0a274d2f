"""Does a library find the symbols that it needs? Findings 42x."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.library_dependencies import REBUILD, shortened
from tfport.check.loader_stages import DLOPEN
from tfport.formats.elf.mangling import about_class, short_name


class SymbolFinding(Finding):
    """The base class of the findings about symbols."""

    file: str
    requirer: str
    """The library that needs them, as the loader names it."""
    missing: Sequence[str]
    """Mangled, in the order in which the loader resolves them."""
    version: str = ""
    """The symbol version that the first one has; empty if none."""

    @property
    def symbols(self) -> str:
        """`1 symbol`, `4 symbols`."""
        return f"{len(self.missing)} symbol{'s' if len(self.missing) != 1 else ''}"

    @property
    def names(self) -> str:
        """Some of them, demangled."""
        return shortened(list(dict.fromkeys(map(short_name, self.missing))))

    def says(self) -> str:
        version = f", version {self.version}" if self.version else ""
        return f"{self.requirer}: undefined symbol: {self.missing[0]}{version}"


@finding("TFP420", "other-tensorflow", noticed=DLOPEN)
class OtherTensorFlow(SymbolFinding):
    """{file}: needs {symbols} that {target} does not have

    ## Cause
    TensorFlow's C++ API is not stable between releases: functions gain and lose arguments, move
    between namespaces, and have Abseil's version in their names. A library loads in the releases
    that export every symbol it needs. Some names also depend on the C++ standard: code compiled as
    C++17 needs functions with a `std::string_view`, but releases compiled as C++14 have Abseil's.
    ## Fix
    Use one of those releases, or build it again against the release that loads it, with the flags
    of `tf.sysconfig.get_compile_flags()` and `get_link_flags()`.
    ## Example
        tfport lib tests/libraries/for_2_16_2/op.so --on tensorflow==2.21.0
    """

    built_for: str = ""
    """The releases that export everything that it needs."""
    hints: tuple[str, ...] = ()

    def cause(self) -> str:
        return "; ".join([self.names, *self.hints])

    def fixes(self) -> list[str]:
        use = [f"use TensorFlow {self.built_for}"] if self.built_for else []
        return [*use, REBUILD]


@finding("TFP421", "other-cxx-abi", noticed=DLOPEN)
class OtherCxxAbi(SymbolFinding):
    """{file}: compiled with _GLIBCXX_USE_CXX11_ABI={abi}, but {target} with {other}

    ## Cause
    libstdc++ has two implementations of strings and lists, and a function's mangled name shows
    which one it takes. Code compiled for one does not find the other's functions. The official
    x86-64 wheels use the old one (0) up to 2.8, except in 1.13 and 1.14 for Python 3.7, which use
    the new one (1), as do all wheels since 2.9.
    ## Fix
    Compile with the flags that the target's `tf.sysconfig.get_compile_flags()` returns, and use the
    same value for every library that you link in.
    ## Example
        tfport lib tests/libraries/old_abi/op.so --on tensorflow==2.21.0
    """

    abi: int

    @property
    def other(self) -> int:
        return 1 - self.abi

    def cause(self) -> str:
        return f"{self.symbols}: {self.names}"

    def fixes(self) -> list[str]:
        return [f"{REBUILD}, which set -D_GLIBCXX_USE_CXX11_ABI={self.other}"]


@finding("TFP422", "not-linked-to-tensorflow", noticed=DLOPEN)
class NotLinked(SymbolFinding):
    """{file}: not linked to TensorFlow, although it needs {symbols} from it

    ## Cause
    From 1.4 to 2.19, TensorFlow's libraries are loaded, but their symbols are not global: a library
    finds them only if it names `libtensorflow_framework` among the libraries it needs.
    `-ltensorflow_framework` is missing, or came before the source files on the command line, where
    `--as-needed` (the default on many systems) removes it.
    ## Fix
    Put the output of `python -c 'import tensorflow as tf;
    print(*tf.sysconfig.get_link_flags())'` at the end of the command.
    ## Example
        tfport lib tests/libraries/without_framework_of_2_13_1/op.so --on tensorflow==2.13.1
    """

    def cause(self) -> str:
        return self.names

    def fixes(self) -> list[str]:
        return ["link with tf.sysconfig.get_link_flags(), after the source files, or with -Wl,--no-as-needed"]


@finding("TFP423", "undefined-own-symbol", noticed=DLOPEN)
class UndefinedOwnSymbol(SymbolFinding):
    """{file}: needs {symbols} that are not defined anywhere

    ## Cause
    A symbol is declared and used, but nothing that was linked defines it: the source file with a
    `REGISTER_KERNEL_BUILDER`'s class was not compiled in, a template was not instantiated for a
    type, a `.cu` file is missing, or a virtual function has no body (then its vtable or typeinfo is
    missing). A shared library can be linked with such gaps, but not loaded.
    ## Fix
    Link the object that defines it. With `-Wl,--no-undefined` the linker reports it when
    the library is built.
    ## Example
        tfport lib tests/libraries/source_not_linked/op.so --on tensorflow==2.21.0
    """

    def cause(self) -> str:
        classes = sorted({kind for symbol in self.missing if (kind := about_class(symbol))})
        about = f"a {' or '.join(classes)} is missing where not all virtual functions are defined"
        return "; ".join([self.names, *([about] if classes else [])])

    def fixes(self) -> list[str]:
        return ["link the object file that defines them; -Wl,--no-undefined makes the linker report them"]


@finding("TFP429", "newer-tensorflow", noticed=DLOPEN)
class NewerTensorFlow(SymbolFinding):
    """{file}: needs {symbols} of TensorFlow that no recorded release has

    ## Cause
    The library was built for a TensorFlow that is newer than every recorded release, such as
    `tf-nightly`, or for a build that is not recorded. Abseil's version, which is part of the
    symbols' names, often shows which: each release has its own. Or, if the library has its own code
    in the namespace `tensorflow`, the object file that defines it may not have been linked in.
    ## Fix
    Use the TensorFlow that it was built for, or build it again against the one that loads it. For
    the library's own code, link the object file; with `-Wl,--no-undefined`, the linker reports what
    is missing.
    ## Example
        tfport lib tests/libraries/newer_abseil/op.so --on tensorflow==2.21.0
    """

    newest: str
    """The newest recorded release."""
    abseil: str = ""
    """The version of Abseil that it was compiled with."""
    abseil_releases: str = ""
    """The recorded releases with that version."""

    def cause(self) -> str:
        newer = f"built for a TensorFlow newer than {self.newest}"
        if self.abseil and not self.abseil_releases:
            return f"{self.names}; {newer}: no recorded release has Abseil lts_{self.abseil}"
        classes = sorted({kind for symbol in self.missing if (kind := about_class(symbol))})
        own = f", or the object file that defines {'the class' if classes else 'them'} was not linked"
        abseil = (
            f"; Abseil lts_{self.abseil} belongs to TensorFlow {self.abseil_releases}" if self.abseil else ""
        )
        return f"{self.names}; {newer} or for another build{own}{abseil}"

    def fixes(self) -> list[str]:
        return ["use the TensorFlow that it was built for", REBUILD]


@finding("TFP424", "undefined-foreign-symbol", noticed=DLOPEN)
class UndefinedForeignSymbol(SymbolFinding):
    """{file}: needs {symbols} that none of its libraries has

    ## Cause
    The missing symbols are C functions, and TensorFlow does not define them. Either they belong to
    another library, which was not named when linking or is installed in a different release; or
    they are this library's own, but their object file was not linked in.
    ## Fix
    Link the library that defines them (`-lz`, `-lcudart`, …), or install the release that does.
    ## Example
        tfport lib tests/libraries/undefined_function/op.so --on tensorflow==2.21.0
    """

    def cause(self) -> str:
        return self.names

    def fixes(self) -> list[str]:
        return ["link the library or the object file that defines them"]


@finding("TFP427", "not-in-framework", noticed=DLOPEN)
class NotInFramework(SymbolFinding):
    """{file}: needs {symbols} that {target} has, but not in `libtensorflow_framework`

    ## Cause
    From 1.4 to 2.19, a library sees only those TensorFlow libraries that it names, and the flags of
    `tf.sysconfig` name `libtensorflow_framework`: the core, without the kernels, readers and
    (before 2.5) the C API. The rest is in another library in the process, whose symbols are not
    global.
    ## Fix
    Avoid those functions: copy what you need from TensorFlow's source, for example the functors of
    kernels. Or link to the other library too, or make Python load it with global symbols before
    TensorFlow is imported: `sys.setdlopenflags(os.RTLD_GLOBAL | os.RTLD_NOW)`.
    ## Example
        tfport lib tests/libraries/c_api_of_2_4_4/op.so --on tensorflow==2.4.4
    """

    library: str
    """The library that has them."""

    def cause(self) -> str:
        return f"{self.names}: in {self.library}"

    def fixes(self) -> list[str]:
        return [f"link to {self.library} too, or call sys.setdlopenflags before importing TensorFlow"]


@finding("TFP426", "unrecorded-symbols", noticed=DLOPEN)
class UnrecordedSymbols(Finding):
    """{file}: the symbols of {target} are not recorded{machine}

    ## Cause
    tfport has recorded the symbols of the official x86-64 wheels, and of the ARM64 wheels since
    2.10, but not those of other builds.
    ## Fix
    Check against a recorded release; `tfport targets` lists them.
    ## Example
        cp tests/libraries/good/op.so arm.so
        printf '\\xb7' | dd of=arm.so bs=1 seek=18 conv=notrunc status=none
        tfport lib ./arm.so --on tensorflow==2.8.4
    """

    decides = False
    file: str
    machine: str = ""
