"""`tfport scan MODEL…`: show what models could do to the machine that loads them."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.arguments import add_json, add_tags, tags_of
from tfport.cli.commands import command

FAIL_ON = ("error", "warning", "note", "never")
"""Each value includes those before it, except `never`."""


@command(
    "scan",
    order=3,
    help="show what a model could do: files, network, Python, custom code",
    description="Show what models could do to the machine that loads them: read and write files, use the "
    "network, run Python or other code; when it would happen, and with which path. Nothing in a model is "
    "run. Exit code 0: nothing of concern; 1: something was found; 2: a model could not be read.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="a SavedModel, GraphDef, MetaGraph, Keras, TF.js or TensorFlow Lite model, or a folder of them",
    )
    add_tags(parser)
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="error",
        help="when to exit with 1: if something is an error (the default); warning: also on a warning; note: "
        "also on a note; never: exit with 0, or with 2 if a model cannot be read",
    )
    parser.add_argument("--all", action="store_true", help="do not shorten long texts and lists")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.check.model_folders import models_at
    from tfport.cli.progress import show_progress

    paths = [path for model in args.models for path in (models_at(model) or [model])]
    codes: list[int] = []
    documents: list[dict[str, Any]] = []
    for path in paths:
        with show_progress(f"scanning {path}"):
            code, document = _scan(args, path, alone=len(paths) == 1)
        codes.append(code)
        documents.append(document)
    if args.json:
        from tfport.cli.output import print_json

        print_json(documents[0] if len(paths) == 1 else {"version": 1, "models": documents})
    return max(codes, key=(0, 2, 1).index)


def _scan(args: argparse.Namespace, path: str, *, alone: bool) -> tuple[int, dict[str, Any]]:
    """Scan one model and print its text; return the exit code and the JSON."""
    import tfport
    from tfport.errors import Error
    from tfport.reports.console import show_result
    from tfport.scan.scan import scan_model

    try:
        report = scan_model(tfport.load(path, tags=tags_of(args)))
    except Error as error:
        if alone:
            raise
        if not args.json:
            print(f"\n{path}  cannot be read: {error}")
        return 2, {"model": path, "error": str(error)}
    if not args.json:
        show_result(report, everything=args.all)
    failing = FAIL_ON[: FAIL_ON.index(args.fail_on) + 1] if args.fail_on != "never" else ()
    return int(report.severity in failing), report.to_json()
