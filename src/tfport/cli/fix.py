"""`tfport fix MODEL --for TARGET -o OUT`: rewrite a model for a target, and verify the result.

`tfport fix --verify CERTIFICATE` repeats the comparison of a certificate (`cli.verify_certificate`).
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tfport.cli.arguments import (
    TARGET,
    add_device,
    add_gpu,
    add_json,
    add_loader,
    add_model,
    add_outputs,
    add_target_library,
    tags_of,
)
from tfport.cli.commands import command
from tfport.cli.signature_arguments import add_signature_changes, signature_changes
from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.fix.certify.provenance import Provenance
    from tfport.fix.options import FixOptions


@command(
    "fix",
    needs="run",
    may_need=(("Keras files", "keras"),),
    order=5,
    help="rewrite a model so that a target can load and run it",
    description="Rewrite a model until the target accepts it, compare its outputs with the original's, "
    "and write it with a certificate. Exit code 0: the target accepts the model and the "
    "outputs agree; otherwise nothing is written, and the command lists the remaining "
    "findings. With --verify, repeat a certificate's comparison; exit code 0: verified; 1: "
    "changed or different; 2: not compared.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, nargs="?")
    parser.add_argument("--for", dest="target", metavar="TARGET", help=TARGET)
    parser.add_argument("-o", "--output", metavar="OUT", help="model to write")
    parser.add_argument(
        "--verify",
        metavar="CERTIFICATE",
        help="repeat the comparison in OUT.certificate.json instead; MODEL and -o say where the models "
        "are now, if they have moved",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="weights for MODEL, which is then the architecture of a Keras model (JSON, YAML or any Keras "
        "model): a Keras file, a SavedModel, or the prefix of a checkpoint of `model.save_weights`",
    )
    add_device(parser)
    add_gpu(parser)
    parser.add_argument(
        "--signature",
        metavar="NAME",
        action="append",
        default=[],
        help="signature to keep (default: all); can be repeated",
    )
    add_outputs(parser)
    add_signature_changes(parser)
    add_loader(parser)
    add_target_library(parser)
    _add_rewriting(parser)
    _add_verification(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def _add_rewriting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-lossy", action="store_true", help="allow lossy rewrites; the certificate lists them"
    )
    parser.add_argument("--freeze", action="store_true", help="replace variables with constants")
    parser.add_argument("--drop-asserts", action="store_true", help="remove assertions")
    parser.add_argument(
        "--as-graph",
        action="store_true",
        help="for -o NAME.keras or NAME.h5: write a graph that is not made of Keras layers as Keras "
        "operations; weights outside layers become constants, which cannot be trained",
    )
    parser.add_argument(
        "--rules",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Python file with additional rules; THE FILE IS EXECUTED; can be repeated",
    )


def _add_verification(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--inputs",
        metavar="FILE",
        action="append",
        default=[],
        help="compare the outputs on these inputs instead of generated ones: .npz with an array for each, or "
        ".json; can be repeated",
    )
    parser.add_argument(
        "--attestation",
        action="store_true",
        help="also write the certificate as an in-toto statement, OUT.intoto.json, for signing tools",
    )
    parser.add_argument(
        "--keep-failure",
        metavar="FOLDER",
        help="if the outputs differ, write the inputs, both outputs and the rewritten model to a new folder",
    )
    parser.add_argument("--rtol", type=float, metavar="X", help="relative tolerance of the comparison")
    parser.add_argument("--atol", type=float, metavar="X", help="absolute tolerance of the comparison")
    parser.add_argument(
        "--prove",
        action="store_true",
        help="run the rewritten model in the target itself; pip downloads its wheel into your cache folder",
    )
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="how often to run it there, each time in a new process (default: 10; with only "
        "--target-python: once)",
    )
    parser.add_argument(
        "--target-python",
        metavar="PYTHON",
        action="append",
        default=[],
        help="also run the rewritten model in this Python, which has the target's TensorFlow or "
        "TensorFlow Lite interpreter; can be repeated",
    )


def run(args: argparse.Namespace) -> int:
    if args.runs is not None and args.runs < 1:
        raise Error(f"--runs {args.runs}: expected a number of at least 1")
    if args.verify:
        from tfport.cli.verify_certificate import verify

        return verify(args)
    needed = {"MODEL": args.model, "--for TARGET": args.target, "-o OUT": args.output}
    if missing := [name for name, value in needed.items() if value is None]:
        raise Error(f"tfport fix: expected {', '.join(missing)}, or only `--verify CERTIFICATE`")
    return _rewrite(args)


def _rewrite(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.output import show_fixed
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.fix.fix_to import fix_to
    from tfport.formats.output import require_new_model
    from tfport.lib.with_libraries import with_libraries

    require_new_model(args.output)
    target = parse_target(args.target, device=args.device, gpu=args.gpu)
    (target,) = with_libraries([target], args.library or ())
    model = tfport.load(args.model, tags=tags_of(args), weights=args.weights)
    with show_progress(f"rewriting {args.model}") as progress:
        fixed = fix_to(model, target, args.output, options(args), progress)
        fixed.provenance = provenance(args)
        if fixed.ok:
            fixed.save(args.output, attestation=args.attestation)
    code = show_fixed(fixed, args)
    failed = fixed.verification.failed if fixed.verification is not None else None
    if args.keep_failure and failed is not None:
        from tfport.cli.failure_folder import write_failure

        commands = write_failure(fixed, failed, args.output, args.keep_failure)
        print("\n".join(["", "reproduce the difference with:", *commands]), file=sys.stderr)
    return code


def provenance(args: argparse.Namespace) -> Provenance:
    """How the rewrite was asked for."""
    from tfport.fix.certify.provenance import InputsFile, Provenance
    from tfport.formats.digests import digest

    inputs = tuple(InputsFile(path, digest(path)) for path in args.inputs)
    return Provenance(args.command_line, inputs_files=inputs)


def options(args: argparse.Namespace) -> FixOptions:
    from tfport.cli.input_values import read_input_file
    from tfport.fix.options import FixOptions
    from tfport.fix.rule import rules_of_file

    return FixOptions(
        signatures=tuple(args.signature) or None,
        signature_changes=signature_changes(args),
        fetches=tuple(args.fetch),
        feeds=tuple(args.feed),
        loaders=tuple(args.loader or ()) or None,
        allow_lossy=args.allow_lossy,
        freeze=args.freeze,
        drop_asserts=args.drop_asserts,
        as_graph=args.as_graph,
        rules=[rule for path in args.rules for rule in rules_of_file(path)],
        inputs=[call for path in args.inputs for call in read_input_file(path)],
        rtol=args.rtol,
        atol=args.atol,
        pythons=tuple(args.target_python),
        prove=args.prove,
        runs=args.runs,
    )
