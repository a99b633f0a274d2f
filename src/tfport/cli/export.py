"""`tfport export MODEL -o PATH`: convert a model to ONNX, TensorFlow Lite, a SavedModel or a GraphDef."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import add_json, add_outputs
from tfport.cli.commands import command
from tfport.cli.model_arguments import add_runnable_model, load_runnable_model
from tfport.cli.onnx_export import ONNX, add_onnx_options, check_onnx_options, export_onnx, export_split
from tfport.cli.other_exports import (
    LITE,
    OTHER_FORMATS,
    VERSION,
    WEIGHTS,
    add_format_options,
    check_format_options,
    options_of,
)
from tfport.cli.signature_arguments import add_signature_changes
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.graph.model import Model

GRAPH_DEF, SAVED_MODEL = "graph_def", "saved_model"
SUFFIXES = {
    ".onnx": ONNX, ".tflite": LITE, ".pb": GRAPH_DEF, "": SAVED_MODEL,
    ".safetensors": WEIGHTS, ".npz": WEIGHTS,
}  # fmt: skip
WEIGHTS_IN_HDF5 = ("weights.h5", "weights.hdf5")


@command(
    "export",
    order=7,
    help="convert a model to ONNX, TensorFlow Lite, a SavedModel or a GraphDef, or its weights",
    description="Convert a model. The name of the output decides: FILE.onnx, FILE.tflite, FILE.pb for a "
    "GraphDef, or a name without a suffix for a SavedModel, which every TensorFlow loads; FILE.safetensors, "
    "FILE.npz or weights.h5 for the weights alone. With --for, the model is rewritten for that target, "
    "verified and written with a certificate, as every FILE.tflite is. If the conversion is not possible, "
    "the command says why and writes nothing.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_runnable_model(parser)
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="file or folder to write")
    parser.add_argument(
        "--for", dest="target", metavar="TARGET", help="release that must run it, such as tensorflow==1.15.5"
    )
    add_format_options(parser)
    add_onnx_options(parser)
    add_outputs(parser)
    add_signature_changes(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kind = args.format or _kind(args.output)
    check_format_options(args, kind)
    check_onnx_options(args, kind)
    if kind == ONNX or args.split:
        return export_split(args) if args.split else export_onnx(args)
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


def _kind(output: str) -> str:
    if output.endswith(WEIGHTS_IN_HDF5):
        return WEIGHTS
    suffix = "" if output.endswith(os.sep) else os.path.splitext(output)[1]
    if suffix not in SUFFIXES:
        raise Error(
            f"{output}: expected FILE.onnx, FILE.tflite, FILE.pb, a folder name without a suffix, or "
            "FILE.safetensors, FILE.npz or weights.h5 for weights; `tfport fix` writes Keras files"
        )
    return SUFFIXES[suffix]


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
        model, _ = load_runnable_model(args)
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
    from tfport.fix.certify.provenance import Provenance
    from tfport.fix.export import export_for

    target = parse_target(args.target)
    model, _ = load_runnable_model(args)
    with show_progress(f"exporting {args.model}"):
        fixed = export_for(model, target, as_graph=kind == GRAPH_DEF, options=options_of(args))
        fixed.provenance = Provenance(args.command_line)
        if fixed.ok:
            fixed.save(args.output)
    return show_fixed(fixed, args)
