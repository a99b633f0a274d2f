"""`tfport serve MODEL`: serve models with the TensorFlow Serving API, without TensorFlow."""

from __future__ import annotations

import argparse
import os

from tfport.cli.commands import command


@command(
    "serve",
    needs="serve",
    may_need=(("GPUs", "cuda"), ("--enable_tracing", "tracing")),
    order=9,
    help="serve models with the TensorFlow Serving API",
    usage="tfport serve [MODEL] [--FLAG[=VALUE]]…",
    description="Serve models over gRPC and REST. The API and the flags are those of "
    "tensorflow_model_server; the Open Inference Protocol v2 is available too.",
    allow_abbrev=False,
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tfport.serve.flags import add_flags

    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="a SavedModel, a Keras or TensorFlow Lite file, or a folder of numbered versions",
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.aiohttp_server import import_server_only
    from tfport.serve.flags import FlagValues, ignored_flag_warnings

    if args.version:
        from importlib.metadata import version

        print(f"tfport {version('tfport')}")
        return 0
    flags = _flags_from_model(args)
    # gRPC prints its own log lines; tfport reports the errors
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import_server_only()
    from tfport.serve.run import run as serve

    return serve(FlagValues(args, **flags), list(ignored_flag_warnings(args)))


def _flags_from_model(args: argparse.Namespace) -> dict[str, str]:
    """The flags that are equivalent to MODEL."""
    from tfport.errors import Error
    from tfport.serve.flags import words_after_booleans

    models = [*([args.model] if args.model else []), *words_after_booleans(args)]
    if not models:
        return {}
    if len(models) > 1:
        raise Error(f"expected one MODEL, found {' and '.join(models)}")
    for flag in ("model_base_path", "model_config_file"):
        if getattr(args, flag):
            raise Error(f"expected MODEL or --{flag}, found both")
    return {"model_base_path": models[0], "model_name": args.model_name or _default_name(models[0])}


def _default_name(path: str) -> str:
    """The last folder of the path that is not a version number."""
    parts = [part for part in os.path.abspath(path).split(os.sep) if part]
    return next((part for part in reversed(parts) if not part.isdecimal()), "default")
