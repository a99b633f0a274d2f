"""`tfport bench MODEL`: measure latency and throughput, and compare with TensorFlow if installed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import add_json
from tfport.cli.commands import command
from tfport.cli.model_arguments import (
    add_engine,
    add_inputs,
    add_runnable_model,
    gpu_options,
    load_runnable_model,
)
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.graph.model import Model, Signature
    from tfport.reports.layout import ReportPart
    from tfport.runtime.bench.bench import Measured
    from tfport.runtime.custom.registry import Registry
    from tfport.runtime.profile.times import Profile

VERSION = 1
MILLI, MEGA = 1e3, 1e6
COLUMNS = ("batch", "", "latency", "p95", "rows/s", "first answer", "memory", "faster")
OTHER_ORDER = (
    "Some answers come in a different order than on the CPU: the GPU rounds products to 10 bits (TF32), as "
    "TensorFlow does there. --precision float32 keeps the order."
)
"""Printed below the table."""


@command(
    "bench",
    needs="run",
    may_need=(("GPUs", "cuda"),),
    order=8,
    help="measure latency and throughput, compared with TensorFlow",
    description="Measure a signature in tfport and, if it is installed, in TensorFlow. The two take "
    "turns, each in its own process. Inputs without a value are random, with the "
    "signature's shapes.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_runnable_model(parser)
    add_inputs(parser)
    add_engine(parser)
    parser.add_argument("--batch", metavar="N[,N]", default="1", help="batch sizes (default: 1)")
    parser.add_argument(
        "--seconds", type=float, metavar="N", default=3.0, help="seconds to measure each runtime (default: 3)"
    )
    parser.add_argument(
        "--profile", action="store_true", help="show where a run's time goes, instead of comparing"
    )
    parser.add_argument(
        "--engine-ops", action="store_true", help="with --profile: also time each ONNX op of the islands"
    )
    parser.add_argument(
        "--nodes",
        action="store_true",
        help="with --profile --json: also report where each node of the model runs, and for how long",
    )
    parser.add_argument(
        "--node-data",
        metavar="FILE",
        help="with --profile: also write each node's time, for Model Explorer with tfport's extension",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.input_values import read_inputs
    from tfport.cli.progress import show_progress
    from tfport.runtime.bench.bench import bench_model
    from tfport.runtime.select_signature import select_signature

    model, registry = load_runnable_model(args)
    signature = select_signature(model, args.signature)
    if args.profile or args.engine_ops or args.nodes or args.node_data:
        return _run_profile(args, model, registry, signature)
    with show_progress(f"measuring {args.model}"):
        measurements = bench_model(
            model,
            args.model,
            signature=signature.name,
            batches=_batches(args.batch),
            inputs=read_inputs(signature, args.input, args.inputs),
            seconds=args.seconds,
            threads=args.threads,
            engine=args.engine,
            device=args.device,
            gpu=gpu_options(args),
            libraries=args.library,
            ops_files=args.ops,
        )
    if args.json:
        from tfport.cli.output import print_json

        rows = _json(measurements)
        print_json({"version": VERSION, "model": args.model, "signature": signature.name, "rows": rows})
    else:
        from tfport.reports.console import show

        show(lambda width: _table(args.model, signature.name, measurements))
    return 0


def _run_profile(args: argparse.Namespace, model: Model, registry: Registry, signature: Signature) -> int:
    from tfport.cli.input_values import read_inputs
    from tfport.cli.progress import show_progress
    from tfport.reports.profile import profile_json, profile_text
    from tfport.runtime.bench.bench import sample_inputs
    from tfport.runtime.profile.profile import profile_model

    batches = _batches(args.batch)
    if args.node_data and len(batches) > 1:
        raise Error("--node-data is about one batch size; expected --batch N")
    inputs = read_inputs(signature, args.input, args.inputs)
    profiles: dict[int, Profile] = {}
    with show_progress(f"profiling {args.model}"):
        for batch in batches:
            profiles[batch] = profile_model(
                model,
                sample_inputs(signature, batch, inputs),
                signature=args.signature,
                seconds=args.seconds,
                engine_ops=args.engine_ops,
                nodes=args.nodes or bool(args.node_data),
                threads=args.threads,
                engine=args.engine,
                device=args.device,
                gpu=gpu_options(args),
                registry=registry,
            )
    if args.node_data:
        _write_node_data(args.node_data, model, signature.name, profiles)
    if args.json:
        from tfport.cli.output import print_json

        rows = [{"batch": batch, **profile_json(profile)} for batch, profile in profiles.items()]
        print_json({"version": VERSION, "model": args.model, "signature": signature.name, "profiles": rows})
    else:
        from tfport.reports.console import show, title

        def render(width: int) -> Iterator[ReportPart]:
            yield title(args.model, signature.name)
            for batch, profile in profiles.items():
                yield from profile_text(profile, batch, width)

        show(render)
    return 0


def _write_node_data(path: str, model: Model, signature: str, profiles: Mapping[int, Profile]) -> None:
    from tfport.cli.output import write_report
    from tfport.web.graph_view.graphs import ModelGraphs
    from tfport.web.model_explorer.node_data import times_data

    for batch, profile in profiles.items():  # one
        name = f"tfport bench: ms of {signature}, batch {batch}"
        write_report(path, times_data(profile.nodes, ModelGraphs(model), name))


def _batches(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise Error(f"--batch {text}: expected positive sizes, such as 1,8")
    return sizes


def _json(measurements: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "contender": row.contender,
            "batch": row.batch,
            "latency_ms": row.latency * MILLI,
            "p95_ms": row.slowest * MILLI,
            "rows_per_second": row.throughput,
            "first_answer_s": row.first,
            "resident_mb": row.resident / MEGA,
            "changes_order": row.changes_order,
        }
        for row in measurements
    ]


def _table(model: str, signature: str, measurements: Sequence[Measured]) -> Iterator[ReportPart]:
    from tfport.reports.console import GAP, indented, title
    from tfport.reports.layout import Grid, Text

    yield title(model, signature)
    table = Grid(gap=GAP)
    for name in COLUMNS:
        table.add_column(justify="left" if not name else "right")
    table.add_row(*(Text(name, style="bold") for name in COLUMNS))
    tensorflow = {row.batch: row.latency for row in measurements if row.contender == "tensorflow"}
    for row in measurements:
        table.add_row(
            str(row.batch),
            row.contender,
            f"{row.latency * MILLI:.2f} ms",
            f"{row.slowest * MILLI:.2f} ms",
            f"{row.throughput:.0f}",
            f"{row.first:.2f} s",
            f"{row.resident / MEGA:.0f} MB",
            f"{tensorflow[row.batch] / row.latency:.1f}x" if row.batch in tensorflow else "",
        )
    yield indented(table)
    if any(row.changes_order for row in measurements):
        yield indented(Text(OTHER_ORDER))
