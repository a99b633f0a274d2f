"""`tfport completion`: scripts that complete commands, options, files, targets, ops and codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tfport.cli.completion import SHELLS
from tfport.cli.main import main

SOURCE = Path(__file__).parents[2] / "src"
WORDS = [  # what is typed, as bash takes it apart      what must be among the suggestions
    (["chec"], "check"),
    (["check", "m", "--on", "tensorfl"], "tensorflow==2.21.0"),
    (["check", "m", "--on", "tensorflow", "=="], "2.8.4"),
    (["check", "m", "--on", "tensorflow", "==", "2.8"], "2.8.4"),
    (["ops", "FusedBatch"], "FusedBatchNormV3"),
    (["explain", "TFP10"], "TFP101"),
    (["inspect", "READ"], "README.md"),
]
DRIVER = """
tfport() { "$PYTHON" -m tfport "$@"; }
eval "$(tfport completion bash)"
COMP_WORDS=(tfport "$@") COMP_CWORD=$# COMPREPLY=()
_shtab_tfport
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_printed_for_each_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "inspect" in script
    assert ("completion --list targets" in script) or shell == "tcsh"


@pytest.mark.parametrize(("typed", "suggested"), WORDS, ids=lambda case: " ".join(case))
def test_bash_suggests(typed, suggested, tmp_path):
    (tmp_path / "README.md").touch()
    result = subprocess.run(
        ["bash", "-c", DRIVER, "bash", *typed],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(SOURCE)},
    )
    assert suggested in result.stdout.splitlines()


def test_completion_for_an_unknown_shell_is_an_error(capsys):
    with pytest.raises(SystemExit) as left:
        main(["completion", "fish?"])
    assert left.value.code == 2
    assert "(did you mean fish?)" in capsys.readouterr().err
