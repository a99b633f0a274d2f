"""`tfport fix MODEL --for TARGET -o OUT`: a model that the target accepts, and the proof."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tfport.cli.choices import DEVICES, LOADERS
from tfport.cli.targets.command import TARGET

if TYPE_CHECKING:
    from tfport.fix.options import FixOptions

VERSION = 1


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "fix",
        help="rewrite a model for a TensorFlow that does not take it",
        description="Rewrite a model until the target resolves it, compare its answers with those of the "
        "model as it was, and write it with a certificate. Exits with 0 only if both hold; otherwise "
        "nothing is written, and what remains is told.",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a SavedModel, frozen GraphDef, MetaGraph or TF.js model"
    )
    parser.add_argument("--for", dest="target", metavar="TARGET", required=True, help=TARGET)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the model to write")
    parser.add_argument("--device", choices=DEVICES, help="the hardware that is there")
    parser.add_argument("--gpu", metavar="GPU", help="which GPU that is: h100, t4, or a compute capability")
    parser.add_argument("--tags", metavar="TAG[,TAG]", help="the MetaGraph, where there are several")
    parser.add_argument(
        "--signature",
        metavar="NAME",
        action="append",
        default=[],
        help="a signature to keep; all unless said",
    )
    parser.add_argument(
        "--fetch", metavar="TENSOR", action="append", default=[],
        help="what a graph without signatures answers with; what nothing reads unless said",
    )  # fmt: skip
    parser.add_argument(
        "--loader",
        choices=LOADERS,
        action="append",
        default=[],
        help="who must load it, if not the usual ones",
    )
    parser.add_argument("--allow-lossy", action="store_true", help="use rules that lose something, by name")
    parser.add_argument("--freeze", action="store_true", help="make constants of the variables")
    parser.add_argument("--drop-asserts", action="store_true", help="let asserts do nothing")
    parser.add_argument(
        "--rules", metavar="FILE.py", action="append", default=[],
        help="rules of one's own; the file is Python code, and IS RUN",
    )  # fmt: skip
    parser.add_argument("--inputs", metavar="FILE.npz", help="real inputs to compare answers on")
    parser.add_argument("--rtol", type=float, metavar="X", help="relative tolerance of answers")
    parser.add_argument("--atol", type=float, metavar="X", help="absolute tolerance of answers")
    parser.add_argument(
        "--target-python", metavar="PYTHON", action="append", default=[],
        help="an interpreter that has the target's TensorFlow: the rewritten model is run there too",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.progress import show_progress
    from tfport.cli.targets.command import only_target
    from tfport.fix.fix import fix_model

    target = only_target(args.target, device=args.device, gpu=args.gpu)
    model = tfport.load(args.model, tags=args.tags.split(",") if args.tags else None)
    with show_progress(f"rewriting {args.model}"):
        fixed = fix_model(model, target, options(args))
        if fixed.ok:
            fixed.save(args.output)
    if args.json:
        from tfport.cli.json_output import print_json

        print_json({**fixed.to_json(), "output": args.output if fixed.ok else None})
    else:
        from tfport.check.console import show

        show(fixed.render)
    return 0 if fixed.ok else 1


def options(args: argparse.Namespace) -> FixOptions:
    from tfport.cli.input_values import read_npz
    from tfport.fix.options import FixOptions
    from tfport.fix.rulebook import rules_of_file

    return FixOptions(
        signatures=tuple(args.signature) or None,
        fetches=tuple(args.fetch),
        loaders=tuple(args.loader) or None,
        allow_lossy=args.allow_lossy,
        freeze=args.freeze,
        drop_asserts=args.drop_asserts,
        rules=[rule for path in args.rules for rule in rules_of_file(path)],
        inputs=read_npz(args.inputs) if args.inputs else {},
        rtol=args.rtol,
        atol=args.atol,
        pythons=tuple(args.target_python),
    )
