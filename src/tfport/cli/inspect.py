"""`tfport inspect MODEL`: what is in it, where it was made, what it needs."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.json_output import print_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="signatures, ops, variables, tables, assets and origin of a model",
        description="Say what is in a model. Nothing of it is executed and its weights are not read.",
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a SavedModel, GraphDef, MetaGraph, checkpoint, TF.js model, or an archive with one",
    )
    parser.add_argument("--tags", metavar="TAG[,TAG]", help="the MetaGraph to show, where there are several")
    parser.add_argument("--all", action="store_true", help="show every row of long lists")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.progress import show_progress

    tags = args.tags.split(",") if args.tags else None
    with show_progress(f"reading {args.model}"):
        report = tfport.inspect(tfport.load(args.model, tags=tags))
    if args.json:
        print_json(report.to_json())
    else:
        from tfport.check.console import show
        from tfport.check.inspection.text import render

        show(lambda width: render(report, width, everything=args.all))
    return 0
