"""`tfport matrix MODEL`: check a model against every recorded release at once."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import (
    DEVICES,
    add_json,
    add_loader,
    add_model,
    add_outputs,
    add_signatures,
    add_target_library,
    tags_of,
)
from tfport.cli.commands import command


@command(
    "matrix",
    may_need=(("--library", "lib"),),
    order=3,
    help="check a model against every recorded TensorFlow release",
    description="Check a model against every recorded TensorFlow release, on CPU and on GPU, and show "
    "what fails where it does not run.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--device", choices=DEVICES, help="device to check (default: both)")
    add_loader(parser)
    add_target_library(parser)
    add_signatures(parser)
    add_outputs(parser)
    parser.add_argument("--since", metavar="RELEASE", help="oldest release to check")
    parser.add_argument(
        "--until", metavar="RELEASE", help="newest release to check; 2.8 includes all of its patch releases"
    )
    parser.add_argument("--all", action="store_true", help="list every patch release")
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write a self-contained HTML page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.output import print_result, write_new_file
    from tfport.cli.progress import show_progress
    from tfport.matrix.matrix import matrix_of

    with show_progress(f"checking {args.model}"):
        matrix = matrix_of(
            tfport.load(args.model, tags=tags_of(args)),
            device=args.device,
            loader=args.loader,
            signatures=args.signature,
            fetches=args.fetch,
            feeds=args.feed,
            since=args.since,
            until=args.until,
            libraries=args.library or (),
        )
    if args.html:
        from tfport.web.pages import matrix_page

        write_new_file(args.html, matrix_page(matrix))
    if args.json or not args.html:
        print_result(matrix, args, everything=args.all)
    return 0
