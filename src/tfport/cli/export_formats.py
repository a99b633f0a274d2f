"""The formats that `export` writes, and the options that only some of them have."""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

from tfport.errors import Error

ONNX, SPLIT, GRAPH_DEF, SAVED_MODEL = "onnx", "onnx_split", "graph_def", "saved_model"
LITE, WEIGHTS, TFJS, TFJS_LAYERS, TRITON = "tflite", "weights", "tfjs", "tfjs-layers", "triton"
LAYOUTS = ("tensorflow", "torch")

NAMES = {
    ONNX: "FILE.onnx",
    SPLIT: "--split",
    LITE: "FILE.tflite",
    GRAPH_DEF: "FILE.pb",
    SAVED_MODEL: "a SavedModel",
    WEIGHTS: "weights",
    TFJS: "--format tfjs",
    TFJS_LAYERS: "--format tfjs-layers",
    TRITON: "--format triton",
}
"""How messages name the formats."""

SUFFIXES = {
    ".onnx": ONNX, ".tflite": LITE, ".pb": GRAPH_DEF, "": SAVED_MODEL,
    ".safetensors": WEIGHTS, ".npz": WEIGHTS,
}  # fmt: skip
WEIGHTS_IN_HDF5 = ("weights.h5", "weights.hdf5")


class FormatOption(NamedTuple):
    """An option that only some formats have."""

    formats: tuple[str, ...]
    arguments: dict[str, Any]
    """Of `add_argument`. If the user leaves the option out, its value is None, False or an empty list."""


OPTIONS = {
    "--weights": FormatOption(
        (LITE, ONNX),
        {
            "choices": ("float16", "int8", "full-int8"),
            "help": "store the weights of a .tflite or .onnx file in fewer bits; full-int8: activations too",
        },
    ),
    "--calibrate": FormatOption(
        (LITE,),
        {
            "metavar": "FILE",
            "help": "calibration inputs for --weights full-int8: .npz with an array for each input and "
            "a row for each example",
        },
    ),
    "--allow-flex": FormatOption(
        (LITE,),
        {
            "action": "store_true",
            "help": "write ops that TensorFlow Lite lacks as Flex ops, which need an interpreter with "
            "the Flex delegate",
        },
    ),
    "--opset": FormatOption(
        (ONNX, SPLIT), {"type": int, "metavar": "N", "help": "version of ONNX's ops (default: 20)"}
    ),
    "--external-data": FormatOption(
        (ONNX, SPLIT),
        {"action": "store_true", "help": "store the weights of FILE.onnx in FILE.onnx.data"},
    ),
    "--state-as-inputs": FormatOption(
        (ONNX,),
        {
            "action": "store_true",
            "help": "turn the variables that a signature changes into inputs and outputs of FILE.onnx",
        },
    ),
    "--split": FormatOption(
        (SPLIT,),
        {
            "action": "store_true",
            "help": "write a folder: ONNX files for what ONNX supports, and a SavedModel for the rest",
        },
    ),
    "--tolerance": FormatOption(
        (LITE, ONNX, TFJS, TFJS_LAYERS),
        {
            "type": float,
            "metavar": "X",
            "help": "with --weights or --quantize: largest accepted difference in an output, relative "
            "to its largest number (default: 0.05)",
        },
    ),
    "--quantize": FormatOption(
        (TFJS, TFJS_LAYERS),
        {
            "metavar": "TYPE[=PATTERN]",
            "action": "append",
            "default": [],
            "help": "store the weights of a TensorFlow.js model as float16, uint8 or uint16: all of "
            "them, or those whose names match PATTERN; can be repeated",
        },
    ),
    "--layout": FormatOption(
        (WEIGHTS,),
        {"choices": LAYOUTS, "help": "axis order of kernels in a weights file (default: tensorflow)"},
    ),
}


def add_format_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=[TFJS, TFJS_LAYERS, TRITON],
        help="write a folder: tfjs is a TensorFlow.js graph model, tfjs-layers a layers model (from a "
        "Keras file), triton a Triton model repository",
    )
    for flag, option in OPTIONS.items():
        parser.add_argument(flag, **option.arguments)


def format_of(args: argparse.Namespace) -> str:
    """The format that `--format` or the name of the output means; an option of another one is an error."""
    kind: str = args.format or _named_by(args.output)
    if args.split:
        if kind != SAVED_MODEL or args.target:
            raise Error(f"{args.output}: --split writes a folder, without --format and --for")
        kind = SPLIT
    if args.calibrate and args.weights != "full-int8":
        raise Error("--calibrate is for --weights full-int8")
    for flag, option in OPTIONS.items():
        value = getattr(args, flag.removeprefix("--").replace("-", "_"))
        is_used = value is not None and value is not False and value != []
        if is_used and kind not in option.formats:
            *first, last = [NAMES[name] for name in option.formats]
            expected = f"{', '.join(first)} and {last}" if first else last
            raise Error(f"{args.output}: {flag} is for {expected}, not for {NAMES[kind]}")
    return kind


def _named_by(output: str) -> str:
    if output.endswith(WEIGHTS_IN_HDF5):
        return WEIGHTS
    suffix = "" if output.endswith(os.sep) else os.path.splitext(output)[1]
    if suffix not in SUFFIXES:
        raise Error(
            f"{output}: expected FILE.onnx, FILE.tflite, FILE.pb, a folder name without a suffix, or "
            "FILE.safetensors, FILE.npz or weights.h5 for weights; `tfport fix` writes Keras files"
        )
    return SUFFIXES[suffix]
