"""Where commands write: JSON or text on standard output, and reports in files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfport.errors import Error

if TYPE_CHECKING:
    import argparse

    from tfport.fix.result import Fixed
    from tfport.rendering import RenderedResult
    from tfport.reports.check.formats import ReportLayout
    from tfport.reports.console import Render


def print_json(value: dict[str, Any]) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()


def show_fixed(fixed: Fixed, args: argparse.Namespace) -> int:
    """Print the result of a rewrite; returns the exit code."""
    if args.json:
        print_json({**fixed.to_json(), "output": args.output if fixed.ok else None})
    else:
        from tfport.reports.console import show_result

        show_result(fixed)
    return 0 if fixed.ok else 1


def print_result(result: RenderedResult, args: argparse.Namespace, **options: bool) -> None:
    """Print a result as `--json` says; `options` are those of its text."""
    if args.json:
        print_json(result.to_json())
    else:
        from tfport.reports.console import show_result

        show_result(result, **options)


def print_document(args: argparse.Namespace, to_json: Callable[[], dict[str, Any]], render: Render) -> None:
    """Print JSON or a text, as `--json` says."""
    if args.json:
        print_json(to_json())
    else:
        from tfport.reports.console import show

        show(render)


def write_new_file(path: str, text: str) -> None:
    """Write a new file; an existing one is an error."""
    from tfport.formats.output import new_path

    with new_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def report_layout(args: argparse.Namespace, command: str, *, many: bool) -> ReportLayout:
    """The layout of a report in `--format`, on the terminal or in the file `-o`."""
    from tfport.reports.check.formats import WIDTH, ReportLayout
    from tfport.reports.lines import is_terminal, terminal_width

    color = args.format == "text" and is_terminal() and not args.output
    return ReportLayout(terminal_width() if color else WIDTH, many, args.all, color, command)


def print_report(text: str, output: str | None) -> None:
    """Print a report, or write it to a file."""
    if output is None:
        sys.stdout.write(text)
    else:
        write_report(output, text)


def write_report(path: str, text: str) -> None:
    """Write a report to a file atomically; an existing file is replaced."""
    from tfport.formats.files import reason
    from tfport.formats.output import replace_file

    content = text.encode("utf-8", "backslashreplace")
    try:
        if os.path.lexists(path) and not os.path.isfile(path):  # a pipe, /dev/stdout, or a folder (an error)
            with open(path, "wb") as file:
                file.write(content)
        else:
            replace_file(path, content)
    except OSError as error:
        raise Error(f"{path}: cannot write: {reason(error)}") from None
