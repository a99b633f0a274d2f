"""`tfport bench MODEL`: latency and throughput, beside TensorFlow where it is installed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.cli.run.command import add_inputs, add_model, read_model

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tfport.runtime.bench.bench import Measured

VERSION = 1
MILLI, MEGA = 1e3, 1e6


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="latency and throughput of a model, beside TensorFlow",
        description="Run a signature again and again, each contender in a process of its own and in turn. "
        "Inputs that are not given are made up from the signature's shapes.",
    )
    add_model(parser)
    add_inputs(parser)
    parser.add_argument("--batch", metavar="N[,N]", default="1", help="sizes of the batch (default 1)")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each contender (default 3)")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.input_values import given_inputs
    from tfport.cli.progress import show_progress
    from tfport.runtime.bench.bench import bench_model
    from tfport.runtime.select_signature import select_signature

    model, _ = read_model(args)
    signature = select_signature(model, args.signature)
    with show_progress(f"measuring {args.model}"):
        found = bench_model(
            model,
            args.model,
            signature=signature.name,
            batches=_batches(args.batch),
            given=given_inputs(signature, args.input, args.inputs),
            seconds=args.seconds,
            threads=args.threads,
            engine=args.engine,
            libraries=args.library,
        )
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(
            {"version": VERSION, "model": args.model, "signature": signature.name, "rows": _json(found)}
        )
    else:
        from tfport.check.console import show

        show(lambda width: _table(args.model, signature.name, found))
    return 0


def _batches(text: str) -> list[int]:
    from tfport.errors import Error

    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise Error(f"--batch {text}: expected sizes such as 1,8")
    return sizes


def _json(found: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "contender": one.contender,
            "batch": one.batch,
            "latency_ms": one.latency * MILLI,
            "p95_ms": one.slowest * MILLI,
            "rows_per_second": one.throughput,
            "first_answer_s": one.first,
            "resident_mb": one.resident / MEGA,
        }
        for one in found
    ]


def _table(model: str, signature: str, found: Sequence[Measured]) -> Iterator[RenderableType]:
    from rich.table import Table

    from tfport.check.console import indented, title

    yield title(model, signature)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("batch", "", "latency", "p95", "rows/s", "first answer", "memory", "faster"):
        table.add_column(name, justify="left" if not name else "right")
    for one in found:
        slower = [
            m.latency / one.latency for m in found if m.batch == one.batch and m.contender == "tensorflow"
        ]
        table.add_row(
            str(one.batch),
            one.contender,
            f"{one.latency * MILLI:.2f} ms",
            f"{one.slowest * MILLI:.2f} ms",
            f"{one.throughput:.0f}",
            f"{one.first:.2f} s",
            f"{one.resident / MEGA:.0f} MB",
            f"{slower[0]:.1f}x" if slower else "",
        )
    yield indented(table)
