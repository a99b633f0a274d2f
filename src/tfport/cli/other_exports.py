"""Formats that `export` writes besides ONNX and those of TensorFlow: Lite, TensorFlow.js, Triton, weights."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from tfport.cli.model_arguments import load_runnable_model
from tfport.cli.signature_arguments import signature_changes
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.fix.options import FixOptions

VERSION = 1
LITE, WEIGHTS, TFJS, TFJS_LAYERS, TRITON = "tflite", "weights", "tfjs", "tfjs-layers", "triton"
LAYOUTS = ("tensorflow", "torch")


def add_format_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=[TFJS, TFJS_LAYERS, TRITON],
        help="tfjs: a TensorFlow.js graph model; tfjs-layers: a layers model, of a Keras file; triton: a "
        "model of a Triton repository; PATH is a folder",
    )
    parser.add_argument(
        "--weights",
        choices=("float16", "int8", "full-int8"),
        help="store the weights of a .tflite or .onnx file in fewer bits; full-int8: activations too",
    )
    parser.add_argument(
        "--calibrate",
        metavar="FILE",
        help="inputs for --weights full-int8: .npz with an array for each, a row for each example",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="largest difference of outputs, relative to their largest number, for --weights (default: 0.05)",
    )
    parser.add_argument(
        "--allow-flex",
        action="store_true",
        help="write ops that TensorFlow Lite lacks as Flex ops, which need TensorFlow's interpreter",
    )
    parser.add_argument(
        "--quantize",
        metavar="TYPE[=PATTERN]",
        action="append",
        default=[],
        help="store weights of a TensorFlow.js model as float16, uint8 or uint16: all, or those whose names "
        "match; can be repeated",
    )
    parser.add_argument(
        "--layout", choices=LAYOUTS, help="axes of kernels in a file of weights (default: tensorflow)"
    )


def check_format_options(args: argparse.Namespace, kind: str) -> None:
    """Raise an error for an option of another format."""
    if kind not in (LITE, "onnx") and (args.weights or args.tolerance is not None):
        raise Error(f"{args.output}: --weights and --tolerance are for FILE.tflite and FILE.onnx")
    if kind != LITE and (args.allow_flex or args.calibrate):
        raise Error(f"{args.output}: --calibrate and --allow-flex are for FILE.tflite")
    if args.calibrate and args.weights != "full-int8":
        raise Error("--calibrate is for --weights full-int8")
    if kind not in (TFJS, TFJS_LAYERS) and args.quantize:
        raise Error(f"{args.output}: --quantize is for --format tfjs and tfjs-layers")
    if kind != WEIGHTS and args.layout:
        raise Error(f"--layout is for weights; {args.output} is a model, whose kernels have one layout")


def options_of(args: argparse.Namespace) -> FixOptions:
    from tfport.fix.options import FixOptions

    return FixOptions(
        signatures=(args.signature,) if args.signature else None,
        signature_changes=signature_changes(args),
        fetches=tuple(args.fetch),
        feeds=tuple(args.feed),
    )


def _weights(args: argparse.Namespace) -> int:
    from tfport.cli.progress import show_progress
    from tfport.fix.weights_file import write_weights

    if args.target or args.signature or args.fetch or args.feed or signature_changes(args):
        raise Error("a file of weights has no signatures and no target: leave out those options")
    with show_progress(f"exporting {args.model}"):
        model, _ = load_runnable_model(args)
        weights = write_weights(model, args.output, args.layout or LAYOUTS[0])
    elements = sum(math.prod(weight.shape) for weight in weights)
    if args.json:
        from tfport.cli.output import print_json

        names = {weight.name: list(weight.shape) for weight in weights}
        print_json(
            {
                "version": VERSION,
                "model": args.model,
                "output": args.output,
                "kind": WEIGHTS,
                "weights": names,
            }
        )
    else:
        print(f"{args.output}: {len(weights):,} arrays, {elements:,} elements")
    return 0


def _lite(args: argparse.Namespace) -> int:
    """A TensorFlow Lite file, compared with the model, and its certificate."""
    from tfport.cli.output import show_fixed
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.fix.certify.provenance import Provenance
    from tfport.fix.lite.export import LiteExportOptions, export_lite, usual_interpreter

    target = parse_target(args.target or usual_interpreter(with_flex=args.allow_flex))
    model, registry = load_runnable_model(args)
    with show_progress(f"exporting {args.model}"):
        samples = _single_call(args.calibrate) if args.calibrate else None
        lite = LiteExportOptions(args.weights, args.tolerance, args.allow_flex, samples)
        fixed = export_lite(model, target, args.output, options_of(args), lite, registry)
        fixed.provenance = Provenance(args.command_line)
        if fixed.ok:
            fixed.save(args.output)
    return show_fixed(fixed, args)


def _single_call(path: str) -> dict[str, Any]:
    from tfport.cli.input_values import read_input_file

    calls = read_input_file(path)
    if len(calls) != 1:
        raise Error(f"{path}: expected arrays with a row for each example, found {len(calls)} calls")
    return calls[0]


def _tfjs(args: argparse.Namespace) -> int:
    from tfport.cli.output import show_fixed
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.fix.certify.provenance import Provenance
    from tfport.fix.result import Fixed
    from tfport.fix.tfjs import fix_tfjs
    from tfport.fix.tfjs_layers import fix_tfjs_layers
    from tfport.formats.tfjs.write import parse_quantization

    target = parse_target(args.target or TFJS)
    if target.tfjs is None:
        raise Error(f"--for {args.target}: expected a release of TensorFlow.js, such as tfjs==4.22.0")
    quantization = parse_quantization(args.quantize)
    with show_progress(f"exporting {args.model}") as progress:
        model, _ = load_runnable_model(args)
        options = options_of(args)
        fixed: Fixed
        if args.format == TFJS_LAYERS:
            fixed = fix_tfjs_layers(model, target.tfjs, options, progress, quantization)
        else:
            fixed = fix_tfjs(model, target, options, progress, quantization)
        fixed.provenance = Provenance(args.command_line)
        if fixed.ok:
            fixed.save(args.output)
    return show_fixed(fixed, args)


def _triton(args: argparse.Namespace) -> int:
    """A folder of a Triton model repository, named after the model."""
    from pathlib import Path

    from tfport.cli.progress import show_progress
    from tfport.fix.triton_model import write_triton_model

    if args.target:
        raise Error("--for names a TensorFlow release; a model of Triton runs in ONNX Runtime or tfport")
    with show_progress(f"exporting {args.model}"):
        model, registry = load_runnable_model(args)
        name = Path(args.model.rstrip("/")).stem or "model"
        written = write_triton_model(model, args.output, name, options_of(args), registry)
    if args.json:
        from tfport.cli.output import print_json

        facts = {"backend": written.backend, "max_batch_size": written.max_batch_size, "name": name}
        why = {"why_python": written.why_python} if written.why_python else {}
        print_json(
            {"version": VERSION, "model": args.model, "output": args.output, "kind": TRITON, **facts, **why}
        )
        return 0
    batch = f"batches of up to {written.max_batch_size}" if written.max_batch_size else "no batches"
    print(f"{args.output}: model {name}, backend {written.backend}, {batch}")
    if written.why_python:
        print(f"  not ONNX: {written.why_python}")
    return 0


OTHER_FORMATS = {WEIGHTS: _weights, LITE: _lite, TFJS: _tfjs, TFJS_LAYERS: _tfjs, TRITON: _triton}
