"""`tfport --version`, and with `--json` the versions of what computes answers."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

VERSION = 1
PACKAGES = (
    *("numpy", "protobuf", "ml-dtypes", "scipy"),
    *("onnxruntime", "onnxruntime-gpu", "openvino", "ai-edge-litert", "apache-tvm-ffi"),
    *("onnx", "h5py", "sentencepiece", "pyarrow", "grpcio", "aiohttp", "tensorflow", "keras"),
)
"""What reads models and runs them; the engines are the second row."""


def show_version(args: argparse.Namespace) -> int:
    if not args.json:
        print(f"tfport {version('tfport')}")
        return 0
    from tfport.cli.output import print_json

    print_json(
        {
            "version": VERSION,
            "tfport": version("tfport"),
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "system": sys.platform,
            "machine": platform.machine(),
            "packages": {name: _installed(name) for name in PACKAGES},
        }
    )
    return 0


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
