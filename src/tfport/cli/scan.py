"""`tfport scan MODEL…`: show what models could do to the machine that loads them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from tfport.cli.arguments import add_tags, tags_of
from tfport.cli.commands import command
from tfport.errors import Error
from tfport.startup.dataclass import dataclass

FORMATS = ("text", "json", "sarif", "junit")
FAIL_ON = ("error", "warning", "note", "never")
"""Each value includes those before it, except `never`."""
_WORST_LAST = (0, 2, 1)


@command(
    "scan",
    order=4,
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
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--format", choices=FORMATS, default="text", help="report format (default: text)")
    formats.add_argument(
        "--json", dest="format", action="store_const", const="json", help="print JSON, as --format json"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file for the report (default: standard output)"
    )
    parser.add_argument("--all", action="store_true", help="do not shorten long texts and lists")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class ScannedModel:
    """A model, and its report or why it could not be read."""

    path: str
    report: Any = None
    error: str = ""


def run(args: argparse.Namespace) -> int:
    from tfport.cli.check.model_folders import models_at
    from tfport.cli.check.models import with_progress
    from tfport.cli.progress import show_progress

    paths = [path for model in args.models for path in (models_at(model) or [model])]
    if len(paths) == 1:
        with show_progress(f"scanning {paths[0]}"):
            scanned = list(_scanned(args, paths))
        if scanned[0].error and args.format in ("text", "json"):
            raise Error(scanned[0].error)
    else:
        scanned = list(with_progress(_scanned(args, paths), len(paths)))
    _print(args, scanned)
    failing = FAIL_ON[: FAIL_ON.index(args.fail_on) + 1] if args.fail_on != "never" else ()
    codes = (2 if model.error else int(model.report.severity in failing) for model in scanned)
    return max(codes, key=_WORST_LAST.index)


def _scanned(args: argparse.Namespace, paths: list[str]) -> Iterator[ScannedModel]:
    """The models one after the other; one that cannot be read does not stop the others."""
    import datetime
    from pathlib import Path

    import tfport
    from tfport.cli.scan_allowed import allow_list

    allowed, today = allow_list(Path.cwd()), datetime.date.today()
    for path in paths:
        try:
            report = tfport.scan(path, tags=tags_of(args))
            allowed.apply(path, report.risks, today)
            yield ScannedModel(path, report)
        except Error as error:
            yield ScannedModel(path, error=str(error))


def _print(args: argparse.Namespace, scanned: list[ScannedModel]) -> None:
    from tfport.cli.output import write_report

    if args.format == "text" and not args.output:
        from tfport.reports.console import show
        from tfport.reports.scan import scans_text

        show(lambda width: scans_text(_results(scanned), width, everything=args.all))
        return
    text = _document(args, scanned)
    if args.output:
        write_report(args.output, text)
    else:
        print(text, end="")


def _document(args: argparse.Namespace, scanned: list[ScannedModel]) -> str:
    from tfport.reports.check.formats import REPORT_FORMATS, SCAN, ReportLayout

    if args.format == "text":
        from tfport.reports.console import plain
        from tfport.reports.scan import scans_text

        return plain(lambda width: scans_text(_results(scanned), width, everything=args.all)) + "\n"
    (format_class,) = REPORT_FORMATS.of(args.format)
    layout = ReportLayout(many=len(scanned) > 1 or format_class.always_many, command=SCAN)
    written = format_class(layout)
    return written.whole(
        [written.unreadable(m.path, m.error) if m.error else written.part(m.report) for m in scanned]
    )


def _results(scanned: list[ScannedModel]) -> list[Any]:
    """The reports, and for models that could not be read the path and the reason."""
    return [(model.path, model.error) if model.error else model.report for model in scanned]
