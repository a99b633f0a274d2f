"""`tfport diff A B`: two models side by side."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import add_json
from tfport.cli.commands import command


@command(
    "diff",
    order=18,
    help="compare two models: signatures, ops, graphs, weights",
    description="Compare two models in any format: metadata, signatures, ops, graphs by structure "
    "instead of names, and weights by value. Nothing in them is executed. Exit code 0: they "
    "are equal, apart from the names of nodes, functions and weights; 1: they differ; 2: "
    "one cannot be read.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a model of any format")
    parser.add_argument("b", metavar="B", help="the model to compare it with")
    parser.add_argument("--all", action="store_true", help="do not shorten long lists")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.output import print_result
    from tfport.cli.progress import show_progress

    with show_progress(f"comparing {args.a} and {args.b}"):
        difference = tfport.diff(args.a, args.b)
    print_result(difference, args, everything=args.all)
    return difference.exit_code
