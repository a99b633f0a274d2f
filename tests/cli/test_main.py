import io
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest
from tests.interrupts import interruptible
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main, parser
from tfport.words import printable

TFPORT = [sys.executable, "-c", "import sys; from tfport.cli.main import main; sys.exit(main())"]


def run(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TFPORT, *args], capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfport {version('tfport')}\n"


@pytest.mark.parametrize("arguments", [["--version", "--json"], ["--json", "--version"]])
def test_the_versions_of_engines_are_json(arguments, capsys):
    assert main(arguments) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["version"] == 1
    assert shown["tfport"] == version("tfport")
    assert shown["packages"]["onnxruntime"] == version("onnxruntime")


def test_every_command_has_help(capsys):
    for command in ("inspect", "completion"):
        with pytest.raises(SystemExit) as left:
            main([command, "--help"])
        assert left.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: tfport {command}")


SLOW = """
import sys, time, tfport
from tfport.cli.main import main

def load(*args, **options):
    print("ready", flush=True)
    time.sleep(60)

tfport.load = load
sys.exit(main(["inspect", "model"]))
"""


def test_an_interrupt_prints_one_line():
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "tfport: interrupted\n")


IMPORTING = """
import sys

class Interrupted:
    def find_spec(name, *rest):
        if name == "tfport.cli.commands":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted)
from tfport.__main__ import start
sys.exit(start())
"""


def test_an_interrupt_of_the_imports_prints_the_same_line():
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "tfport: interrupted\n")


def test_python_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "tfport", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"tfport {version('tfport')}\n")


def test_a_second_interrupt_while_the_first_is_reported_is_silent(monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def write(self, text):
            raise KeyboardInterrupt

    def load(*args, **options):
        monkeypatch.setattr(sys, "stderr", Interrupted())
        raise KeyboardInterrupt

    monkeypatch.setattr(tfport, "load", load)
    assert main(["inspect", "model"]) == 130
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_is_not_an_error():
    process = subprocess.Popen(
        [*TFPORT, "inspect", path_of("large_index"), "--all", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.read(10)
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=30)
    assert error == ""


def test_characters_outside_the_encoding_are_escaped():
    done = run("inspect", path_of("table_from_file"), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "string \\u2192 int64" in done.stdout
    assert done.stderr == ""


def test_control_characters_in_errors_are_escaped():
    assert printable("a\nb\x1b[2J\u2028é") == "a\\nb\\x1b[2J\\u2028é"


def test_help_imports_nothing_heavy():
    code = "import sys; from tfport.cli.main import parser; parser(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "google.protobuf", "rich", "shtab", "sqlite3", "tensorflow"} & set(loaded)


def test_a_parsed_command_can_be_run():
    args = parser().parse_args(["inspect", "model", "--tags", "serve,gpu"])
    assert callable(args.run)
