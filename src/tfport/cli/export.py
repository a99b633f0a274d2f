"""`tfport export MODEL -o model.onnx`: the lowered model, where all of it can be said in ONNX."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.run.command import add_model, read_model

VERSION = 1


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a model as ONNX",
        description="Lower a signature of a model to ONNX and write it, checked. If some nodes cannot be "
        "said in ONNX, all of them are named and nothing is written.",
    )
    add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE.onnx", required=True, help="the file to write")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.progress import show_progress
    from tfport.runtime.export import export_signature
    from tfport.runtime.select_signature import select_signature

    with show_progress(f"exporting {args.model}"):
        model, registry = read_model(args)
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
        print(f"{args.output}: {len(graph.node)} nodes, checked")
    return 0
