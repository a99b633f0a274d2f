"""`tfport lib show FILE…`: list what libraries register, for tfport or for TensorFlow."""

from __future__ import annotations

import argparse

from tfport.cli.arguments import add_json

VERSION = 1
HELP = "list what libraries register"
DESCRIPTION = "List the ops and kernels that libraries register. The libraries are read, never loaded."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a library for tfport or for TensorFlow")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.errors import BadLibrary
    from tfport.reports.library_contents import library_json, render_library
    from tfport.runtime.native.load_checks import read_library

    libraries = [read_library(file) for file in args.files]
    for subject, record in libraries:
        if record is None and subject.damage:
            raise BadLibrary(f"{subject.file}: {subject.damage}")
    if args.json:
        from tfport.cli.output import print_json

        rows = [library_json(subject, record) for subject, record in libraries]
        print_json({"version": VERSION, "libraries": rows})
    else:
        from tfport.reports.console import show

        show(lambda width: (part for library in libraries for part in render_library(*library, width)))
    return 0
