"""Which optional packages tfport can use, the sentence for a missing one, the version of an installed one.

`pip install tfport` brings what looks at models and judges them. What runs, rewrites, converts or serves them
needs packages of an extra, such as `tfport[run]`:

    require("run", "tfport run")                            before any work, for all that an extra brings
    h5py = optional_module("h5py", "writing Keras files")   where one package is used

`[project.optional-dependencies]` in pyproject.toml says the same by the names of the distributions;
`tests/test_extras.py` compares both.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from functools import cache
from types import ModuleType

from tfport.errors import MissingPackage

EXTRAS: dict[str, tuple[str, ...]] = {
    "run": ("onnxruntime", "scipy", "PIL", "re2", "cramjam"),
    "serve": (
        *("aiohttp", "grpc", "grpc_health", "grpc_reflection", "orjson", "prometheus_client"),
        *("fsspec", "uvloop", "simdjson"),
    ),
    "ui": ("aiohttp", "orjson"),
    "batch": ("pyarrow", "fsspec"),
    "export": ("onnx", "safetensors"),
    "keras": ("h5py", "yaml"),
    "lib": ("capstone",),
    "litert": ("ai_edge_litert",),
    "native": ("tvm_ffi",),
    "openvino": ("openvino",),
    "quantize": ("ai_edge_quantizer",),
    "text": ("sentencepiece",),
    "tracing": ("opentelemetry",),
    "spark": ("pyspark",),
    "beam": ("apache_beam",),
    "ray": ("ray",),
    "mlflow": ("mlflow",),
}
"""The modules that each extra brings, by the name that `import` takes."""
INCLUDED = {"serve": ("run",), **dict.fromkeys(("spark", "beam", "ray", "mlflow"), ("batch",))}
"""Extras that a command or a module needs as well."""
NOT_REQUIRED = {"fsspec", "uvloop", "simdjson"}
"""Modules without which an extra works: object stores, and what is only faster."""
DISTRIBUTIONS = {
    "PIL": "Pillow",
    "ai_edge_litert": "ai-edge-litert (LiteRT)",
    "ai_edge_quantizer": "ai-edge-quantizer",
    "apache_beam": "apache-beam",
    "grpc": "grpcio",
    "grpc_health": "grpcio-health-checking",
    "grpc_reflection": "grpcio-reflection",
    "onnxruntime": "ONNX Runtime",
    "opentelemetry": "OpenTelemetry",
    "openvino": "OpenVINO",
    "prometheus_client": "prometheus-client",
    "re2": "google-re2",
    "scipy": "SciPy",
    "tvm_ffi": "apache-tvm-ffi",
    "yaml": "PyYAML",
}
"""How messages name a module, where it is not by its own name."""


def require(extra: str, what: str) -> None:
    """Raise MissingPackage if something that an extra brings is not installed; nothing is imported."""
    for name in (extra, *INCLUDED.get(extra, ())):
        for module in EXTRAS[name]:
            if module not in NOT_REQUIRED and not is_installed(module):
                raise _missing(module, extra, what)


def optional_module(name: str, what: str, extra: str = "") -> ModuleType:
    """Import a module that an extra brings; MissingPackage if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name, what, extra) from None


def missing(name: str, what: str, extra: str = "") -> MissingPackage:
    """The error for a module that is not installed; `extra` if several bring it."""
    package = name.partition(".")[0]
    return _missing(package, extra or next(e for e, modules in EXTRAS.items() if package in modules), what)


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def install_command(extra: str) -> str:
    """What installs an extra; in double quotes, which every shell and Windows take."""
    return f'pip install "tfport[{extra}]"'


def _missing(module: str, extra: str, what: str) -> MissingPackage:
    package = DISTRIBUTIONS.get(module, module)
    return MissingPackage(f"{what} needs {package}, which is not installed: {install_command(extra)}", extra)


_OWN_FOLDER = re.compile(r"(.+?)-([^-]+)\.dist-info")


def installed_version(package: str) -> str | None:
    """The version of an installed package, from the name of the folder that pip makes for it.

    `importlib.metadata` says the same, but importing it and reading a file for each package takes 0.05 of the
    second that an export takes. It is asked about packages that are installed in another form.
    """
    name = _normalized(package)
    version_in_name = next((names[name] for names in map(_packages_in, sys.path) if name in names), None)
    if version_in_name == "":
        from importlib.metadata import version

        return version(package)
    return version_in_name


@cache
def _packages_in(folder: str) -> dict[str, str]:
    """The packages of a folder; the version is empty if it is in a file only."""
    try:
        names = os.listdir(folder or os.curdir)
    except OSError:  # an archive, or nothing
        return {}
    others = {_normalized(re.split(r"-|\.egg-info", name)[0]): "" for name in names if ".egg-info" in name}
    matches = filter(None, map(_OWN_FOLDER.fullmatch, names))
    return others | {_normalized(match[1]): match[2] for match in matches}


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()
