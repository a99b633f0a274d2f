"""The width of the terminal is what `shutil` says."""

import os
import shutil
import sys

import pytest

from tfport.reports.lines import terminal_width


@pytest.mark.parametrize("columns", ["", "0", "-5", "abc", "60", "132"])
def test_it_is_what_shutil_says(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == shutil.get_terminal_size().columns


@pytest.mark.parametrize("stream", ["closed", "none", "wide", "zero"])
def test_of_the_output(stream, monkeypatch, tmp_path):
    monkeypatch.delenv("COLUMNS", raising=False)
    with open(tmp_path / "out", "w") as output:
        monkeypatch.setattr(sys, "__stdout__", None if stream == "none" else output)
        if stream in ("wide", "zero"):
            size = os.terminal_size((200 if stream == "wide" else 0, 50))
            monkeypatch.setattr(os, "get_terminal_size", lambda _: size)
        if stream == "closed":
            output.close()
        assert terminal_width() == shutil.get_terminal_size().columns == (200 if stream == "wide" else 80)
