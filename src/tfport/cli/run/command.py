"""`tfport run MODEL`: the model's answers, with no TensorFlow."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfport.graph.model import Model
    from tfport.runtime.custom.registry import Registry


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a model without TensorFlow",
        description="Restore a model as it says, run a signature of it on the inputs given, "
        "and print the answers.",
    )
    add_model(parser)
    add_inputs(parser)
    parser.add_argument(
        "--fetch", metavar="TENSOR", action="append", default=[], help="a tensor to fetch by name"
    )
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="write the answers into a new file")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def add_model(parser: argparse.ArgumentParser) -> None:
    """What `run`, `export` and `bench` have in common."""
    parser.add_argument(
        "model", metavar="MODEL", help="a SavedModel, frozen GraphDef, MetaGraph or TF.js model"
    )
    parser.add_argument("--signature", metavar="NAME", help="the signature, where it is not the usual one")
    parser.add_argument("--tags", metavar="TAG[,TAG]", help="the MetaGraph to run, where there are several")
    parser.add_argument(
        "--library",
        metavar="FILE.so",
        action="append",
        default=[],
        help="a library of ops that `tfport lib build` made; it is loaded",
    )


def read_model(args: argparse.Namespace) -> tuple[Model, Registry]:
    """The model, and the ops that installed packages and the libraries named bring."""
    import tfport
    from tfport.runtime.custom.library_registry import registry_with

    registry = registry_with(args.library)
    tags = args.tags.split(",") if args.tags else None
    return tfport.load(args.model, tags=tags, registry=registry), registry


def add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an input: JSON, plain text for a string, @file.npy, or @file for the content of a string",
    )
    parser.add_argument("--inputs", metavar="FILE.npz", help="inputs by name in one file")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads of the engine; all cores unless given"
    )
    parser.add_argument(
        "--engine",
        choices=("onnxruntime", "openvino", "none"),
        default="onnxruntime",
        help="what runs the numeric parts; `none` leaves all to NumPy",
    )


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.cli.input_values import given_inputs
    from tfport.cli.progress import show_progress
    from tfport.runtime.composite import flatten_inputs, pack_outputs
    from tfport.runtime.select_signature import select_signature

    model, registry = read_model(args)
    signature = select_signature(model, args.signature, args.fetch)
    feeds = flatten_inputs(signature, given_inputs(signature, args.input, args.inputs))
    with show_progress(f"running {args.model}"):
        session = tfport.Session(model, registry=registry, threads=args.threads, engine=args.engine)
        fetches = [name for spec in signature.outputs.values() for name in spec.tensors]
        answers = pack_outputs(signature, session.run(fetches, feeds))
    return say(args, signature.name, answers)


def say(args: argparse.Namespace, signature: str, answers: dict[str, Any]) -> int:
    from tfport.cli.run.outputs import answers_json, answers_text, write_npz

    if args.output:
        write_npz(answers, args.output)
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(answers_json(args.model, signature, answers))
    elif not args.output:
        from tfport.check.console import show

        show(lambda width: answers_text(answers, width))
    return 0
