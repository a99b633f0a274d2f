"""`tfport audit STORE… --on TARGET…`: check every model of a store."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfport.cli.arguments import add_device, add_gpu, add_json
from tfport.cli.commands import command
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.audit.audit import AuditProgress
    from tfport.audit.database import AuditDatabase
    from tfport.audit.summary import AuditSummary

FAIL_ON = ("error", "unknown", "never")
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
SECONDS = 120.0
MEMORY = "4GB"


@command(
    "audit",
    may_need=(("object stores, Parquet", "batch"), ("MLflow registries", "mlflow")),
    order=17,
    help="check every model in a folder, bucket or registry",
    description="Find every model in a store by its content, check and scan it, and summarize how many "
    "run on each target, why the others fail, and which could be rewritten. Weights are not read. "
    "With -o, results are kept: run the same command again to continue after an "
    "interruption, or later to examine only what changed. Exit code 0: all run; 1: some do "
    "not; 2: tfport could not decide, or could not read a model.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stores",
        metavar="STORE",
        nargs="+",
        help="a folder, s3://, gs:// or az:// address, MLflow registry (models:/, models:/NAME), model, or "
        "@FILE with one of these in each line",
    )
    parser.add_argument(
        "--on",
        metavar="TARGET",
        nargs="+",
        action="extend",
        required=True,
        help="where the models must run, such as tensorflow==2.15, 'tensorflow>=2.12', ai-edge-litert==2.3.0",
    )
    parser.add_argument(
        "--from",
        dest="before",
        metavar="TARGET",
        help="where the models run today; the summary shows what breaks on the way to the first --on target",
    )
    add_device(parser)
    add_gpu(parser)
    parser.add_argument(
        "--try-fix",
        action="store_true",
        help="also try to rewrite what fails, as `tfport fix` does, without comparing outputs",
    )
    parser.add_argument("--no-scan", dest="scan", action="store_false", help="do not scan for risks")
    _add_limits(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="worker processes (default: one per processor, two per processor for object stores; with --ray, "
        "one per processor of the cluster)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        default="",
        help="examine the models on a Ray cluster (tested on one machine): 10.0.0.5:6379, auto or local; "
        "its machines need tfport and must reach STORE by the same path",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        default=SECONDS,
        help=f"time limit per model (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        default=MEMORY,
        help=f"memory limit per worker, such as 500MB (default: {MEMORY})",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="SQLite file for each model's results; an existing one is continued. FILE.parquet also "
        "writes a row for each model and target, with pyarrow",
    )
    parser.add_argument(
        "--baseline",
        metavar="OLD",
        help="the -o file of an earlier audit: report only what is new since then",
    )
    parser.add_argument(
        "--group-by",
        metavar="GROUP",
        default="",
        help="count by path (the first folder), path:2 (two folders), owner, format or producer",
    )
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="error",
        help="when to exit with 1: if a model fails (error, the default); unknown: also if a verdict is "
        "unknown; never: exit with 0, or with 2 if a model cannot be read",
    )
    parser.add_argument("--all", action="store_true", help="do not shorten long lists")
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write the summary as a self-contained HTML page")


def run(args: argparse.Namespace) -> int:
    from tfport.audit.summary import group_function
    from tfport.cli.check.request import exit_code
    from tfport.cli.output import print_result, write_report

    group_function(args.group_by or "path", args.stores)  # an unknown group is an error before all the work
    summary = _audit(args)
    if args.html:
        from tfport.web.pages import audit_page

        write_report(args.html, audit_page(summary))
    if args.json or not args.html:
        print_result(summary, args, everything=args.all)
    return exit_code(summary.verdict, frozenset(), args.fail_on)


def _audit(args: argparse.Namespace) -> AuditSummary:
    from tfport.audit.audit import audit_store, usual_workers
    from tfport.audit.database import (
        PARQUET,
        check_pyarrow,
        database_beside,
        existing_database,
        write_parquet,
    )
    from tfport.audit.examine import AuditQuestions
    from tfport.audit.summary import summarize
    from tfport.audit.workers import WorkerLimits

    is_parquet = bool(args.output) and args.output.endswith(PARQUET)
    if is_parquet:
        check_pyarrow(args.output)
    if args.baseline:
        args.baseline = database_beside(args.baseline)
        existing_database(args.baseline).close()
    on = tuple(dict.fromkeys([*args.on, *([args.before] if args.before else [])]))
    questions = AuditQuestions(on, args.device, args.gpu, args.scan, args.try_fix)
    before = _only_target(args) if args.before else ""
    workers = args.jobs or (0 if args.ray else usual_workers(args.stores))
    limits = WorkerLimits(workers, args.timeout, memory_size(args.memory))
    with _database(args.output and database_beside(args.output)) as database:
        with shown_progress() as progress:
            audit_store(args.stores, questions, database, limits, progress, args.ray)
        if is_parquet:
            write_parquet(database, args.output)
        return summarize(database, group_by=args.group_by, before=before, baseline=args.baseline or "")


def _only_target(args: argparse.Namespace) -> str:
    from tfport.cli.target_argument import parse_target

    return parse_target(args.before, device=args.device, gpu=args.gpu).requirement


def memory_size(text: str) -> int:
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise Error(f"--memory {text}: expected a size, such as 500MB or 4GB")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


@contextmanager
def _database(path: str | None) -> Iterator[AuditDatabase]:
    """The file of the results; without a name one that is deleted in the end."""
    import tempfile
    from pathlib import Path

    from tfport.audit.database import AuditDatabase

    with tempfile.TemporaryDirectory(prefix="tfport-audit-") as folder:
        database = AuditDatabase(path or str(Path(folder, "audit.sqlite")))
        try:
            yield database
        finally:
            database.close()


@contextmanager
def shown_progress() -> Iterator[Callable[[AuditProgress], None]]:
    """A progress bar with the rate on a terminal."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from tfport.cli.progress import ProgressBar

    bar = ProgressBar()

    def show(progress: AuditProgress) -> None:
        if progress.total is None:
            bar.show("listing", progress.listed, None)
            return
        rate = f"{progress.models / (bar.seconds or 1.0):.1f} models/s"
        bar.show("auditing", progress.done, progress.total, rate)

    try:
        yield show
    finally:
        bar.clear()
