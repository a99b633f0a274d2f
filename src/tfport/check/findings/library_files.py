"""Is the file a library that the machine can load? Findings 40x."""

from __future__ import annotations

from tfport.check.findings.finding import WARNING, Finding, finding


@finding("TFP401", "no-shared-library")
class NoSharedLibrary(Finding):
    """{file}: {what}

    ## Cause
    The file has the name of a library and is something else: a pointer that Git LFS left,
    a web page that a download gave, a linker script, a static library, a library for
    Windows or macOS, or nothing at all.
    ## Fix
    Fetch or build the shared library itself: `file my_op.so` should say "ELF 64-bit LSB
    shared object". For Linux it is made with `g++ -shared -fPIC`.
    """

    file: str
    what: str
    said: str
    instead: str = ""

    def says(self) -> str:
        return f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        return [self.instead] if self.instead else []


@finding("TFP402", "cut-library")
class CutLibrary(Finding):
    """{file}: {what}

    ## Cause
    The file ends before what its header speaks of: a copy or download that broke off, a
    full disk, or a build that was still writing. The loader maps what is not there, and
    the process is ended by the system (`Bus error`) when it touches that; where not even
    the headers are whole, it says so.
    ## Fix
    Copy, download or build it again, and compare its size or checksum with the original.
    """

    file: str
    what: str
    said: str

    def says(self) -> str:
        return self.said if self.said.startswith("Bus error") else f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        return ["copy or build it again"]


@finding("TFP403", "wrong-machine")
class WrongMachine(Finding):
    """{file}: {what}

    ## Cause
    The library was built for another processor, another width of addresses or another
    system. Of another processor the loader does not say so: it passes over the file as if
    it were not there, which is why "No such file or directory" appears for one that is.
    ## Fix
    Build it on the machine that loads it, or install the wheel for that machine. In a
    container, see that the image is for the same platform as the library (`docker run
    --platform`).
    """

    file: str
    what: str
    said: str

    def says(self) -> str:
        return f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        return ["build it for the machine that loads it, or take the wheel for that machine"]


@finding("TFP404", "program-not-library")
class ProgramNotLibrary(Finding):
    """{file}: {what}, not a shared library

    ## Cause
    It was linked without `-shared`, or not linked at all: a program or an object file can
    have any name, but `dlopen` takes shared libraries only.
    ## Fix
    `g++ -shared -fPIC my_op.cc -o my_op.so` with the flags of `tf.sysconfig`.
    """

    file: str
    what: str
    said: str
    instead: str = ""

    def says(self) -> str:
        return f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        return [self.instead] if self.instead else []


@finding("TFP405", "library-not-opened")
class LibraryNotOpened(Finding):
    """{file}: {what}

    ## Cause
    There is no such file from where the process looks, or it may not read it. A relative
    path counts from the working directory of the process, not from the Python file that
    names it; a name without any `/` is looked for in the library path instead.
    ## Fix
    Give the path from the place of the module:
    `os.path.join(os.path.dirname(__file__), "my_op.so")`.
    """

    file: str
    what: str
    said: str
    hint: str = ""

    def cause(self) -> str:
        return self.hint

    def says(self) -> str:
        return f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        if self.said.endswith("Permission denied"):
            return [f"chmod a+r {self.file}"]
        return ["give the whole path, such as one made with os.path.dirname(__file__)"]


@finding("TFP406", "damaged-library")
class DamagedLibrary(Finding):
    """{file}: damaged: {what}

    ## Cause
    Its header or its tables contradict themselves. The loader refuses it, or the process
    ends when it follows them.
    ## Fix
    Copy or build it again. A tool that rewrites libraries (strip, patchelf, a packer) can
    leave them so.
    """

    file: str
    what: str
    said: str = ""

    def says(self) -> str | None:
        if self.said.startswith("Segmentation fault"):
            return self.said
        return f"{self.file}: {self.said}" if self.said else None

    def fixes(self) -> list[str]:
        return ["copy or build it again"]


@finding("TFP408", "not-for-dlopen")
class NotForDlopen(Finding):
    """{file}: {what}

    ## Cause
    Some libraries can only be loaded with the program itself: those linked with
    `-z nodlopen`, and those whose thread-local variables must have a place from the start,
    of which glibc keeps little for libraries that come later.
    ## Fix
    Compile without `-ftls-model=initial-exec`, link without `-z nodlopen`; or load it with
    the program, by LD_PRELOAD.
    """

    file: str
    what: str
    said: str
    instead: str

    def says(self) -> str:
        return f"{self.file}: {self.said}"

    def fixes(self) -> list[str]:
        return [self.instead, "load it with the program: LD_PRELOAD"]


@finding("TFP407", "bare-library-name", WARNING)
class BareName(Finding):
    """`{file}` without a `/` is looked for in the library path, not in the working directory

    ## Cause
    `dlopen`, which `tf.load_op_library` calls, takes a name without any `/` for one to be
    searched: in LD_LIBRARY_PATH and the folders of the system, never here.
    ## Fix
    Write `./my_op.so`, or better the whole path.
    """

    file: str

    def says(self) -> str:
        return f"{self.file}: cannot open shared object file: No such file or directory"

    def fixes(self) -> list[str]:
        return [f"tf.load_op_library('./{self.file}')"]
