"""`tfport targets`: list the recorded builds, show one target, compare two, record a new one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tfport.cli.arguments import TARGET, add_json
from tfport.cli.commands import add_parser, command

VERSION = 1


@command(
    "targets",
    order=14,
    help="list the recorded builds of TensorFlow and related packages",
    description="List the recorded builds of TensorFlow and of packages with ops, and how they were built.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="list every patch release (default: the newest of each release)"
    )
    add_json(parser)
    parser.set_defaults(run=list_builds)
    subcommands = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", dest="subcommand")
    add_show(subcommands)
    add_diff(subcommands)
    add_record(subcommands)
    add_header(subcommands)


def add_show(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "show",
        help="show one target in full",
        description="Show how a target was built, what it needs, and how many ops and kernels it registers.",
    )
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    add_json(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=show_target)


def add_diff(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "diff",
        help="compare the ops, kernels and builds of two targets",
        description="List the ops and kernels that were added, removed and changed between two targets.",
    )
    parser.add_argument("before", metavar="A", help=TARGET)
    parser.add_argument("after", metavar="B", help="the target to compare with")
    parser.add_argument(
        "--all", action="store_true", default=argparse.SUPPRESS, help="do not shorten long lists"
    )
    add_json(parser, default=argparse.SUPPRESS)
    parser.set_defaults(run=diff)


def add_record(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "record",
        help="record a local build of TensorFlow as a target",
        description="Record what a local build of TensorFlow registers. This loads its library in a separate "
        "process; use it only on files that you trust.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="a wheel, a site-packages folder, or a libtensorflow*.so"
    )
    parser.add_argument("-o", dest="out", metavar="FILE", required=True, help="target file to write")
    parser.set_defaults(run=record)


def add_header(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "header",
        help="write an ops_to_register.h for a set of models",
        description="Write the header for a reduced build of TensorFlow that registers only the ops and "
        "kernels that the models need.",
    )
    parser.add_argument("models", metavar="MODEL", nargs="+", help="a model that the build must run")
    parser.add_argument("--for", dest="target", metavar="TARGET", required=True, help=TARGET)
    parser.add_argument("-o", dest="out", metavar="FILE", help="file to write (default: standard output)")
    parser.set_defaults(run=header)


def list_builds(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.summaries import overview
    from tfport.cli.output import print_document
    from tfport.reports.targets import render_overview

    recorded = overview(atlas())
    print_document(
        args, recorded.to_json, lambda width: render_overview(recorded, width, everything=args.all)
    )
    return 0


def show_target(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.summaries import summarize_target
    from tfport.cli.output import print_document
    from tfport.cli.target_argument import parse_targets
    from tfport.reports.targets import render_target

    summaries = [summarize_target(target, atlas()) for target in parse_targets(args.target)]
    print_document(
        args,
        lambda: {"version": VERSION, "targets": [summary.to_json() for summary in summaries]},
        lambda width: (part for summary in summaries for part in render_target(summary, width)),
    )
    return 0


def diff(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.diff import diff_registries
    from tfport.cli.output import print_document
    from tfport.cli.target_argument import parse_target
    from tfport.reports.targets import diff_json, render_diff

    before, after = parse_target(args.before), parse_target(args.after)
    difference = diff_registries(before.registry, after.registry, atlas())
    print_document(
        args,
        lambda: diff_json(difference),
        lambda width: render_diff(difference, width, everything=args.all),
    )
    return 0


def record(args: argparse.Namespace) -> int:
    from tfport.atlas.record_target import record_target
    from tfport.cli.progress import show_progress

    with show_progress(f"recording {args.path}"):
        build = record_target(args.path, args.out, notify=lambda text: print(text, file=sys.stderr))
    print(f"{args.out}: {build.name}")
    return 0


def header(args: argparse.Namespace) -> int:
    import tfport
    from tfport.atlas.selective_registration import write_header
    from tfport.cli.output import write_new_file
    from tfport.cli.target_argument import parse_target

    registry = parse_target(args.target).registry
    text = write_header([tfport.load(model) for model in args.models], registry)
    if args.out:
        write_new_file(args.out, text)
    else:
        print(text, end="")
    return 0
