"""`tfport scan MODEL…`: show what models could do to the machine that loads them."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import add_tags, tags_of
from tfport.cli.commands import command
from tfport.errors import Error
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.cli.scan_allowed import AllowList
    from tfport.reports.check.formats import ReportFormat

FORMATS = ("text", "json", "sarif", "junit")
FAIL_ON = ("error", "warning", "note", "never")
"""Each value includes those before it, except `never`."""


@command(
    "scan",
    order=4,
    help="show what a model could do: files, network, Python, custom code",
    description="Show what models could do to the machine that loads them (read and write files, use "
    "the network, run Python or other code), when, and on which path. Nothing in a model is "
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
class ScanRequest:
    """A model to scan, or a folder of models."""

    path: str
    tags: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()
    """The models of a folder, which have requests of their own: only its other files are looked at."""


@dataclass(frozen=True)
class ScannedModel:
    """The result for one model."""

    severity: str | None
    part: Any
    """Its part of the report; None for a folder of models if its other files are harmless."""
    is_read: bool = True


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tfport.cli.check.request import worst
    from tfport.cli.output import print_report, report_layout
    from tfport.cli.progress import show_progress
    from tfport.cli.scan_allowed import allow_list
    from tfport.reports.check.formats import REPORT_FORMATS, SCAN

    requests, allowed = list(_requests(args)), allow_list(Path.cwd())
    (format_class,) = REPORT_FORMATS.of(args.format)
    many = len(requests) > 1
    report_format = format_class(report_layout(args, SCAN, many=many or format_class.always_many))
    if many or format_class.always_many:
        scanned = list(_scan_many(requests, report_format, allowed))
    else:
        with show_progress(f"scanning {requests[0].path}"):
            scanned = [_scan(requests[0], report_format, allowed)]
    print_report(report_format.whole([model.part for model in scanned]), args.output)
    failing = FAIL_ON[: FAIL_ON.index(args.fail_on) + 1] if args.fail_on != "never" else ()
    return worst(int(model.severity in failing) if model.is_read else 2 for model in scanned)


def _requests(args: argparse.Namespace) -> Iterator[ScanRequest]:
    from tfport.cli.check.model_folders import models_at

    tags = tuple(tags_of(args) or ()) or None
    for path in args.models:
        models = models_at(path)
        yield ScanRequest(path, tags, tuple(models or ()))
        yield from (ScanRequest(model, tags) for model in models or ())


def _scan_many(
    requests: Sequence[ScanRequest], report_format: ReportFormat, allowed: AllowList
) -> Iterator[ScannedModel]:
    from tfport.cli.many_models import for_each_model
    from tfport.cli.progress import with_progress_bar

    scan = functools.partial(_scan_or_report, report_format=report_format, allowed=allowed)
    scanned = with_progress_bar(for_each_model(scan, requests), len(requests), "scanning")
    return (model for model in scanned if model.part is not None)


def _scan_or_report(request: ScanRequest, report_format: ReportFormat, allowed: AllowList) -> ScannedModel:
    """Scan a model; one that cannot be read does not stop the others."""
    try:
        return _scan(request, report_format, allowed)
    except Error as error:
        return ScannedModel(None, report_format.unreadable(request.path, str(error)), is_read=False)


def _scan(request: ScanRequest, report_format: ReportFormat, allowed: AllowList) -> ScannedModel:
    """Scan a model, and keep only what is printed: the report holds the whole graph."""
    import datetime

    import tfport

    if request.models:
        from tfport.atlas.known_ops import known_ops
        from tfport.scan.scan import scan_beside

        report = scan_beside(request.path, request.models, known_ops())
        if not report.risks:
            return ScannedModel(None, None)
    else:
        report = tfport.scan(request.path, tags=request.tags)
    allowed.apply(request.path, report.risks, datetime.date.today())
    return ScannedModel(report.severity, report_format.part(report))
