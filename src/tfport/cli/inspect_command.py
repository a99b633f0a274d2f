"""`tfport inspect MODEL`: what is in it, where it was made, what it needs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfport.check.inspection import Inspection


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

    report = tfport.inspect(tfport.load(args.model, tags=args.tags.split(",") if args.tags else None))
    if args.json:
        import json

        json.dump(report.to_json(), sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        show(report, everything=args.all)
    return 0


def show(report: Inspection, *, everything: bool) -> None:
    """In colour and full width on a terminal, plain 80 columns elsewhere."""
    from tfport.check.inspection_text import plain, render

    if not sys.stdout.isatty():
        print(plain(report, everything=everything))
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(render(report, console.width, everything=everything))
