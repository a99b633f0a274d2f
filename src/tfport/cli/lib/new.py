"""`tfport lib new NAME`: a small complete project for an op in C++."""

from __future__ import annotations

import argparse
import os

from tfport.cli.json_output import print_json
from tfport.runtime.native.new_project import op_name, write_project

VERSION = 1


def run(args: argparse.Namespace) -> int:
    files = write_project(args.name, args.folder)
    if args.json:
        print_json({"version": VERSION, "op": op_name(args.name), "files": files})
        return 0
    for file in files:
        print(f"wrote {file}")
    folder = os.path.dirname(files[0])
    print(f"\nnext: cd {folder} && tfport lib build && python -m pytest")
    return 0
