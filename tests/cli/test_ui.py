"""`tfport ui`: what keeps it from starting is one sentence."""

import socket

import pytest
from tests.recorded_models import path_of

from tfport.cli.main import main

WRONG = [  # arguments                                 the sentence
    (["nowhere.pb"], "nowhere.pb: no such file or folder"),
    (["empty"], "empty: an empty folder"),
    (["notes.txt"], "notes.txt: "),
    (["--allow", "nowhere"], "--allow nowhere: there is no such folder"),
    (["--port", "99999"], "--port 99999: expected a number from 0 to 65535"),
    (["--max-upload", "3X"], "--max-upload 3X: expected a size such as 500M or 4G"),
    (["--host", "0.0.0.0"], "--host 0.0.0.0: others could reach the server; add --token-file"),
    (["--host", "0.0.0.0", "--token-file", "short"], "short: expected a token of at least 16 letters"),
    (["--token-file", "nowhere"], "nowhere: cannot read the token: No such file or directory"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_what_keeps_it_from_starting_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "short").write_text("1234\n")
    assert main(["ui", "--no-browser", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"tfport: {sentence}")
    assert printed.count("\n") == 1


def test_a_port_in_use_is_one_sentence(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["ui", path_of("loops"), "--no-browser", "--port", str(port)]) == 2
    hint = "without --port, a free one is taken"
    assert capsys.readouterr().err == (
        f"tfport: cannot listen on 127.0.0.1:{port}: Address already in use; {hint}\n"
    )
