"""The steps that make a library, each a function of the folder that it fills.

`library` compiles and links an op library against a release, `helper` a library that it needs,
`program` other output of a compiler; `content`, `from_good` and `without` write, change and
remove files. Objects are compiled once (`compiled`).
"""

import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from releases import CACHE, Release, release

Step = Callable[[Path], object]
SOURCES = Path(__file__).with_name("sources")
NEWEST = "2.21.0"
SMALL = ["-Os", "-fPIC", "-w", "-fno-ident", f"-ffile-prefix-map={SOURCES}=.", f"-ffile-prefix-map={CACHE}=."]


def library(
    *sources: str,
    version: str = NEWEST,
    abi: bool | None = None,
    standard: str | None = None,
    compile: Sequence[str] = (),
    link: Sequence[str] = (),
    against: Sequence[str] = (),
    framework: str = "last",
    out: str = "op.so",
) -> Step:
    """An op library for a release, by default with its C++ ABI and standard.

    `against` names libraries of the folder to link with. `framework` is the position of
    TensorFlow's own library in the linker's command: first, last or none.
    """

    def step(folder: Path) -> None:
        built_for = release(version)
        chosen = new_abi(built_for) if abi is None else abi
        options = (f"-std={standard or built_for.standard}", f"-D_GLIBCXX_USE_CXX11_ABI={chosen:d}", *compile)
        objects = [compiled(source, built_for, options) for source in sources]
        own = [*objects, *(folder / name for name in against)]
        parts = {
            "last": [*own, built_for.framework],
            "first": ["-Wl,--as-needed", built_for.framework, *own],
            "none": own,
        }
        linked("g++", [*parts[framework], *link], folder / out)

    return step


def helper(
    source: str,
    out: str,
    symbol_version: str = "",
    against: str = "",
    bare: bool = True,
    options: Sequence[str] = (),
) -> Step:
    """A library of the folder that others need; a bare one does not need libc."""

    def step(folder: Path) -> None:
        parts: list[str | Path] = [*options, SOURCES / source, f"-Wl,-soname,{Path(out).name}"]
        if bare:
            parts.append("-nostdlib")
        if against:
            parts.append(folder / against)
        with tempfile.NamedTemporaryFile("w", suffix=".map") as script:
            if symbol_version:
                script.write(f"{symbol_version} {{ global: *; }};\n")
                script.flush()
                parts.append(f"-Wl,--version-script={script.name}")
            linked("gcc", parts, folder / out)

    return step


def archived(*sources: str, out: str = "op.so") -> Step:
    """The sources in a static archive, from which the linker takes only referenced objects."""

    def step(folder: Path) -> None:
        options = ("-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=1")
        objects = [compiled(source, release(NEWEST), options) for source in sources]
        with tempfile.TemporaryDirectory() as place:
            archive = Path(place, "libacme.a")
            run("ar", "rcsD", archive, *objects)
            linked("g++", [SOURCES / "nothing.c", archive, release(NEWEST).framework], folder / out)

    return step


def program(*options: str, compiler: str = "gcc", source: str = "program.c", out: str = "op.so") -> Step:
    """The output of a compiler for a source that needs no headers."""
    return lambda folder: run(compiler, *SMALL, *options, SOURCES / source, "-s", "-o", folder / out)


def content(text: str | bytes) -> Step:
    return lambda folder: (folder / "op.so").write_bytes(text.encode() if isinstance(text, str) else text)


def from_good(edit: Callable[[bytes], bytes], out: str = "op.so") -> Step:
    """The `good` library with a change."""
    return lambda folder: (folder / out).write_bytes(edit((folder.parent / "good/op.so").read_bytes()))


def without(*names: str) -> Step:
    """Remove files that the library was linked with."""

    def step(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return step


@cache
def new_abi(built_for: Release) -> bool:
    """Whether the release uses the new C++ ABI for strings."""
    return b"_ZN10tensorflow12OpDefBuilder5InputENSt7__cxx11" in built_for.framework.read_bytes()


def compiled(source: str, built_for: Release, options: Sequence[str]) -> Path:
    """The object file of a source, compiled once for a release and options."""
    path = SOURCES / source
    headers = "".join(header.read_text() for header in sorted(SOURCES.glob("*.h")))
    mark = "\0".join([path.read_text(), headers, built_for.sha256, *options, *SMALL])
    out = CACHE / "objects" / f"{path.stem}-{hashlib.sha256(mark.encode()).hexdigest()[:16]}.o"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        plain = [o for o in options if not o.startswith("-std=") or path.suffix == ".cc"]
        compiler = "g++" if path.suffix == ".cc" else "gcc"
        run(compiler, *SMALL, *plain, "-isystem", built_for.headers, "-c", path, "-o", out)
    return out


def linked(compiler: str, parts: Iterable[str | Path], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    run(compiler, *SMALL, "-shared", *parts, "-s", "-Wl,--build-id=none", "-o", out)


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True)
