"""Formats that `export` writes besides ONNX and those of TensorFlow: Lite, TensorFlow.js, Triton, weights."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from tfport.cli.export_formats import LAYOUTS, LITE, TFJS, TFJS_LAYERS, TRITON, WEIGHTS
from tfport.cli.model_arguments import load_whole_model
from tfport.cli.signature_arguments import signature_changes
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.fix.options import FixOptions
    from tfport.fix.result import Fixed

VERSION = 1
LOOSER = "tfport export --tolerance X"


def options_of(args: argparse.Namespace) -> FixOptions:
    from tfport.fix.options import FixOptions

    return FixOptions(
        signatures=(args.signature,) if args.signature else None,
        signature_changes=signature_changes(args),
        fetches=tuple(args.fetch),
        feeds=tuple(args.feed),
    )


def save_certified(fixed: Fixed, args: argparse.Namespace) -> None:
    """Write a model and its certificate, unless the target does not run it or the outputs differ."""
    from tfport.fix.certify.provenance import Provenance
    from tfport.formats.output import without_slash

    fixed.provenance = Provenance(args.command_line)
    fixed.proof_command = f"tfport fix --verify {without_slash(args.output)}.certificate.json --prove"
    if fixed.ok:
        fixed.save(args.output)


def _weights(args: argparse.Namespace) -> int:
    from tfport.cli.progress import show_progress
    from tfport.fix.weights_file import write_weights

    if args.target or args.signature or args.fetch or args.feed or signature_changes(args):
        raise Error("a file of weights has no signatures and no target: leave out those options")
    with show_progress(f"exporting {args.model}"):
        model, _ = load_whole_model(args)
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
    from tfport.fix.lite.export import LiteExportOptions, export_lite, usual_interpreter
    from tfport.formats.output import require_new_model

    require_new_model(args.output)
    target = parse_target(args.target or usual_interpreter(with_flex=args.allow_flex))
    model, registry = load_whole_model(args)
    with show_progress(f"exporting {args.model}"):
        samples = _single_call(args.calibrate) if args.calibrate else None
        lite = LiteExportOptions(args.weights, args.tolerance, args.allow_flex, samples)
        fixed = export_lite(model, target, args.output, options_of(args), lite, registry)
        fixed.looser_command = LOOSER
        save_certified(fixed, args)
    return show_fixed(fixed, args)


def _single_call(path: str) -> dict[str, Any]:
    from tfport.cli.input_values import read_input_file

    calls = read_input_file(path)
    if len(calls) != 1:
        raise Error(f"{path}: expected arrays with a row for each example, found {len(calls)} calls")
    return calls[0]


def _tfjs(args: argparse.Namespace) -> int:
    from tfport.atlas.tfjs.releases import tfjs_versions
    from tfport.cli.output import show_fixed
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.formats.output import require_new_model
    from tfport.formats.tfjs.write import parse_quantization

    require_new_model(args.output)
    # without a version, the text is parsed by `packaging`, which is slow to import
    target = parse_target(args.target or f"{TFJS}=={tfjs_versions()[-1]}")
    if target.tfjs is None:
        raise Error(f"--for {args.target}: expected a release of TensorFlow.js, such as tfjs==4.22.0")
    quantization = parse_quantization(args.quantize)
    with show_progress(f"exporting {args.model}") as progress:
        model, _ = load_whole_model(args)
        options = options_of(args)
        fixed: Fixed
        if args.format == TFJS_LAYERS:
            from tfport.fix.tfjs_layers import fix_tfjs_layers

            fixed = fix_tfjs_layers(model, target, options, progress, quantization, args.tolerance)
        else:
            from tfport.fix.tfjs import fix_tfjs

            fixed = fix_tfjs(model, target, options, progress, quantization, args.tolerance)
        fixed.looser_command = LOOSER
        save_certified(fixed, args)
    return show_fixed(fixed, args)


def _triton(args: argparse.Namespace) -> int:
    """A folder of a Triton model repository, named after the model."""
    import re
    from pathlib import Path

    from tfport.cli.progress import show_progress
    from tfport.fix.triton_model import write_triton_model

    if args.target:
        raise Error("--for names a TensorFlow release; a model of Triton runs in ONNX Runtime or tfport")
    with show_progress(f"exporting {args.model}"):
        model, registry = load_whole_model(args)
        # Triton's own clients cannot ask for other names
        name = re.sub(r"[^\w.-]", "_", Path(args.model.rstrip("/")).stem, flags=re.ASCII) or "model"
        written = write_triton_model(model, args.output, name, options_of(args), registry)
    if args.json:
        from tfport.cli.output import print_json

        facts = {"backend": written.backend, "max_batch_size": written.max_batch_size, "name": name}
        whys = {"why_python": written.why_python, "why_untried": written.why_untried}
        why = {key: text for key, text in whys.items() if text}
        print_json(
            {"version": VERSION, "model": args.model, "output": args.output, "kind": TRITON, **facts, **why}
        )
        return 0
    batch = f"batches of up to {written.max_batch_size}" if written.max_batch_size else "no batches"
    print(f"{args.output}: model {name}, backend {written.backend}, {batch}")
    if written.why_python:
        print(f"  not ONNX: {written.why_python}")
    if written.why_untried:
        print(f"  not run with generated inputs: {written.why_untried}")
    return 0


OTHER_FORMATS = {WEIGHTS: _weights, LITE: _lite, TFJS: _tfjs, TFJS_LAYERS: _tfjs, TRITON: _triton}
