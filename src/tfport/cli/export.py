"""`tfport export MODEL -o PATH`: convert a model to ONNX, TensorFlow Lite, a SavedModel or a GraphDef."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import add_json, add_outputs
from tfport.cli.commands import command
from tfport.cli.export_formats import GRAPH_DEF, ONNX, SPLIT, add_format_options, format_of
from tfport.cli.model_arguments import add_runnable_model, load_whole_model
from tfport.cli.onnx_export import export_onnx, export_split
from tfport.cli.other_exports import OTHER_FORMATS, VERSION, options_of, save_certified
from tfport.cli.signature_arguments import add_signature_changes

if TYPE_CHECKING:
    from tfport.graph.model import Model


@command(
    "export",
    needs="run",
    may_need=(("checks of ONNX, safetensors", "export"), ("Keras files", "keras"), ("full-int8", "quantize")),
    order=7,
    help="convert a model to ONNX, TensorFlow Lite, a SavedModel and more",
    description="Convert a model. The output's name decides the format: FILE.onnx, FILE.tflite, FILE.pb "
    "for a GraphDef, or a name without a suffix for a SavedModel that every TensorFlow "
    "loads; FILE.safetensors, FILE.npz or weights.h5 for only the weights. With --for, "
    "tfport rewrites the model for that target, verifies it and writes a certificate; it "
    "does the same for every FILE.tflite. If it cannot convert the model, the command says "
    "why and writes nothing.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_runnable_model(parser)
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="file or folder to write")
    parser.add_argument(
        "--for", dest="target", metavar="TARGET", help="release that must run it, such as tensorflow==1.15.5"
    )
    add_format_options(parser)
    add_outputs(parser)
    add_signature_changes(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kind = format_of(args)
    if kind in (ONNX, SPLIT):
        return export_split(args) if kind == SPLIT else export_onnx(args)
    if kind in OTHER_FORMATS:
        return OTHER_FORMATS[kind](args)
    if args.target:
        return _export_for(args, kind)
    report = _tensorflow(args, kind)
    if args.json:
        from tfport.cli.output import print_json

        print_json({"version": VERSION, "model": args.model, "output": args.output, **report})
    else:
        print(f"{args.output}: {_summary(report)}")
    return 0


def _summary(report: dict[str, Any]) -> str:
    nodes = f"{report['nodes']:,} nodes"
    if report["kind"] == GRAPH_DEF:
        return f"GraphDef, {nodes}; inputs {_list(report['inputs'])}; outputs {_list(report['outputs'])}"
    stored = f", {report['variables']:,} variables" if report["variables"] else ""
    return f"SavedModel, {nodes}{stored}; signature {report['signature']}"


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _tensorflow(args: argparse.Namespace, kind: str) -> dict[str, Any]:
    from tfport.cli.progress import show_progress
    from tfport.fix.export import export_model

    with show_progress(f"exporting {args.model}"):
        model, _ = load_whole_model(args)
        written, signatures = export_model(
            model, args.output, as_graph=kind == GRAPH_DEF, options=options_of(args)
        )
    inputs = [tensor for s in signatures.values() for spec in s.inputs.values() for tensor in spec.tensors]
    outputs = [tensor for s in signatures.values() for spec in s.outputs.values() for tensor in spec.tensors]
    return {
        "kind": kind,
        "signature": ", ".join(signatures),
        "nodes": len(written.graph),
        "variables": _variables(written),
        "inputs": list(dict.fromkeys(inputs)),
        "outputs": list(dict.fromkeys(outputs)),
    }


def _variables(model: Model) -> int:
    from tfport.graph.state import variables

    return len(variables(model))


def _export_for(args: argparse.Namespace, kind: str) -> int:
    from tfport.cli.output import show_fixed
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.fix.export import export_for
    from tfport.formats.output import require_new_model

    require_new_model(args.output)
    target = parse_target(args.target)
    model, _ = load_whole_model(args)
    with show_progress(f"exporting {args.model}"):
        fixed = export_for(model, target, as_graph=kind == GRAPH_DEF, options=options_of(args))
        save_certified(fixed, args)
    return show_fixed(fixed, args)
