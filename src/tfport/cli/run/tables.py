"""`tfport run MODEL --inputs data.parquet -o out`: score a table."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path
from typing import Any

from tfport.cli.arguments import tags_of
from tfport.cli.model_arguments import gpu_options, load_runnable_model
from tfport.errors import Error
from tfport.extras import require
from tfport.words import count, printable

NONE = "none"
VERSION = 1


def score_table(args: argparse.Namespace) -> int:
    """Score a table; exit code 1 if every row of it failed."""
    from tfport.cli.progress import show_progress

    for name in ("timeout", "repeat"):
        if getattr(args, name) is not None:
            raise Error(f"--{name}: only for single calls, not for tables")
    if not args.output:
        raise Error("--inputs: results of a table are written to a folder; name it with -o")
    require("batch", "a table")
    from tfport.batch.scoring_job import run_job

    gc.enable()  # a job may take hours
    job = _job(args)
    with show_progress(f"scoring {args.inputs[0]}") as progress:
        try:
            result = run_job(job, progress)
        except KeyboardInterrupt:
            raise Error(
                f"interrupted; finished parts are kept in {args.output}: "
                "run the same command again to continue"
            ) from None
    _print(args, result)
    return int(result.rows > 0 and result.failed == result.rows)


def _job(args: argparse.Namespace) -> Any:
    from tfport.batch.part_writers import FORMATS
    from tfport.batch.scoring_job import PART_ROWS, ScoringJob
    from tfport.batch.scoring_options import scoring_options
    from tfport.batch.scoring_workers import ScorerSetup

    for name in ("workers", "batch_rows", "part_rows"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise Error(f"--{name.replace('_', '-')} {value}: expected a number of at least 1")
    keep = None if args.keep is None else [] if args.keep == NONE else args.keep.split(",")
    options = scoring_options(
        signature=args.signature,
        fetches=tuple(args.fetch),
        columns=dict(map(_column, args.column or ())),
        outputs=args.result or (),
        binary=args.binary or (),
        keep=keep,
        on_error=args.on_error or "fail",
        batch_rows=args.batch_rows or 0,
        threads=args.threads,
        engine=args.engine,
        device=args.device,
        server=args.server or "",
        cache=args.cache or (args.workers or 1) > 1,
    )
    setup = ScorerSetup(
        args.model,
        options,
        _constants(args),
        tuple(tags_of(args) or ()),
        tuple(args.library),
        tuple(args.ops),
        gpu_options(args),
        args.workers or 1,
    )
    folder = Path(args.output)
    return ScoringJob(setup, args.inputs, folder, args.format or FORMATS[0], args.part_rows or PART_ROWS)


def _column(text: str) -> tuple[str, list[str]]:
    name, equals, columns = text.rpartition("=")
    if not equals or not name or not columns:
        raise Error(f"--column {text}: expected INPUT=COLUMN, or several columns with commas between them")
    return name, columns.split(",")


def _constants(args: argparse.Namespace) -> dict[str, Any]:
    """`--input NAME=VALUE` beside a table: the same value for every row."""
    if not args.input:
        return {}
    from tfport.cli.input_values import read_inputs
    from tfport.runtime.select_signature import select_signature

    signature = select_signature(load_runnable_model(args)[0], args.signature, args.fetch)
    return read_inputs(signature, args.input, None)


def _print(args: argparse.Namespace, result: Any) -> None:
    if args.json:
        from tfport.cli.output import print_json

        facts = ("rows", "failed", "parts", "resumed", "seconds")
        document = {name: getattr(result, name) for name in facts}
        print_json({"version": VERSION, "model": args.model, "output": args.output, **document})
        return
    new = result.rows - result.resumed
    rate = f", {new / max(result.seconds, 1e-3):,.0f} rows/s" if new else ""
    earlier = f" ({count(result.resumed, 'row')} were there)" if result.resumed else ""
    failed = f", {result.failed:,} failed" if result.failed else ""
    where = printable(args.output)
    print(f"{where}: {count(result.rows, 'row')}{earlier} in {count(result.parts, 'part')}{failed}{rate}")
