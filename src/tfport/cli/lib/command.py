"""`tfport lib FILE…`: will a custom-op library load, and why not?"""

from __future__ import annotations

import argparse
import os
from typing import Any

from tfport.cli.lib import subcommands as lib_words


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "lib",
        help="will a custom-op library load, and why not",
        description="Read custom-op libraries without loading them, and say on which TensorFlow they load, "
        "what they register, and every reason why they do not. "
        "`tfport lib new`, `build` and `show` write, build and list libraries of ops.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .so, a wheel, or a folder with libraries")
    parser.add_argument(
        "--on",
        metavar="TARGET",
        nargs="+",
        action="extend",
        default=[],
        help="such as tensorflow==2.8.4; may be given several times. Every recorded release by default",
    )
    parser.add_argument(
        "--library-path",
        metavar="FOLDER",
        action="append",
        default=[],
        help="where the loader looks, as in LD_LIBRARY_PATH; may be given several times",
    )
    parser.add_argument("--sysroot", metavar="FOLDER", help="the root of an unpacked image that will load it")
    parser.add_argument("--machine", choices=("x86_64", "aarch64"), help="the one that will load it")
    parser.add_argument(
        "--all", action="store_true", help="nothing is cut; libraries that load are told, too"
    )
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)
    lib_words.add(commands)


def run(args: argparse.Namespace) -> int:
    from tfport.check.lib.diagnosis import LoadOptions
    from tfport.check.lib.report import report_on
    from tfport.cli.progress import show_progress

    given = [folder for text in args.library_path for folder in text.split(":")]
    environment = (
        os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.environ.get("LD_LIBRARY_PATH") else []
    )
    asked = LoadOptions((*given, *environment), args.sysroot, args.machine)
    with show_progress(f"reading {', '.join(args.files)}"):
        report = report_on(args.files, args.on, asked)
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(report.to_json())
    else:
        from tfport.check.console import show
        from tfport.check.lib.text import render

        show(lambda width: render(report, width, everything=args.all))
    return report.exit_code
