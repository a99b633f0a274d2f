"""How a module declares a command, and how commands are found.

    @command("inspect", order=1, help="…", description="…")
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("model", …)
        parser.set_defaults(run=run)

`run` takes the parsed arguments and returns the exit code. The index names the module that
declares a command, so `tfport inspect` imports only that module; keep its imports light.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tfport.discovery import Catalog
from tfport.extras import install_command, require
from tfport.reports.lines import terminal_width
from tfport.startup.dataclass import dataclass

HELP = ("-h", "--help")
UNDECIDED = 2
"""The exit code where tfport could not decide."""
UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (--[\w-]+)")
UNKNOWN_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
CHOICE = re.compile(r"[\w.-]+")
SIMILAR = 0.75
AddArguments = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `tfport`."""

    name: str
    order: int
    """Its place in `tfport --help`."""
    subcommands: tuple[str, ...]
    """Its subcommands, where one is required. The first is the default."""
    options: dict[str, Any]
    """Arguments of `argparse.ArgumentParser`, and `help` for `tfport --help`."""
    add_arguments: AddArguments
    needs: str = ""
    """The extra that it needs: without it, the command says so before any work."""
    may_need: tuple[tuple[str, str], ...] = ()
    """What else it can do, and the extra that it needs."""

    def add_to(self, commands: Any, *, complete: bool) -> None:
        """Add it to the subparsers of `tfport`; without its own arguments unless `complete`."""
        parser = add_parser(commands, self.name, needs=self.needs, may_need=self.may_need, **self.options)
        if complete:
            self.add_arguments(parser)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments that follow the name of the command."""
        options = {name: value for name, value in self.options.items() if name != "help"}
        parser = CommandParser(
            prog=f"tfport {self.name}",
            formatter_class=HelpFormatter,
            epilog=needs_text(self.needs, self.may_need),
            **options,
        )
        self.add_arguments(parser)
        args = parser.parse_args(self._with_subcommand(arguments))
        if self.needs:
            require(self.needs, f"tfport {self.name}")
        return args

    def _with_subcommand(self, arguments: Sequence[str]) -> Sequence[str]:
        first = arguments[0] if arguments else ""
        if not self.subcommands or first in self.subcommands or first in HELP:
            return arguments
        return [self.subcommands[0], *arguments]


def add_parser(
    commands: Any, name: str, *, needs: str = "", may_need: tuple[tuple[str, str], ...] = (), **options: Any
) -> Any:
    """Add a command or a subcommand, whose help ends with what it needs."""
    epilog = needs_text(needs, may_need)
    return commands.add_parser(name, formatter_class=HelpFormatter, epilog=epilog, **options)


def needs_text(needs: str, may_need: tuple[tuple[str, str], ...]) -> str:
    """The end of a help text: what must be installed."""
    own = install_command(needs) if needs else "pip install tfport"
    others = [(install_command(extra), f"for {what}") for what, extra in may_need]
    width = max([len(own), *(len(shown) for shown, _ in others)])
    lines = [own, *(f"{shown:{width}}  {purpose}" for shown, purpose in others)]
    return "\n".join(["needs:", *(f"  {line}" for line in lines)])


COMMANDS = Catalog[Command]("commands", "tfport.cli")


def command(
    name: str,
    *,
    order: int,
    subcommands: tuple[str, ...] = (),
    needs: str = "",
    may_need: tuple[tuple[str, str], ...] = (),
    **options: Any,
) -> Callable[[AddArguments], AddArguments]:
    """Declare a command by the function that adds its arguments."""

    def declare(add_arguments: AddArguments) -> AddArguments:
        COMMANDS.add(name, Command(name, order, subcommands, options, add_arguments, needs, may_need))
        return add_arguments

    return declare


def all_commands() -> list[Command]:
    """Every command in the index, in the order of `tfport --help`."""
    commands = [declared for name in COMMANDS.names() for declared in COMMANDS.of(name)]
    return sorted(commands, key=lambda declared: declared.order)


class CommandParser(argparse.ArgumentParser):
    """Says in one line what is wrong with a command line, and which option it resembles."""

    def error(self, message: str) -> NoReturn:
        if wrong := UNKNOWN_OPTION.match(message):
            message += did_you_mean(wrong[1], list(self._option_string_actions))
        elif wrong := UNKNOWN_CHOICE.search(message):
            message += did_you_mean(wrong[1], CHOICE.findall(wrong[2]))
        self.exit(UNDECIDED, f"{self.prog}: {message}; see {self.prog} --help\n")


def did_you_mean(wrong: str, known: Sequence[str]) -> str:
    """The end of a sentence that suggests what resembles a wrong word most, if anything does."""
    import difflib  # here, as most command lines are right

    similar = difflib.get_close_matches(wrong, known, 1, SIMILAR)
    return f" (did you mean {similar[0]}?)" if similar else ""


class HelpFormatter(argparse.HelpFormatter):
    """The layout of argparse, which makes one of these for each argument of a command."""

    def __init__(self, prog: str, max_help_position: int = 24) -> None:
        super().__init__(prog, max_help_position=max_help_position, width=terminal_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of a text that has several."""
        return text if "\n" in text else super()._fill_text(text, width, indent)

    def _set_color(self, *_: Any, **__: Any) -> None:
        """No colors, on any Python: to import those of 3.14 takes a tenth of the time of `inspect`."""
        self._theme, self._decolor = _NoTheme(), str


class _NoTheme:
    """What argparse writes around the parts of a help text."""

    def __getattr__(self, part: str) -> str:
        return ""
