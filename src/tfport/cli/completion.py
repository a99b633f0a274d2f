"""`tfport completion SHELL`: print a completion script.

Arguments are completed by what their metavar says they are: files, folders, and what `--list` prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from tfport.cli.commands import command

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
FILES = ("MODEL", "FILE", "FILE.py", "FILE.so", "FILE.npz", "CERTIFICATE", "PATH", "OUT", "SOURCE")
FOLDERS = ("FOLDER", "DIR")
LISTED = {"TARGET": "targets", "NAME of ops": "ops", "TEXT of explain": "codes"}
"""What `--list` prints for a metavar, or for that of one command."""
BASH_TARGETS = """
# bash takes tensorflow==2.8.4 for three words
_tfport_targets() {
  local words=("${COMP_WORDS[@]}") at=$COMP_CWORD all
  all=$(tfport completion --list targets)
  if [[ ${words[at]} == "==" ]]; then
    sed -n "s/^${words[at-1]}==//p" <<< "$all"
  elif [[ ${words[at-1]} == "==" ]]; then
    compgen -W "$(sed -n "s/^${words[at-2]}==//p" <<< "$all")" -- "$1"
  else
    compgen -W "$all" -- "$1"
  fi
}"""


@command(
    "completion",
    order=15,
    help="print a shell completion script",
    description='Print a shell completion script. For bash: eval "$(tfport completion bash)"',
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("shell", nargs="?", choices=SHELLS, help="shell to print the script for")
    wanted.add_argument("--list", choices=list(_LISTS), help="print the names that completion scripts offer")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.list:
        print("\n".join(_LISTS[args.list]()))
        return 0
    import shtab

    from tfport.cli.main import parser

    top = parser()
    for name, action in _actions(top):
        completed = _completed(shtab, name, str(action.metavar))
        if completed is not None and not action.choices:
            action.complete = completed  # type: ignore[attr-defined]  # where shtab looks for it
    print(shtab.complete(top, args.shell))
    return 0


def _actions(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.Action]]:
    """The arguments of every command, with the name of the command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command_name, below in action.choices.items():
                yield from _actions(below, name or command_name)
        else:
            yield name, action


def _completed(shtab: Any, name: str, metavar: str) -> Any:
    """How the values of an argument are completed, as shtab says it; None if they are not."""
    if metavar in FILES:
        return shtab.FILE
    if metavar in FOLDERS:
        return shtab.DIRECTORY
    listed = LISTED.get(metavar) or LISTED.get(f"{metavar} of {name}")
    if listed is None:
        return None
    completed = shtab.cmd(f"tfport completion --list {listed}")
    if listed == "targets":
        preamble = {**completed["preamble"], "bash": BASH_TARGETS}
        return {**completed, "bash": "_tfport_targets", "preamble": preamble}
    return completed


def _targets() -> list[str]:
    from tfport.check.target_suggestions import all_targets

    return [target.requirement for target in all_targets()]


def _ops() -> list[str]:
    from tfport.atlas.atlas import atlas

    return sorted(atlas().op_names())


def _codes() -> list[str]:
    from tfport.explain.code import all_codes

    return [code.code for code in all_codes()]


_LISTS: dict[str, Callable[[], list[str]]] = {"targets": _targets, "ops": _ops, "codes": _codes}
