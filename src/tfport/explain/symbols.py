"""Look up which releases export a symbol that a library misses, and what its mangled name shows.

Symbols are recorded as Linux names them. A message of macOS has one more underscore in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.atlas.atlas import atlas
from tfport.atlas.cxx_abi import ABSEIL, ABSEILS
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.atlas.symbols import symbols
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.lookup import Meaning, MessageMatch, any_of, recorded, use

ABI_TAG = "B5cxx11"
NEW_ABI = ("NSt7__cxx11", ABI_TAG)
PACKAGE = re.compile(r"(?:site|dist)-packages/([\w.-]+)/")
OWN_PACKAGES = ("tensorflow", "tensorflow_core")
OWN_LIBRARY = re.compile(
    r"(_pywrap_\w+|libtensorflow_framework|libtensorflow_cc)[\w.-]*[^\w.-]{0,4}(, \w+\))?:? *$"
)
"""TensorFlow's own libraries, as the last word before the message."""
OWN_FILE = re.compile(
    r"(?:site|dist)-packages/(?:tensorflow(?:_core)?|tflite_runtime)/[\w./-]+[^\w./-]{0,4} *$"
)
"""A file of TensorFlow's package, as the last word before the message."""
NEAR = 300
MIXED = (
    "TensorFlow's own library needs it: files of two builds are mixed (pip and conda, two releases), another "
    "version of a library of the system was loaded, or the build is faulty."
)
MIXED_WAYS = [
    "install TensorFlow in a new environment, all of it from pip or all of it from conda",
    "unset LD_LIBRARY_PATH and PYTHONPATH, which may name the folders of another installation",
    "if it is a wheel of another source (as for ARM boards), install another release, or another wheel",
]
SIZE = re.compile(r"\d{1,6}")
NESTED = re.compile(r"_ZT[VISh]?N?K?|_ZNK?|_Z")
LIBCXX = "NSt3__1"
"""The namespace of the C++ library of macOS."""
MACOS_NAMES = ("__Z", "_TF_", "_TFE_", "_TfLite", "_Py", "__Py")
PYTHON_NAMES = ("Py", "_Py")
STANDARD_NAMES = ("_ZNSt", "_ZNKSt", "_ZSt", "_ZTISt", "_ZTVNSt", "_ZTVN10__cxxabi", "__cxa_")
FROM_THE_START = "1.5.0"
"""A symbol that every release exports since this one or earlier is not missing because of the release."""
FRAMEWORK = " framework"
NOT_LINKED = (
    "the library was not linked against libtensorflow_framework, or was loaded without TensorFlow or by an "
    "older one"
)
INSIDE = "it is code of TensorFlow's own kernels, to which op libraries cannot be linked"
LIBRARIES = {
    "cv": "OpenCV", "torch": "PyTorch", "c10": "PyTorch", "at": "PyTorch", "MPI_": "MPI", "ompi_": "Open MPI",
    "nccl": "NCCL", "cudnn": "cuDNN", "cublas": "CUDA", "cuda": "CUDA", "GOMP_": "OpenMP (libgomp)",
    "omp_": "OpenMP", "__kmpc": "OpenMP (libomp)", "boost": "Boost", "jpeg_": "libjpeg", "png_": "libpng",
    "H5": "HDF5", "mkl_": "MKL", "dnnl": "oneDNN", "deepmd": "DeePMD-kit", "arrow": "Apache Arrow",
}  # fmt: skip
"""The libraries whose symbols begin so, or are in a namespace of that name."""
LINK = "link it with the flags of `tf.sysconfig.get_link_flags()`, after the source files in the command"
COMPILE = "recompile it against the TensorFlow that loads it, with `tf.sysconfig.get_compile_flags()`"
COMPILE_SOURCE = "compile the source of that function into the library, or do not use it"
NOT_BY_COMPILING = "compiling against another TensorFlow does not help: none exports the function"
OF_KERNELS = frozenset({"functor"})
"""Namespaces of the code of kernels, which no library exports for others."""
LITE_NAMES = ("TfLite", "LiteRt")
C_NAMES = ("TF_", "TFE_", *LITE_NAMES)
OLDER = "the loaded library is older than the program or language binding needs, or not linked"
TENSORFLOW_NAMES = (
    "tensorflow",
    "tsl",
    "xla",
    "absl",
    "google",
    "stream_executor",
    "TF_",
    "TFE_",
    "Eigen",
    "mlir",
    "tflite",
)


def undefined_symbol(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases export the symbol, and how the library was compiled."""
    symbol = linux_name(match.names["symbol"])
    name = readable(symbol)
    shown = [f"It is {name}."] if name != symbol else []
    path = match.names.get("path") or match.before[-NEAR:]
    if OWN_LIBRARY.search(path) or OWN_FILE.search(path):
        return Meaning([*shown, MIXED], MIXED_WAYS)
    if symbol.startswith(C_NAMES):
        return _of_the_c_library(symbol, target)
    if not name.startswith(TENSORFLOW_NAMES):
        return _of_another_library(symbol, shown, _of_package(path))
    if LIBCXX in symbol:
        mac = "Its name is that of a build for macOS, whose symbols are not recorded."
        return Meaning([*shown, mac], [COMPILE])
    return Meaning(
        [*shown, *_exported(symbol), *_other_abseil(symbol), *_abi(symbol)],
        _ways_out(symbol, _of_package(path)),
        _on_target(symbol, target),
    )


def _of_the_c_library(symbol: str, target: Target | None) -> Meaning:
    """Since when the C library exports a function that a language binding or a program needs."""
    if symbol.startswith(LITE_NAMES):
        return Meaning(
            ["It is a function of TensorFlow Lite's C library, which is older than the binding needs."],
            ["install the TensorFlow Lite library of the binding's version, or an older binding"],
        )
    releases = releases_exporting(symbol)
    if not releases:
        return Meaning(
            ["No recorded release exports this function of the C library: it is newer, or a binding's own."],
            ["use the libtensorflow that the documentation of the binding names"],
        )
    return Meaning(
        [f"It is a function of TensorFlow's C library, which exports it {recorded(releases)}: {OLDER}."],
        [
            f"install libtensorflow {any_of(releases)}, or an older version of the binding",
            "the one that is loaded may be another than the one that you installed: `ldd FILE` shows its "
            "path, LD_LIBRARY_PATH and `ldconfig` decide",
        ],
        _on_target(symbol, target),
    )


def _of_package(path: str) -> list[str]:
    """The advice for a library that belongs to an installed package."""
    packages = PACKAGE.findall(path)
    if not packages or packages[-1] in OWN_PACKAGES:
        return []
    return [f"install the {packages[-1]} that was made for your TensorFlow"]


def _of_another_library(symbol: str, shown: list[str], package: list[str]) -> Meaning:
    if symbol.startswith(PYTHON_NAMES):
        return Meaning(
            ["It is a symbol of Python: an extension module for another Python, or used outside of Python."],
            ["install the package for this Python; outside of Python, use the C library, libtensorflow"],
        )
    if LIBCXX in symbol:
        return Meaning(
            ["It is a symbol of the C++ library of macOS, which is older here than the file was built for."],
            ["upgrade macOS, or install an older release that was built for this macOS"],
        )
    if symbol.startswith(STANDARD_NAMES):
        return Meaning(
            ["It is a symbol of the C++ standard library, but the one in use comes from another GCC."],
            [
                "compile the library with the GCC of this environment",
                "upgrade libstdc++ (in conda, `libstdcxx-ng`), or remove its folder from LD_LIBRARY_PATH",
            ],
        )
    name = readable(symbol)
    library = next((library for start, library in LIBRARIES.items() if name.startswith(start)), None)
    whose = f"It is a symbol of {library}" if library else "It is not a symbol of TensorFlow"
    ways = [f"link the library with {library}, or install the version it was compiled for"] if library else []
    return Meaning(
        [*shown, f"{whose}: a required library is not linked, not found, or of another version."],
        [
            *package,
            *ways,
            "`ldd FILE` shows which libraries are found, `nm -D` which of them defines the symbol",
        ],
    )


def linux_name(symbol: str) -> str:
    """A symbol without the underscore that macOS puts in front of each."""
    return symbol[1:] if symbol.startswith(MACOS_NAMES) else symbol


def readable(symbol: str) -> str:
    """The name in a mangled symbol without its parameters: `tensorflow::OpKernel::TraceString`."""
    return "::".join(part for part, _ in _parts(symbol)) or symbol


def _end_of_name(symbol: str) -> int:
    return max((end for _, end in _parts(symbol)), default=0)


def _parts(symbol: str) -> Iterator[tuple[str, int]]:
    """The parts of a nested name, each with its end in the symbol."""
    start = NESTED.match(symbol)
    place = start.end() if start else len(symbol)
    while size := SIZE.match(symbol, place):
        place = size.end() + int(size[0])
        yield symbol[size.end() : place], place


def releases_exporting(symbol: str) -> tuple[Span, ...]:
    exporters = symbols().exporters(symbol)
    stock = on_x86(atlas(), STOCK)
    return spans(stock, {build.number for build in stock if build.requirement in exporters})


def _exported(symbol: str) -> list[str]:
    releases = releases_exporting(symbol)
    if not releases:
        return ["No recorded release of TensorFlow exports it."]
    if not _is_in_framework(symbol):
        return [
            f"TensorFlow exports it {recorded(releases)}, but not from libtensorflow_framework: {INSIDE}."
        ]
    if _is_in_every_release(releases):
        return [f"TensorFlow exports it {recorded(releases)}: {NOT_LINKED}."]
    return [
        f"TensorFlow exports it {recorded(releases)}. If your release is one of them, the library was not "
        "linked against libtensorflow_framework, or was compiled with another C++ ABI or for another build."
    ]


def _is_in_every_release(releases: tuple[Span, ...]) -> bool:
    last = releases[-1]
    return last.open and version_key(last.first) <= version_key(FROM_THE_START)


def _other_abseil(symbol: str) -> list[str]:
    """The releases that export the same function, compiled with another Abseil."""
    own = ABSEIL.search(symbol)
    if own is None:
        return []
    others = {
        other: releases_exporting(symbol.replace(own[1], other)) for other in ABSEILS if other != own[1]
    }
    shown = [f"{recorded(releases)} with lts_{other}" for other, releases in others.items() if releases]
    known = f" The same function is exported by {'; '.join(shown)}." if shown else ""
    return [f"The library was compiled with Abseil lts_{own[1]}.{known}"]


def _abi(symbol: str) -> list[str]:
    """The C++ ABI that the symbol was compiled with, if its name shows it."""
    new = any(mark in symbol for mark in NEW_ABI)
    if not new and "Ss" not in symbol and not releases_exporting(with_abi_tag(symbol)):
        return []
    releases = recorded(_with_abi(new))
    return [
        f"It was compiled with _GLIBCXX_USE_CXX11_ABI={int(new)}, as pip's TensorFlow is in {releases}.",
        "Builds of conda and of Linux distributions may differ from pip's.",
    ]


def with_abi_tag(symbol: str) -> str:
    """The name of a function that returns a string, as the new C++ ABI tags it."""
    end = _end_of_name(symbol)
    return f"{symbol[:end]}{ABI_TAG}{symbol[end:]}"


def _with_abi(new: bool) -> tuple[Span, ...]:
    stock = on_x86(atlas(), STOCK)
    return spans(stock, {build.number for build in stock if build.facts.get("cxx11_abi") is new})


def _ways_out(symbol: str, package: list[str]) -> list[str]:
    releases = releases_exporting(symbol)
    if not releases:
        return [*package, *_ways_without_exporter(symbol)]
    if not _is_in_framework(symbol):
        return [*package, COMPILE_SOURCE]
    if _is_in_every_release(releases):
        imported = "import tensorflow before the library is loaded, with `tf.load_op_library`"
        return [*package, LINK, imported, COMPILE]
    if package:
        return [
            *package,
            f"or install the TensorFlow that the package requires: it is one of {any_of(releases)}, or a "
            "pre-release or nightly build of that time",
            "if you compile the package yourself, " + COMPILE,
        ]
    return [use(releases), COMPILE, LINK]


def _ways_without_exporter(symbol: str) -> list[str]:
    """What to do about a symbol that no release exports: its name may be that of another C++ ABI."""
    if any(part in OF_KERNELS for part, _ in _parts(symbol)):
        return [NOT_BY_COMPILING, COMPILE_SOURCE]
    return [f"if TensorFlow's headers declare a function of that name, {COMPILE}", COMPILE_SOURCE]


def _is_in_framework(symbol: str) -> bool:
    """Whether a library can be linked to the symbol, with the flags of `tf.sysconfig`."""
    exporters = symbols().exporters(symbol)
    return any(build.endswith(FRAMEWORK) for build in exporters) or not any(
        build.endswith(FRAMEWORK) for build in symbols().builds
    )


def _on_target(symbol: str, target: Target | None) -> list[str]:
    build = target.build if target else None
    if build is None or build.requirement not in symbols().builds:
        return []
    exports = build.requirement in symbols().exporters(symbol)
    return [f"{build.name} {'exports' if exports else 'does not export'} it"]
