"""`tfport lib build SOURCE…`: compile ops in C++ for tfport, or with `--for` for TensorFlow."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from tfport.cli.arguments import add_json
from tfport.cli.commands import add_parser
from tfport.errors import BuildFailed, Error

VERSION = 1
OF_TENSORFLOW = re.compile(
    r"\b(tensorflow|third_party|unsupported|absl)/[\w/.]+: No such file|REGISTER_(OP|KERNEL)"
)
NEEDS_TARGET = (
    "the source is an op of TensorFlow: name the release to compile it for, such as "
    "`--for tensorflow==2.21.0` (with --site-packages, --wheel or --download), or write it with tfport's "
    "header (`tfport lib new`)"
)


def add_build(subcommands: Any) -> None:
    parser = add_parser(
        subcommands,
        "build",
        may_need=(("libraries for tfport", "native"),),
        help="compile C++ ops for tfport or for a TensorFlow release",
        description="Compile C++ ops into a library for tfport or, with --for, for a TensorFlow "
        "release. tfport then checks the library as `tfport lib check` does.",
    )
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="*", help="C++ files (default: those in the current folder)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="library to write (default: libNAME.so)")
    parser.add_argument(
        "--flag",
        metavar="FLAG",
        action="append",
        default=[],
        help="additional compiler flag, such as --flag=-O3; can be repeated",
    )
    parser.add_argument("--checked", action="store_true", help="check the bounds of every access to a tensor")
    parser.add_argument(
        "--print-flags", action="store_true", help="print the compiler flags without building anything"
    )
    parser.add_argument(
        "--for", metavar="TARGET", dest="target", help="release of TensorFlow, such as tensorflow==2.21.0"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--site-packages", metavar="FOLDER", help="folder in which that TensorFlow is installed"
    )
    source.add_argument("--wheel", metavar="FILE", help="wheel of that TensorFlow")
    source.add_argument("--download", action="store_true", help="have pip download that wheel")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.runtime.native.compiler import flags_for_tfport

    if args.target is not None:
        return _build_for_tensorflow(args)
    if args.wheel or args.site_packages or args.download:
        raise Error("--wheel, --site-packages and --download need --for TARGET")
    flags = [*flags_for_tfport(checked=args.checked), *args.flag]
    if args.print_flags:
        return _print_flags(args, flags)
    try:
        output, compiler_call = _compile(args, flags)
    except BuildFailed as error:
        if OF_TENSORFLOW.search(str(error)):
            raise BuildFailed(f"{error}; {NEEDS_TARGET}") from None
        raise
    return _show_library(args, output, compiler_call)


def _build_for_tensorflow(args: argparse.Namespace) -> int:
    from tfport.runtime.native.tensorflow_flags import tensorflow_tree

    if args.checked:
        raise Error("--checked needs tfport's header, and cannot be combined with --for")
    where = {"wheel": args.wheel, "site_packages": args.site_packages, "download": args.download}
    with tensorflow_tree(args.target, **where) as tree:
        flags = [*tree.flags(), *args.flag]
        if args.print_flags:
            return _print_flags(args, flags)
        output, compiler_call = _compile(args, flags)
        assert tree.target.build is not None
        return _check_library(args, output, compiler_call, tree.target.build.requirement, tree.python)


def _print_flags(args: argparse.Namespace, flags: list[str]) -> int:
    if args.json:
        from tfport.cli.output import print_json

        print_json({"version": VERSION, "flags": flags})
    else:
        print(" ".join(flags))
    return 0


def _compile(args: argparse.Namespace, flags: list[str]) -> tuple[str, list[str]]:
    """Compile the sources; return the library and the call of the compiler."""
    from pathlib import Path

    from tfport.cli.progress import show_progress
    from tfport.runtime.native.compiler import compile_library, sources_in

    sources = args.sources or sources_in(Path.cwd())
    if not sources:
        raise BuildFailed("no C++ files in the current folder; name the files to compile")
    output = args.output or f"lib{Path(sources[0]).stem}.so"
    with show_progress(f"compiling {', '.join(sources)}"):
        return output, compile_library(sources, output, flags)


def _show_library(args: argparse.Namespace, output: str, compiler_call: list[str]) -> int:
    """Check that this tfport can load the library, and show what it registers."""
    from tfport.cli.output import print_json
    from tfport.reports.console import show
    from tfport.reports.library_contents import library_json, render_library
    from tfport.runtime.native.load_checks import check_library, read_library

    check_library(_with_folder(output))
    library = read_library(output)
    if args.json:
        print_json({"version": VERSION, "command": compiler_call, "library": library_json(*library)})
    else:
        show(lambda width: render_library(*library, width))
    return 0


def _check_library(
    args: argparse.Namespace, output: str, compiler_call: list[str], release: str, python: str
) -> int:
    """Check the library on the release that it was built for."""
    from tfport.cli.output import print_json
    from tfport.lib.report import report_on
    from tfport.lib.subject import LoadOptions
    from tfport.reports.console import show_result

    report = report_on([_with_folder(output)], [release], LoadOptions(python=python or None))
    if args.json:
        print_json({"version": VERSION, "command": compiler_call, "report": report.to_json()})
    else:
        show_result(report)
    return report.exit_code


def _with_folder(output: str) -> str:
    """A path with a slash, for which the dynamic linker does not search its folders."""
    return output if "/" in output else os.path.join(".", output)
