"""The digests of models: those that sha256sum prints."""

from __future__ import annotations

import hashlib
import subprocess

import pytest

from tfport.errors import UnreadableFile
from tfport.formats.digests import HOW, digest, model_digest, model_files


def test_the_digest_of_a_folder_is_that_of_a_list_of_its_files(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables/data").write_bytes(b"v")
    (tmp_path / "saved_model.pb").write_bytes(b"m")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in (("m", b"m"), ("v", b"v"))}
    lines = f"{sums['m']}  saved_model.pb\n{sums['v']}  variables/data\n"
    assert digest(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()
    assert digest(tmp_path / "saved_model.pb") == sums["m"]


def test_the_digest_sees_every_change_but_in_what_is_left_out(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    before = digest(tmp_path)
    (tmp_path / "certificate.json").write_bytes(b"{}")
    assert digest(tmp_path) != before
    assert digest(tmp_path, leave_out=["certificate.json"]) == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert digest(tmp_path, leave_out=["certificate.json"]) != before
    with pytest.raises(UnreadableFile, match="no such file"):
        digest(tmp_path / "a")


def test_the_command_of_the_certificate_prints_the_same(tmp_path):
    for name in ("b", "B", "a b", "sub/ü", "sub/z", "sub.x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    command = HOW.split("`")[3].replace("FOLDER", "$0")
    printed = subprocess.run(
        ["bash", "-c", command, tmp_path], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split()[0] == digest(tmp_path)


def test_a_meta_graph_has_the_digests_of_its_checkpoint(tmp_path):
    for name in ("m.meta", "m.index", "m.data-00000-of-00001", "m.other", "mm.index"):
        (tmp_path / name).write_text(name)
    files = model_files(tmp_path / "m.meta")
    assert sorted(files) == ["m.data-00000-of-00001", "m.index", "m.meta"]
    assert model_digest(tmp_path / "m.meta", files) == digest(tmp_path / "m.meta")
