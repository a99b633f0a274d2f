"""`tfport lib check FILE…`: check whether a custom-op library loads, and why not."""

from __future__ import annotations

import argparse
import os

from tfport.cli.arguments import add_json

HELP = "check whether libraries load, and why not (the default)"
DESCRIPTION = (
    "Check on which TensorFlow custom-op libraries load, what they register, and every reason why they "
    "do not load. The libraries are read, never loaded. Exit code 0: all load; 1: some do not; 2: tfport "
    "could not decide, or could not read a file."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .so, a wheel, or a folder with libraries")
    parser.add_argument(
        "--on",
        metavar="TARGET",
        nargs="+",
        action="extend",
        default=[],
        help="targets such as tensorflow==2.8.4 (default: every recorded release)",
    )
    parser.add_argument(
        "--library-path",
        metavar="FOLDER",
        action="append",
        default=[],
        help="folder that the dynamic linker searches, as in LD_LIBRARY_PATH; can be repeated",
    )
    parser.add_argument(
        "--sysroot", metavar="FOLDER", help="root folder of the container image that will load the libraries"
    )
    parser.add_argument(
        "--machine", choices=("x86_64", "aarch64"), help="architecture of the machine that will load them"
    )
    parser.add_argument(
        "--all", action="store_true", help="do not shorten long texts; also list the libraries that load"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.progress import show_progress
    from tfport.lib.report import report_on
    from tfport.lib.subject import LoadOptions

    options = LoadOptions(tuple(_search_path(args.library_path)), args.sysroot, args.machine)
    with show_progress(f"reading {', '.join(args.files)}"):
        report = report_on(args.files, args.on, options)
    if args.json:
        from tfport.cli.output import print_json

        print_json(report.to_json())
    else:
        from tfport.reports.console import show_result

        show_result(report, everything=args.all)
    return report.exit_code


def _search_path(options: list[str]) -> list[str]:
    """The folders of `--library-path`, then those of LD_LIBRARY_PATH."""
    environment = os.environ.get("LD_LIBRARY_PATH")
    paths = [*options, environment] if environment else options
    return [folder for path in paths for folder in path.split(":")]
