"""`tfport matrix MODEL`: every release at once, where the model runs, and what breaks elsewhere."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.json_output import print_json


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "matrix",
        help="every release at once: where a model runs, and what breaks elsewhere",
        description="Hold a model against every recorded release of TensorFlow, on CPUs and on GPUs.",
    )
    parser.add_argument("model", metavar="MODEL", help="a SavedModel, GraphDef, MetaGraph or TF.js model")
    parser.add_argument("--device", choices=("cpu", "gpu"), help="one of them only")
    parser.add_argument(
        "--loader", action="append", help="python, serving, capi or keras; may be given several times"
    )
    parser.add_argument(
        "--signature", action="append", metavar="NAME", help="one to be run; may be given several times"
    )
    parser.add_argument("--tags", metavar="TAG[,TAG]", help="the MetaGraph to take, where there are several")
    parser.add_argument("--since", metavar="RELEASE", help="the oldest release to try")
    parser.add_argument("--until", metavar="RELEASE", help="the newest; 2.8 takes all of its patches in")
    parser.add_argument("--all", action="store_true", help="list every patch release")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.add_argument("--html", metavar="FILE", help="write a page to look at, which needs nothing else")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.check.matrix.matrix import matrix_of
    from tfport.cli.progress import show_progress

    with show_progress(f"checking {args.model}"):
        matrix = matrix_of(
            tfport.load(args.model, tags=args.tags.split(",") if args.tags else None),
            device=args.device,
            loader=args.loader,
            signatures=args.signature,
            since=args.since,
            until=args.until,
        )
    if args.html:
        from tfport.check.matrix.page.page import write_page

        write_page(matrix, args.html)
    if args.json:
        print_json(matrix.to_json())
    elif not args.html:
        from tfport.check.console import show
        from tfport.check.matrix.text import render

        show(lambda width: render(matrix, width, everything=args.all))
    return 0
