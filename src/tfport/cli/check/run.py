"""Run `tfport check`: from the options to the report and the exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Sequence
from typing import Any

from tfport.cli.check.request import CheckRequest, exit_code, worst
from tfport.cli.output import print_report, report_layout, write_report
from tfport.errors import Error
from tfport.reports.check.formats import CHECK, REPORT_FORMATS, ReportFormat
from tfport.startup.dataclass import replace


def check_named(args: argparse.Namespace) -> int:
    """Check the models on the command line."""
    return _check(args, [_override(CheckRequest(model, on=()), args) for model in args.models])


def check_declared(args: argparse.Namespace) -> int:
    """Check the models that the project's configuration declares."""
    from pathlib import Path

    from tfport.cli.check.project_config import find_project

    project = find_project(Path.cwd())
    if project is None:
        raise Error("no MODEL, and no tfport.toml in this folder or above it; expected MODEL… --on TARGET…")
    args.output = args.output and os.path.abspath(args.output)
    with contextlib.chdir(project.folder):
        return _check(args, [_override(request, args) for request in project.requests], many=True)


def _override(request: CheckRequest, args: argparse.Namespace) -> CheckRequest:
    """The request with the options of the command line, which take precedence."""
    options = {
        "on": args.on,
        "device": args.device,
        "gpu": args.gpu,
        "delegate": args.delegate,
        "loaders": args.loader,
        "signatures": args.signature,
        "fetches": args.fetch or None,
        "feeds": args.feed or None,
        "soft_placement": args.soft_placement,
        "tags": args.tags and args.tags.split(","),
        "fail_on": args.fail_on,
        "checksums": args.checksums or None,
        "custom": args.custom,
        "libraries": args.library,
        "ops_files": args.ops or None,
    }
    changes: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in options.items()
        if value is not None
    }
    return replace(request, **changes)


def _check(args: argparse.Namespace, requests: Sequence[CheckRequest], *, many: bool = False) -> int:
    """Check and print; `many` if the report is a list even for one model."""
    from tfport.cli.check.model_folders import models_at

    if not all(request.on for request in requests):
        raise Error("no target; expected --on TARGET…, such as --on tensorflow==2.8.4")
    folders = [models_at(request.model) for request in requests]
    single = [
        replace(request, model=path)
        for request, models in zip(requests, folders, strict=True)
        for path in (models or [request.model])
    ]
    (format_class,) = REPORT_FORMATS.of(args.format)
    is_many = many or len(single) > 1 or any(folders)
    if is_many and args.node_data:
        raise Error("--node-data is about one model; check the models one at a time")
    if is_many or (format_class.always_many and not args.node_data):
        return _check_many(args, single, format_class(report_layout(args, CHECK, many=True)))
    return _check_one(
        args, single[0], format_class(report_layout(args, CHECK, many=format_class.always_many))
    )


def _check_one(args: argparse.Namespace, request: CheckRequest, report_format: ReportFormat) -> int:
    from tfport.cli.check.models import check_request, model_result
    from tfport.cli.progress import show_progress

    with show_progress(f"checking {request.model}"):
        report = check_request(request, ways_out=not report_format.always_many)
        model = model_result(report, report_format)
    if args.node_data:
        from tfport.web.model_explorer.node_data import findings_data

        write_report(args.node_data, findings_data(report))
    print_report(report_format.whole([model.part]), args.output)
    return exit_code(model.verdict, model.severities, request.fail_on)


def _check_many(
    args: argparse.Namespace, requests: Sequence[CheckRequest], report_format: ReportFormat
) -> int:
    from tfport.cli.check.models import check_models
    from tfport.cli.progress import with_progress_bar

    models = list(with_progress_bar(check_models(requests, report_format), len(requests), "checking"))
    print_report(report_format.whole([model.part for model in models]), args.output)
    return worst(
        exit_code(model.verdict, model.severities, request.fail_on)
        for model, request in zip(models, requests, strict=True)
    )
