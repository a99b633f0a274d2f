"""The flags of `tfport serve`."""

import argparse
import re
import subprocess
from pathlib import Path

import pytest
from tests.serve.process import COMMAND, command

from tfport.cli.main import parser
from tfport.serve.flags import FLAGS, OURS, FlagValues, ignored_flag_warnings

SPELLINGS = {True: ["", "=true", "=True", "=1", "=t", "=yes"], False: ["=false", "=FALSE", "=0", "=f", "=no"]}
WORDS = {bool: "true", int: "7", float: "0.5", str: "text"}


def parsed(*args: str) -> argparse.Namespace:
    return parser().parse_args(["serve", *args])


@pytest.mark.parametrize("flag", [*FLAGS, *OURS], ids=lambda flag: flag.name)
def test_a_flag_is_taken_in_every_spelling(flag):
    word = flag.choices[-1] if flag.choices else WORDS[flag.kind]
    value = True if flag.kind is bool else flag.kind(word)
    for name in {flag.name, flag.name.replace("_", "-")}:
        for args in ([f"--{name}={word}"], [f"--{name}", word]):
            assert getattr(parsed(*args), flag.name) == value
    if not flag.ignored:
        assert FlagValues(parsed())._values[flag.name] == flag.default
    assert len(list(ignored_flag_warnings(parsed(f"--{flag.name}={word}")))) == bool(flag.ignored)


@pytest.mark.parametrize(
    ("spelling", "value"), [(spelling, value) for value, them in SPELLINGS.items() for spelling in them]
)
def test_booleans_in_every_spelling(spelling, value):
    flags = FlagValues(parsed(f"--enable_batching{spelling}", f"--enable_model_warmup{spelling}"))
    assert flags.boolean("enable_batching") is flags.boolean("enable_model_warmup") is value


def test_every_flag_of_tensorflow_serving_at_once(exports):
    """Each ignored flag is logged once, and a word after a boolean flag is the model."""
    ignored = [flag for flag in FLAGS if flag.ignored]
    flags = [f"--{flag.name}={WORDS[flag.kind]}" for flag in ignored]
    with command(*flags, "--enable_batching", exports, "--grpc_channel_arguments=a.b=1,c=d") as running:
        assert running.predict(1) == (200, {"predictions": [4.0]})
    for flag in ignored:
        assert running.output.count(f"--{flag.name} is ignored: {flag.ignored}") == 1


def test_the_page_has_every_flag():
    page = (Path(__file__).parents[2] / "docs" / "commands" / "serve.md").read_text().partition("## Flags")[2]
    shown = set(re.findall(r"`--(\w+)`", page))
    assert shown == {flag.name for flag in (*FLAGS, *OURS)} - {"version"}


def test_the_version():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tfport ")
