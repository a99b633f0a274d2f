"""A run of `tfport check`: from its options to the answer and the exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfport.cli.check.formats import Form, JsonForm, OtherForm, TextForm
from tfport.cli.check.request import Asked, exit_code, of_all
from tfport.errors import Error

WIDTH = 80
ALONE = ("text", "json")
"""Where one model that cannot be read is an error; the other forms have a place for it."""


def check_given(args: argparse.Namespace) -> int:
    """The models on the command line."""
    return _check(args, [_override(Asked(model, on=()), args) for model in args.models])


def check_declared(args: argparse.Namespace) -> int:
    """The models that the repository declares."""
    from tfport.cli.check.project_config import find_project

    project = find_project(Path.cwd())
    if project is None:
        raise Error(
            "no MODEL, and no tfport.toml here or above that declares some; "
            "expected MODEL… --on TARGET… (MODEL before --on)"
        )
    args.output = args.output and os.path.abspath(args.output)
    with contextlib.chdir(project.folder):
        return _check(args, [_override(asked, args) for asked in project.checks], many=True)


def _override(asked: Asked, args: argparse.Namespace) -> Asked:
    """What was declared, where the command line does not say otherwise."""
    given = {
        "on": args.on,
        "device": args.device,
        "gpu": args.gpu,
        "loaders": args.loader,
        "signatures": args.signature,
        "soft_placement": args.soft_placement,
        "tags": args.tags and args.tags.split(","),
        "fail_on": args.fail_on,
        "checksums": args.checksums or None,
        "libraries": args.library,
    }
    said: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if v is not None
    }
    return replace(asked, **said)


def _check(args: argparse.Namespace, asked: Sequence[Asked], *, many: bool = False) -> int:
    """Answer, and say it; `many` where the answer is a list however long it is."""
    from tfport.cli.check.model_folders import models_at

    if not all(one.on for one in asked):
        raise Error("no target; expected --on TARGET…, such as --on tensorflow==2.8.4")
    folders = [models_at(one.model) for one in asked]
    every = [
        replace(one, model=path)
        for one, below in zip(asked, folders, strict=True)
        for path in (below or [one.model])
    ]
    if many or len(every) > 1 or any(folders) or args.format not in ALONE:
        return _many(args, every)
    return _one(args, every[0])


def _one(args: argparse.Namespace, asked: Asked) -> int:
    from tfport.cli.check.models import answered, report_on
    from tfport.cli.progress import show_progress

    form = _form(args, many=False)
    with show_progress(f"checking {asked.model}"):
        answer = answered(report_on(asked, ways_out=True), form)
    _say(form.whole([answer.part]), args.output)
    return exit_code(answer.outcome, asked.fail_on)


def _many(args: argparse.Namespace, asked: Sequence[Asked]) -> int:
    from tfport.cli.check.models import answers, with_progress

    form = _form(args, many=True)
    found = list(with_progress(answers(asked, form), len(asked)))
    _say(form.whole([answer.part for answer in found]), args.output)
    return of_all(exit_code(answer.outcome, one.fail_on) for answer, one in zip(found, asked, strict=True))


def _form(args: argparse.Namespace, *, many: bool) -> Form:
    if args.format == "json":
        return JsonForm(many)
    if args.format != "text":
        return OtherForm(args.format)
    colour = sys.stdout.isatty() and not args.output
    width = shutil.get_terminal_size().columns if colour else WIDTH
    return TextForm(width, many, args.all, colour)


def _say(text: str, output: str | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from tfport.cli.check.report_file import write_report

    write_report(output, text)
