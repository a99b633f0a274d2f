"""`tfport check MODEL… --on TARGET…`: check whether models load and run on targets, and why not."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import (
    add_delegate,
    add_device,
    add_gpu,
    add_loader,
    add_ops_file,
    add_outputs,
    add_signatures,
    add_tags,
    add_target_library,
)
from tfport.cli.check.request import FAIL_ON
from tfport.cli.commands import command
from tfport.errors import Error


@command(
    "check",
    may_need=(("--library", "lib"),),
    order=2,
    help="check whether a model loads and runs on a target, and why not",
    description="Check whether models load and run on targets, and report every reason why not. Without "
    "MODEL, check what tfport.toml (or [tool.tfport] in pyproject.toml) declares. Exit code 0: all run; "
    "1: some do not; 2: tfport could not decide, or could not read a model.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="*",
        help="a SavedModel, GraphDef, MetaGraph, Keras, TF.js or TensorFlow Lite model, or a folder of them",
    )
    parser.add_argument(
        "--on",
        "--for",
        metavar="TARGET",
        nargs="+",
        action="extend",
        help="where the model must run: tensorflow==2.8.4, 'tensorflow>=2.4,<2.9', tensorflow-serving==2.8, "
        "ai-edge-litert==2.3.0 or tflite-runtime==2.14.0 (for .tflite), "
        "requirements.txt, . (this environment), ops_to_register.h@tensorflow==1.4.1, or tfport",
    )
    _add_conditions(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    add_device(parser)
    add_gpu(parser)
    add_delegate(parser)
    add_loader(parser)
    add_signatures(parser)
    add_outputs(parser)
    parser.add_argument(
        "--soft-placement",
        action=argparse.BooleanOptionalAction,
        help="whether a node may run on a device other than the one it requests",
    )
    add_tags(parser)
    add_target_library(parser)
    add_ops_file(parser)
    parser.add_argument(
        "--custom",
        metavar="NAME[=FILE.py]",
        action="append",
        help="class or function that your program registers with Keras before it loads the file; tfport "
        "reads its arguments from FILE.py without executing it; can be repeated",
    )
    parser.add_argument("--checksums", action="store_true", help="also verify the checksums of the weights")
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="when to exit with 1: if a model fails (error, the default); unknown: also if a verdict is "
        "unknown; warning: also on a warning; note: also on a note; never: exit with 0, or with 2 if a "
        "model cannot be read",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    from tfport.reports.check.formats import REPORT_FORMATS

    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format", choices=REPORT_FORMATS.names(), default="text", help="report format (default: text)"
    )
    formats.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="print JSON (schema version 1), as --format json",
    )
    parser.add_argument("--html", metavar="FILE", help="write a self-contained HTML page about one model")
    parser.add_argument(
        "--node-data",
        metavar="FILE",
        help="also write the findings of one model by node, for Model Explorer with tfport's extension",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file for the report (default: standard output)"
    )
    parser.add_argument("--all", action="store_true", help="do not shorten long texts and lists")


def run(args: argparse.Namespace) -> int:
    from tfport.cli.check.run import check_declared, check_named

    if args.html:
        if args.format != "text" or args.output:
            raise Error("--html cannot be combined with --format, --json or -o")
        args.format, args.output = "html", args.html
    if not args.models and args.on:
        args.on, args.models = _without_models(args.on)
    return check_named(args) if args.models else check_declared(args)


def _without_models(values: list[str]) -> tuple[list[str], list[str]]:
    """The targets and the models of `--on TARGET… MODEL…`."""
    targets = list(values)
    while len(targets) > 1 and _is_model(targets[-1]):
        targets.pop()
    return targets, values[len(targets) :]


def _is_model(path: str) -> bool:
    from tfport.formats.find import find_model

    try:
        find_model(path)
    except Error:
        return _has_models(path)
    return True


def _has_models(path: str) -> bool:
    """Whether a folder has models of its own; one of packages, which is a target, has them further down."""
    import os

    from tfport.formats.files import Folder
    from tfport.formats.recognize import folder_models

    try:
        return path != "." and os.path.isdir(path) and any(folder_models(Folder(path)))
    except Error:
        return False
