"""`tfport env BUILD RUNTIME`: compare two environments; `tfport env --gpu`: the GPUs of this machine."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import add_device, add_json, add_loader
from tfport.cli.commands import command
from tfport.errors import Error

ENVIRONMENT = (
    "output of pip freeze or pip list, a requirements file, a lock file, output of conda list, a Dockerfile, "
    "an image such as tensorflow/serving:2.8.0, the root folder of an unpacked image, a site-packages "
    "folder, . (this environment), or packages such as tensorflow==2.8.4"
)
FAIL_ON = ("breaks", "may-break")


@command(
    "env",
    order=11,
    help="compare two environments, and show what could break a model",
    description="Compare two environments. Report the differences that can break a model or an op "
    "library, what each would break, and how certain that is. Exit code 0: nothing breaks; "
    "1: something breaks; 2: something is unknown, such as an environment's TensorFlow, or "
    "cannot be read. With --gpu, list this machine's GPUs and whether tfport can use them; "
    "exit code 0: it can; 1: it cannot.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("build", metavar="BUILD", nargs="?", help=f"environment that works: {ENVIRONMENT}")
    parser.add_argument(
        "runtime", metavar="RUNTIME", nargs="?", help="environment that must work; any of the same kinds"
    )
    parser.add_argument("--gpu", action="store_true", help="list the GPUs here, and why they cannot be used")
    parser.add_argument("--model", metavar="MODEL", help="report only what affects this model")
    parser.add_argument(
        "--library",
        metavar="FILE",
        action="append",
        default=[],
        help="custom-op library that must load in both; it is read, never loaded; can be repeated",
    )
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default=FAIL_ON[0],
        help="least serious difference that gives exit code 1 (default: breaks)",
    )
    add_device(parser)
    add_loader(parser)
    parser.add_argument("--all", action="store_true", help="do not shorten long lists")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.gpu:
        return _show_gpus(args)
    if args.build is None or args.runtime is None:
        raise Error("expected two environments, BUILD and RUNTIME, or --gpu")
    import tfport
    from tfport.cli.output import print_result
    from tfport.cli.progress import show_progress
    from tfport.env.compare import compare

    with show_progress(f"comparing {args.build} and {args.runtime}"):
        model = tfport.load(args.model) if args.model else None
        comparison = compare(
            args.build,
            args.runtime,
            model=model,
            libraries=args.library,
            device=args.device,
            loader=args.loader,
        )
    print_result(comparison, args, everything=args.all)
    return comparison.exit_code_for(args.fail_on)


def _show_gpus(args: argparse.Namespace) -> int:
    from tfport.cli.output import print_document
    from tfport.reports.environments import render_gpus
    from tfport.runtime.engines.gpu.availability import gpu_report

    report = gpu_report()
    print_document(args, lambda: {"version": 1, **report.to_json()}, lambda width: render_gpus(report, width))
    return 1 if report.problem else 0
