"""`tfport export MODEL -o FILE.onnx`: convert a model to ONNX."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import add_json
from tfport.cli.commands import command
from tfport.cli.model_arguments import add_runnable_model, load_runnable_model

VERSION = 1


@command(
    "export",
    order=6,
    help="convert a model to ONNX",
    description="Convert a signature of a model to ONNX, validate the result and write it. If some nodes "
    "have no ONNX equivalent, the command lists all of them and writes nothing.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_runnable_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE.onnx", required=True, help="file to write")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.progress import show_progress
    from tfport.runtime.export import export_signature
    from tfport.runtime.select_signature import select_signature

    with show_progress(f"exporting {args.model}"):
        model, registry = load_runnable_model(args)
        signature = select_signature(model, args.signature)
        session = tfport.Session(model, registry=registry)
        graph = export_signature(session, signature, args.output).model.graph
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(
            {
                "version": VERSION,
                "model": args.model,
                "signature": signature.name,
                "output": args.output,
                "nodes": len(graph.node),
                "inputs": [info.name for info in graph.input],
                "outputs": [info.name for info in graph.output],
            }
        )
    else:
        print(f"{args.output}: {len(graph.node)} nodes, validated")
    return 0
