"""`tfport lib new NAME`: create a small, complete project for an op in C++."""

from __future__ import annotations

import argparse
import os

from tfport.cli.arguments import add_json

VERSION = 1
HELP = "create a project with an op in C++ for tfport"
DESCRIPTION = "Create a project with an op in C++ for tfport: source, Makefile, test and README."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the project, such as my_op")
    parser.add_argument("--folder", metavar="FOLDER", help="folder to create (default: NAME)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
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
