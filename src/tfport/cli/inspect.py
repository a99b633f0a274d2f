"""`tfport inspect MODEL`: show what a model contains."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tfport.cli.arguments import add_json, add_outputs, add_tags, tags_of
from tfport.cli.commands import command

if TYPE_CHECKING:
    from tfport.graph.model import Model
    from tfport.inspection.inspection import Inspection


@command(
    "inspect",
    order=1,
    help="show a model's signatures, ops, variables and assets",
    description="Show what a model contains and which TensorFlow wrote it, without executing anything "
    "in it or reading its weights.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a SavedModel, GraphDef, MetaGraph, checkpoint, TF.js, Keras or TensorFlow Lite model, or an "
        "archive that contains one",
    )
    add_tags(parser)
    add_outputs(parser)
    parser.add_argument("--all", action="store_true", help="do not shorten long lists")
    add_json(parser)
    parser.add_argument(
        "--format",
        choices=("cyclonedx",),
        help="print a bill of materials instead: a hash for every file and weight, and what the model needs",
    )
    parser.add_argument("--html", metavar="FILE", help="write a self-contained HTML page with the graph")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.output import print_result, write_new_file
    from tfport.cli.progress import show_progress

    with show_progress(f"reading {args.model}"):
        model = tfport.load(args.model, tags=tags_of(args))
        report = tfport.inspect(model, fetches=args.fetch, feeds=args.feed)
        bill = _bill_of_materials(model, report) if args.format else ""
    if args.format:
        print(bill, end="")
        return 0
    if args.html:
        from tfport.web.pages import inspect_page

        write_new_file(args.html, inspect_page(report, model))
    if args.json or not args.html:
        print_result(report, args, everything=args.all)
    return 0


def _bill_of_materials(model: Model, report: Inspection) -> str:
    import tfport
    from tfport.inspection.materials import bill_of_materials
    from tfport.reports.cyclonedx import cyclonedx

    return cyclonedx(bill_of_materials(model, report, tfport.scan(model)))
