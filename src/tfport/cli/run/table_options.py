"""The options of `tfport run` for tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from tfport.errors import Error

FORMATS = ("parquet", "tfrecord", "csv", "jsonl")
CALLS = (".npz", ".json")
"""Files with the inputs of one call."""
_OPTIONS = (
    "workers",
    "column",
    "keep",
    "result",
    "binary",
    "on_error",
    "format",
    "batch_rows",
    "part_rows",
    "server",
)


class InputFiles(argparse.Action):
    """One or more files, as a shell expands `data/*.csv`; MODEL may still come after a single one."""

    def __init__(self, *args: Any, model: argparse.Action, **options: Any) -> None:
        super().__init__(*args, **options)
        self.model = model

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        files: Sequence[str] = values
        if getattr(namespace, self.model.dest, None) is None and len(files) > 1:
            *files, model = files
            setattr(namespace, self.model.dest, model)
            self.model.required = False
        namespace.inputs = list(files)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tables")
    group.add_argument("--workers", type=int, metavar="N", help="scoring processes (default: 1, this one)")
    group.add_argument(
        "--column",
        metavar="INPUT=COLUMN[,COLUMN]",
        action="append",
        help="column that feeds an input of another name; several columns make a vector; can be repeated",
    )
    group.add_argument(
        "--keep",
        metavar="COLUMN[,COLUMN]",
        help="columns to copy to the results, or `none` (default: those that the model does not read)",
    )
    group.add_argument(
        "--result",
        metavar="OUTPUT",
        action="append",
        help="output to compute (default: all); can be repeated",
    )
    group.add_argument(
        "--binary",
        metavar="OUTPUT",
        action="append",
        help="string output to store as bytes, not text; can be repeated",
    )
    group.add_argument(
        "--on-error",
        choices=("fail", "null", "collect"),
        help="what to do with a row that fails: end the job, write null outputs, or also give the "
        "reason in the column `error` "
        "(default: fail)",
    )
    group.add_argument("--format", choices=FORMATS, help="format of the results (default: parquet)")
    group.add_argument("--batch-rows", type=int, metavar="N", help="rows per call (default: measured)")
    group.add_argument("--part-rows", type=int, metavar="N", help="rows per output part (default: 100000)")
    group.add_argument(
        "--server",
        metavar="HOST:PORT/NAME",
        help="gRPC address of a `tfport serve` or TensorFlow Serving that runs the model, such as on a GPU",
    )


def refuse_table_options(args: argparse.Namespace) -> None:
    """An error for options that mean nothing without a table."""
    for name in _OPTIONS:
        if getattr(args, name) is not None:
            raise Error(f"--{name.replace('_', '-')}: only for tables, such as --inputs data.parquet")
    if args.inputs and len(args.inputs) > 1:
        raise Error(f"--inputs: expected one file with the inputs of one call, found {len(args.inputs)}")
