"""`tfport export MODEL -o FILE.onnx`: its options, and what it prints."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tfport.cli.export_formats import ONNX, SPLIT
from tfport.cli.model_arguments import load_whole_model
from tfport.cli.other_exports import VERSION, options_of
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.runtime.export import OnnxOptions

MAX_LISTED = 20


def export_onnx(args: argparse.Namespace) -> int:
    from tfport.cli.progress import show_progress
    from tfport.fix.onnx_export import export_onnx_file
    from tfport.formats.output import require_new, require_new_model

    if args.target:
        raise Error("--for names a TensorFlow release; an ONNX file is not for TensorFlow")
    options = _options(args)
    (require_new_model if options.half_weights else require_new)(args.output)
    with show_progress(f"exporting {args.model}"):
        model, registry = load_whole_model(args)
        written = export_onnx_file(
            model,
            args.output,
            options_of(args),
            options,
            registry,
            tolerance=args.tolerance,
            command=args.command_line,
        )
    report: dict[str, Any] = {
        "kind": ONNX,
        "signature": written.signature.name,
        "opset": options.opset,
        "nodes": written.nodes,
        "inputs": written.inputs,
        "outputs": written.outputs,
    }
    if written.loss:
        report |= {"comparison": written.loss, "written": not written.differs}
    if args.json:
        from tfport.cli.output import print_json

        print_json({"version": VERSION, "model": args.model, "output": args.output, **report})
    elif written.differs:
        print(f"{args.output}: not written: {written.loss}; --tolerance accepts larger differences")
    else:
        loss = f"; {written.loss}" if written.loss else ""
        print(f"{args.output}: {written.nodes:,} nodes, validated{loss}")
    return int(written.differs)


def export_split(args: argparse.Namespace) -> int:
    from tfport.cli.progress import show_progress
    from tfport.fix.onnx_split import write_split
    from tfport.formats.output import require_new

    options = _options(args)
    require_new(args.output)
    with show_progress(f"exporting {args.model}"):
        model, registry = load_whole_model(args)
        written = write_split(model, args.output, options_of(args), options, registry)
    if args.json:
        from tfport.cli.output import print_json

        report = {"kind": SPLIT, "signature": written.signature, "parts": written.parts}
        print_json({"version": VERSION, "model": args.model, "output": args.output, **report})
        return 0
    print(f"{args.output}: {written.onnx_nodes:,} nodes in ONNX, {len(written.host_nodes):,} on the host")
    for node in written.host_nodes[:MAX_LISTED]:
        print(f"  {node['name']} ({node['op']}): {node['why']}")
    return 0


def _options(args: argparse.Namespace) -> OnnxOptions:
    from tfport.runtime.export import OnnxOptions
    from tfport.runtime.onnx.builder import OPSET
    from tfport.runtime.onnx.file import newest_opset
    from tfport.runtime.onnx.opset import check_opset

    if args.weights not in (None, "float16"):
        raise Error(f"--weights {args.weights} is for FILE.tflite; an ONNX file has float16")
    if args.opset is not None:
        check_opset(args.opset, newest_opset())
    return OnnxOptions(
        opset=OPSET if args.opset is None else args.opset,
        external_data=args.external_data,
        half_weights=args.weights == "float16",
        strings=True,
        drop_asserts=True,
        state_as_inputs=args.state_as_inputs,
    )
