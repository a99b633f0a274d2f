"""`tfport lib`: check, create, build and list custom-op libraries.

`tfport lib FILE…` is short for `tfport lib check FILE…`. A file that has the name of a subcommand
is written as `./new`. `build` has a module of its own.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from tfport.cli.arguments import add_json
from tfport.cli.commands import add_parser, command
from tfport.cli.lib.build import add_build

VERSION = 1


@command(
    "lib",
    may_need=(("what a library registers", "lib"), ("lib build", "native")),
    order=10,
    subcommands=("check", "new", "build", "show"),
    help="check whether a custom-op library loads; build libraries",
    usage="tfport lib FILE… [--on TARGET…]\n       tfport lib {check,new,build,show} …",
    description="Check which TensorFlow releases a custom-op library loads on, or create, build and "
    "list op libraries. `tfport lib FILE…` is short for `tfport lib check FILE…`.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", dest="subcommand", required=True, prog="tfport lib"
    )
    add_check(subcommands)
    add_new(subcommands)
    add_build(subcommands)
    add_show(subcommands)


def add_check(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "check",
        may_need=(("what a library registers", "lib"),),
        help="check whether libraries load, and why not (the default)",
        description="Check on which TensorFlow custom-op libraries load, what they register, and every "
        "reason why they do not load. The libraries are read, never loaded. Exit code 0: all load; 1: some "
        "do not; 2: tfport could not decide, or could not read a file.",
    )
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
    parser.set_defaults(run=check)


def check(args: argparse.Namespace) -> int:
    from tfport.cli.output import print_result
    from tfport.cli.progress import show_progress
    from tfport.lib.report import report_on
    from tfport.lib.subject import LoadOptions

    options = LoadOptions(tuple(_search_path(args.library_path)), args.sysroot, args.machine)
    with show_progress(f"reading {', '.join(args.files)}"):
        report = report_on(args.files, args.on, options)
    print_result(report, args, everything=args.all)
    return report.exit_code


def _search_path(options: list[str]) -> list[str]:
    """The folders of `--library-path`, then those of LD_LIBRARY_PATH."""
    environment = os.environ.get("LD_LIBRARY_PATH")
    paths = [*options, environment] if environment else options
    return [folder for path in paths for folder in path.split(":")]


def add_new(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "new",
        help="create a project with a C++ op for tfport",
        description="Create a project with a C++ op for tfport: source, Makefile, test and README.",
    )
    parser.add_argument("name", metavar="NAME", help="name of the project, such as my_op")
    parser.add_argument("--folder", metavar="FOLDER", help="folder to create (default: NAME)")
    add_json(parser)
    parser.set_defaults(run=create)


def create(args: argparse.Namespace) -> int:
    from tfport.runtime.native.new_project import op_name, write_project

    files = write_project(args.name, args.folder)
    if args.json:
        from tfport.cli.output import print_json

        print_json({"version": VERSION, "op": op_name(args.name), "files": files})
        return 0
    for file in files:
        print(f"wrote {file}")
    folder = os.path.dirname(files[0])
    print(f"\nnext: cd {folder} && tfport lib build && python -m pytest")
    return 0


def add_show(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "show",
        may_need=(("TensorFlow's libraries", "lib"),),
        help="list what libraries register",
        description="List the ops and kernels that libraries register. The libraries are read, never loaded.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a library for tfport or for TensorFlow")
    add_json(parser)
    parser.set_defaults(run=show)


def show(args: argparse.Namespace) -> int:
    from tfport.cli.output import print_document
    from tfport.errors import BadLibrary
    from tfport.extras import require
    from tfport.reports.library_contents import library_json, render_library
    from tfport.runtime.native.load_checks import read_library

    libraries = [read_library(file) for file in args.files]
    for subject, record in libraries:
        if record is None:
            require("lib", "listing a TensorFlow library's ops")
            if subject.damage:
                raise BadLibrary(f"{subject.file}: {subject.damage}")
    print_document(
        args,
        lambda: {"version": VERSION, "libraries": [library_json(*library) for library in libraries]},
        lambda width: (part for library in libraries for part in render_library(*library, width)),
    )
    return 0
