"""Arguments of the commands that run a model: `run`, `export` and `bench`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import PRECISIONS, add_model, add_ops_file, tags_of
from tfport.engine_names import ENGINES, USUAL

if TYPE_CHECKING:
    from tfport.graph.model import Model
    from tfport.runtime.custom.registry import Registry
    from tfport.runtime.engines.gpu.gpu_options import GpuOptions


def add_runnable_model(parser: argparse.ArgumentParser) -> argparse.Action:
    model = add_model(parser)
    parser.add_argument(
        "--signature", metavar="NAME", help="signature to use (default: serving_default, or the only one)"
    )
    parser.add_argument(
        "--library",
        metavar="FILE.so",
        action="append",
        default=[],
        help="custom-op library built by `tfport lib build`; its code is loaded and run; can be repeated",
    )
    add_ops_file(parser)
    return model


def load_runnable_model(args: argparse.Namespace) -> tuple[Model, Registry]:
    """Load the model, and a registry with the custom ops of packages, `--ops` and `--library`."""
    import tfport
    from tfport.runtime.custom.added_ops import registry_with

    registry = registry_with(args.library, args.ops)
    return tfport.load(args.model, tags=tags_of(args), registry=registry), registry


def load_whole_model(args: argparse.Namespace) -> tuple[Model, Registry]:
    """As `load_runnable_model`, with all files of the checkpoint: what is written needs them."""
    from tfport.graph.save import require_checkpoint

    model, registry = load_runnable_model(args)
    if model.checkpoint_prefix is not None:
        require_checkpoint(model, index=True)
    return model, registry


def add_inputs(parser: argparse.ArgumentParser, **options: Any) -> None:
    """`--input` and `--inputs`; `options` replace those of the latter."""
    parser.add_argument(
        "--input",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value of an input: JSON, plain text for a string, @file.npy for an array, or @file for a "
        "string with the file's content; can be repeated",
    )
    help = "the inputs by name: .npz with an array for each, or .json"
    parser.add_argument("--inputs", **{"metavar": "FILE", "help": help, **options})


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add what decides where and how a model computes."""
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: all cores)")
    parser.add_argument(
        "--engine",
        metavar="NAME",
        choices=ENGINES,
        default=USUAL,
        help=f"engine for the numeric parts: {', '.join(ENGINES)}; default is onnxruntime, and litert for "
        "unchanged .tflite files if it is installed; auto measures which is fastest, none runs everything in "
        "NumPy",
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        default="cpu",
        help="where to compute: cpu, cuda, cuda:N, tensorrt, or auto for the GPU if there is one "
        "(default: cpu)",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="how a GPU multiplies: tf32 as in TensorFlow, in full float32, or in 16 bits (default: tf32)",
    )
    parser.add_argument(
        "--gpu-memory", type=int, metavar="BYTES", default=0, help="GPU memory limit (default: none)"
    )
    parser.add_argument(
        "--require-gpu", action="store_true", help="fail if the GPU cannot be used, instead of using the CPU"
    )


def gpu_options(args: argparse.Namespace) -> GpuOptions:
    from tfport.runtime.engines.gpu.gpu_options import GpuOptions

    return GpuOptions(
        precision=args.precision, memory_bytes=max(args.gpu_memory, 0), require=args.require_gpu
    )
