"""`tfport lib build SOURCE…`: compile ops in C++, for tfport, or with `--for` for a release of TensorFlow."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tfport.cli.json_output import print_json
from tfport.cli.progress import show_progress
from tfport.errors import BuildFailed, Error
from tfport.runtime.native.compiler import compile_library, flags_for_tfport, sources_in

VERSION = 1


def run(args: argparse.Namespace) -> int:
    if args.target is not None:
        return _for_tensorflow(args)
    if args.wheel or args.site_packages or args.download:
        raise Error(
            "--wheel, --site-packages and --download say where the TensorFlow of --for is; expected --for"
        )
    flags = [*flags_for_tfport(checked=args.checked), *args.flag]
    if args.print_flags:
        return _print_flags(args, flags)
    output, command = _built(args, flags)
    return _show_own(args, output, command)


def _for_tensorflow(args: argparse.Namespace) -> int:
    from tfport.runtime.native.tensorflow_flags import tensorflow_tree

    if args.checked:
        raise Error("--checked is for tfport's own header, not for TensorFlow's")
    where = {"wheel": args.wheel, "site_packages": args.site_packages, "download": args.download}
    with tensorflow_tree(args.target, **where) as tree:
        flags = [*tree.flags(), *args.flag]
        if args.print_flags:
            return _print_flags(args, flags)
        output, command = _built(args, flags)
        assert tree.target.build is not None
        return _hold_against(args, output, command, tree.target.build.requirement, tree.python)


def _print_flags(args: argparse.Namespace, flags: list[str]) -> int:
    if args.json:
        print_json({"version": VERSION, "flags": flags})
    else:
        print(" ".join(flags))
    return 0


def _built(args: argparse.Namespace, flags: list[str]) -> tuple[str, list[str]]:
    sources = args.sources or sources_in(Path.cwd())
    if not sources:
        raise BuildFailed("there are no C++ files in this folder; name them")
    output = args.output or f"lib{Path(sources[0]).stem}.so"
    with show_progress(f"compiling {', '.join(sources)}"):
        return output, compile_library(sources, output, flags)


def _show_own(args: argparse.Namespace, output: str, command: list[str]) -> int:
    """What was built, held against this tfport as if it were loaded."""
    from tfport.check.console import show
    from tfport.cli.lib.show import library_json, rendered
    from tfport.runtime.native.load_checks import check_library, read_library

    check_library(_findable(output))
    found = read_library(output)
    if args.json:
        print_json({"version": VERSION, "command": command, "library": library_json(*found)})
    else:
        show(lambda width: rendered(*found, width))
    return 0


def _hold_against(
    args: argparse.Namespace, output: str, command: list[str], release: str, python: str
) -> int:
    """What was built, held against the release that it is for."""
    from tfport.check.console import show
    from tfport.check.lib.diagnosis import LoadOptions
    from tfport.check.lib.report import report_on
    from tfport.check.lib.text import render

    report = report_on([_findable(output)], [release], LoadOptions(python=python or None))
    if args.json:
        print_json({"version": VERSION, "command": command, "report": report.to_json()})
    else:
        show(lambda width: render(report, width))
    return report.exit_code


def _findable(output: str) -> str:
    """A name that the loader does not search for elsewhere."""
    return output if "/" in output else os.path.join(".", output)
