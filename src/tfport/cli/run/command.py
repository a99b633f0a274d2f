"""`tfport run MODEL`: run a model without TensorFlow."""

from __future__ import annotations

import argparse
import time
from typing import Any

from tfport.cli.arguments import add_json
from tfport.cli.commands import command
from tfport.cli.model_arguments import (
    add_engine,
    add_inputs,
    add_runnable_model,
    gpu_options,
    load_runnable_model,
)
from tfport.cli.run.table_options import CALLS, InputFiles, add_table_options, refuse_table_options
from tfport.errors import Error


@command(
    "run",
    needs="run",
    may_need=(("tables", "batch"), ("models with SentencePiece", "text"), ("GPUs", "cuda")),
    order=6,
    help="run a model without TensorFlow",
    description="Load a model, restore its variables and tables, run a signature on your inputs, and "
    "print the outputs.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    model = add_runnable_model(parser)
    add_inputs(
        parser,
        nargs="+",
        action=InputFiles,
        model=model,
        help="the inputs by name: .npz with an array for each, or .json; or a table to score into the folder "
        "of -o: .parquet, .tfrecord, .csv, .jsonl, images; files, patterns, folders, s3://…",
    )
    parser.add_argument(
        "--fetch",
        metavar="TENSOR",
        action="append",
        default=[],
        help="tensor to fetch (default: the signature's outputs; for a graph without signatures, a "
        "guess); can be repeated",
    )
    add_engine(parser)
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="stop the run after this time (default: no limit)"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="run it N times; --json then has each run's seconds, and the last run's outputs",
    )
    parser.add_argument(
        "--cache",
        action="store_true",
        help="cache the prepared model, so that the next start is faster",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="write the outputs to a new .npz file, or for a table to a folder",
    )
    add_table_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.input_values import input_names, read_inputs
    from tfport.cli.progress import show_progress
    from tfport.progress_step import ProgressStep
    from tfport.runtime.bounds.run_scope import bounded
    from tfport.runtime.composite import flatten_inputs, signature_call
    from tfport.runtime.select_signature import select_signature

    if args.repeat is not None and args.repeat < 1:
        raise Error(f"--repeat {args.repeat}: expected a number of at least 1")
    if args.inputs and not args.inputs[0].endswith(CALLS):
        from tfport.cli.run.tables import score_table

        return score_table(args)
    refuse_table_options(args)
    inputs = args.inputs[0] if args.inputs else None
    model, registry = load_runnable_model(args)
    fed = [name for name in input_names(args.input, inputs) if model.has_tensor(name)]
    signature = select_signature(model, args.signature, args.fetch, fed)
    values = read_inputs(signature, args.input, inputs)
    flatten_inputs(signature, values)  # inputs that do not fit are an error before anything is loaded
    with show_progress(f"running {args.model}") as progress, bounded(timeout=args.timeout):
        session = tfport.Session(
            model,
            registry=registry,
            threads=args.threads,
            engine=args.engine,
            device=args.device,
            gpu=gpu_options(args),
            cache=args.cache,
        )
        call = signature_call(signature, session.run)
        seconds = []
        repeats = args.repeat or 1
        for done in range(repeats):
            if repeats > 1:
                progress(ProgressStep(f"run {done + 1} of {repeats}", done, repeats))
            started = time.perf_counter()
            outputs = call(**values)
            seconds.append(time.perf_counter() - started)
    print_outputs(args, signature.name, outputs, seconds)
    return 0


def print_outputs(
    args: argparse.Namespace, signature: str, outputs: dict[str, Any], seconds: list[float]
) -> None:
    from tfport.cli.run.outputs import outputs_json, render_outputs, write_npz

    if args.output:
        write_npz(outputs, args.output)
    if args.json:
        from tfport.cli.output import print_json

        times = {"seconds": seconds[0], "all_seconds": seconds} if args.repeat is not None else {}
        print_json({**outputs_json(args.model, signature, outputs), **times})
    elif not args.output:
        from tfport.reports.console import show

        show(lambda width: render_outputs(outputs, width))
