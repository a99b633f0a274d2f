"""`tfport serve MODEL`: TensorFlow Serving's API, with no TensorFlow."""

from __future__ import annotations

import argparse
import os
from typing import Any


def add(commands: Any) -> None:
    from tfport.serve.flags import add_flags

    parser = commands.add_parser(
        "serve",
        help="serve models as TensorFlow Serving does",
        usage="tfport serve [MODEL] [--FLAG[=VALUE]]…",
        description="Serve models over gRPC and REST with the API and the flags of tensorflow_model_server, "
        "and the Open Inference Protocol v2.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="a SavedModel, or a folder of numbered versions"
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.errors import Error
    from tfport.serve.flags import FlagValues, ignored_flag_warnings

    if args.version:
        from importlib.metadata import version

        print(f"tfport {version('tfport')}")
        return 0
    said = _said(args)
    # gRPC writes lines of its own to the terminal; what goes wrong is told by tfport
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from tfport.serve.run import run as serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tfport"):
            raise
        raise Error(f"tfport serve needs {error.name}: pip install 'tfport[serve]'") from None
    return serve(FlagValues(args, **said), list(ignored_flag_warnings(args)))


def _said(args: argparse.Namespace) -> dict[str, str]:
    """What MODEL says, as flags."""
    from tfport.errors import Error
    from tfport.serve.flags import words_after_booleans

    found = [*([args.model] if args.model else []), *words_after_booleans(args)]
    if len(found) > 1:
        raise Error(f"expected one MODEL, found {' and '.join(found)}")
    for flag in ("model_base_path", "model_config_file"):
        if found and getattr(args, flag):
            raise Error(f"expected MODEL or --{flag}, found both")
    return {"model_base_path": found[0], "model_name": args.model_name or _name(found[0])} if found else {}


def _name(path: str) -> str:
    """What a model is called that nobody named: as its folder, or as the folder of its versions."""
    parts = [part for part in os.path.abspath(path).split(os.sep) if part]
    return next((part for part in reversed(parts) if not part.isdecimal()), "default")
