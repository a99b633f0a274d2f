"""Arguments that several commands share, so that each has one wording."""

from __future__ import annotations

import argparse
from typing import Any

DEVICES = ("cpu", "gpu")
DELEGATES = ("xnnpack", "flex", "none")
LOADERS = ("capi", "serving", "python", "keras")
PRECISIONS = ("tf32", "float32", "float16", "bfloat16")
TARGET = "a target, such as tensorflow==2.8.4; `tfport targets` lists the recorded builds"


def add_model(parser: argparse.ArgumentParser, **options: Any) -> argparse.Action:
    """MODEL and `--tags`, for the commands that need a graph."""
    model = parser.add_argument(
        "model", metavar="MODEL", help="a SavedModel, GraphDef, MetaGraph, Keras or TF.js model", **options
    )
    add_tags(parser)
    return model


def add_tags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tags", metavar="TAG[,TAG]", help="tags of the MetaGraph to use (default: serve, or the first)"
    )


def tags_of(args: argparse.Namespace) -> list[str] | None:
    """The value of `--tags`."""
    return args.tags.split(",") if args.tags else None


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=DEVICES, help="device available on the target")


def add_gpu(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gpu", metavar="GPU", help="GPU model or compute capability, such as h100, t4 or 9.0"
    )


def add_delegate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--delegate",
        choices=DELEGATES,
        help="TensorFlow Lite delegate (default: those that the interpreter applies itself)",
    )


def add_loader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--loader",
        action="append",
        choices=LOADERS,
        help="loader to simulate (default: the usual one for the target); can be repeated",
    )


def add_target_library(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--library",
        action="append",
        metavar="FILE",
        help="custom-op library that the target loads; tfport reads it but never loads it; can be repeated",
    )


def add_ops_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ops",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Python file that declares custom ops with `tfport.op` and `tfport.kernel`, or Keras layers "
        "with `tfport.layer`; it is executed; can be repeated",
    )


def add_signatures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--signature",
        action="append",
        metavar="NAME",
        help="signature that must run (default: all); can be repeated",
    )


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """`--fetch` and `--feed`, for the commands that can be asked about tensors instead of signatures."""
    parser.add_argument(
        "--fetch",
        metavar="TENSOR",
        action="append",
        default=[],
        help="output to use instead of a signature, such as logits:0 (default for a graph without "
        "signatures: a guess); can be repeated",
    )
    parser.add_argument(
        "--feed",
        metavar="TENSOR",
        action="append",
        default=[],
        help="tensor that is fed in addition to the placeholders; the nodes that compute it are not "
        "needed; can be repeated",
    )


def add_json(parser: argparse.ArgumentParser, **options: Any) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON (schema version 1)", **options)
