"""Is the file a library that the machine can load? Findings 40x."""

from __future__ import annotations

from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.check.loader_stages import DLOPEN, DLOPEN_IGNORES


@finding("TFP401", "no-shared-library", noticed=DLOPEN)
class NotALibrary(Finding):
    """{file}: {what}

    ## Cause
    The file is named like a library but is something else: a Git LFS pointer, a web page
    from a failed download, a linker script, a static library, a library for Windows or
    macOS, or empty.
    ## Fix
    Fetch or build the shared library itself: `file my_op.so` should print "ELF 64-bit LSB
    shared object". For Linux build it with `g++ -shared -fPIC`.
    ## Example
        tfport lib tests/libraries/lfs_pointer/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str
    instead: str = ""

    def says(self) -> str:
        return f"{self.file}: {self.loader_error}"

    def fixes(self) -> list[str]:
        return [self.instead] if self.instead else []


@finding("TFP402", "cut-library", noticed=DLOPEN)
class TruncatedLibrary(Finding):
    """{file}: {what}

    ## Cause
    The file is shorter than its header says, because of an incomplete copy or download, a full
    disk, or a build that was still writing. The loader maps the missing part, and the system kills
    the process (`Bus error`) when something reads it; if the headers are incomplete, the loader
    reports an error.
    ## Fix
    Copy, download or build it again, and compare its size or checksum with the original.
    ## Example
        tfport lib tests/libraries/cut_in_middle/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str

    def says(self) -> str:
        return (
            self.loader_error
            if self.loader_error.startswith("Bus error")
            else f"{self.file}: {self.loader_error}"
        )

    def fixes(self) -> list[str]:
        return ["copy or build it again"]


@finding("TFP403", "wrong-machine", noticed=DLOPEN)
class WrongMachine(Finding):
    """{file}: {what}

    ## Cause
    The library was built for another processor, address width or operating system. For
    another processor, the loader's message is misleading: it skips the file, and reports "No such
    file or directory" although the file exists.
    ## Fix
    Build it on the machine that loads it, or install the wheel for that machine. In a
    container, check that the image is for the same platform as the library (`docker run
    --platform`).
    ## Example
        tfport lib tests/libraries/bits_32/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str

    def says(self) -> str:
        return f"{self.file}: {self.loader_error}"

    def fixes(self) -> list[str]:
        return ["build it for the machine that loads it, or use the wheel for that machine"]


@finding("TFP404", "program-not-library", noticed=DLOPEN)
class ProgramNotLibrary(Finding):
    """{file}: {what}, not a shared library

    ## Cause
    It was linked without `-shared`, or not linked at all: a program or an object file can
    have any name, but `dlopen` loads only shared libraries.
    ## Fix
    Build it with `g++ -shared -fPIC my_op.cc -o my_op.so` and the flags of `tf.sysconfig`.
    ## Example
        tfport lib tests/libraries/executable/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str
    instead: str = ""

    def says(self) -> str:
        return f"{self.file}: {self.loader_error}"

    def fixes(self) -> list[str]:
        return [self.instead] if self.instead else []


@finding("TFP405", "library-not-opened", noticed=DLOPEN)
class LibraryNotOpened(Finding):
    """{file}: {what}

    ## Cause
    The file does not exist, or the process may not read it. A relative path starts at the process's
    working directory, not at the Python file that names it; a name without a `/` is looked up in
    the library path instead.
    ## Fix
    Build the path from the module's own path:
    `os.path.join(os.path.dirname(__file__), "my_op.so")`.
    ## Example
        tfport lib tests/libraries/nothing/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str
    hint: str = ""

    def cause(self) -> str:
        return self.hint

    def says(self) -> str:
        return f"{self.file}: {self.loader_error}"

    def fixes(self) -> list[str]:
        if self.loader_error.endswith("Permission denied"):
            return [f"chmod a+r {self.file}"]
        return ["give the full path, such as one made with os.path.dirname(__file__)"]


@finding("TFP406", "damaged-library", noticed=DLOPEN)
class DamagedLibrary(Finding):
    """{file}: damaged: {what}

    ## Cause
    Its header or its tables are inconsistent. The loader reports an error, or the process crashes
    while it reads them.
    ## Fix
    Copy or build it again. Tools that rewrite libraries (strip, patchelf, a packer) can
    cause this.
    ## Example
        tfport lib tests/libraries/zeros_from_middle/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str = ""

    def says(self) -> str | None:
        if self.loader_error.startswith("Segmentation fault"):
            return self.loader_error
        return f"{self.file}: {self.loader_error}" if self.loader_error else None

    def fixes(self) -> list[str]:
        return ["copy or build it again"]


@finding("TFP408", "not-for-dlopen", noticed=DLOPEN)
class NotForDlopen(Finding):
    """{file}: {what}

    ## Cause
    Some libraries can be loaded only at program start: those linked with `-z nodlopen`, and those
    whose thread-local variables need static memory, because glibc reserves little of it for
    libraries that are loaded later.
    ## Fix
    Compile without `-ftls-model=initial-exec`, link without `-z nodlopen`; or load it at
    program start with LD_PRELOAD.
    ## Example
        tfport lib tests/libraries/static_tls/op.so --on tensorflow==2.21.0
    """

    file: str
    what: str
    loader_error: str
    instead: str

    def says(self) -> str:
        return f"{self.file}: {self.loader_error}"

    def fixes(self) -> list[str]:
        return [self.instead, "load it at program start with LD_PRELOAD"]


@finding("TFP407", "bare-library-name", WARNING, noticed=DLOPEN_IGNORES)
class BareName(Finding):
    """`{file}` without a `/` is looked up in the library path, not in the working directory

    ## Cause
    `dlopen`, which `tf.load_op_library` calls, looks for a name without a `/` in LD_LIBRARY_PATH
    and the system folders, never in the working directory.
    ## Fix
    Write `./my_op.so` or, better, the full path.
    ## Example
        cd tests/libraries/good
        tfport lib op.so --on tensorflow==2.21.0
    """

    file: str

    def says(self) -> str:
        return f"{self.file}: cannot open shared object file: No such file or directory"

    def fixes(self) -> list[str]:
        return [f"tf.load_op_library('./{self.file}')"]
