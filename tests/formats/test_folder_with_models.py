"""A folder with several models asks; a damaged file does not hide a good one."""

import shutil

import pytest
from tests.frontends.keras.files import write_h5
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main


@pytest.fixture
def folder(tmp_path):
    shutil.copy(path_of("frozen"), tmp_path / "graph.pb")
    return tmp_path


def test_two_models_of_different_formats_are_both_named(folder):
    write_h5(folder / "model.h5")
    with pytest.raises(tfport.Error) as raised:
        tfport.load(folder)
    assert "contains 2 models: " in str(raised.value)
    assert "graph.pb" in str(raised.value)
    assert "model.h5" in str(raised.value)
    assert "pass the path of one, such as " in str(raised.value)


def test_a_damaged_file_does_not_hide_the_good_one(folder, capsys):
    (folder / "cut.pb").write_bytes((folder / "graph.pb").read_bytes()[:300])
    assert tfport.load(folder).where.endswith("graph.pb")
    assert main(["check", str(folder), "--on", "tensorflow==2.8.4"]) == 2
    printed = capsys.readouterr().out.replace("\n", "")  # long paths are wrapped
    assert "2 models: 1 run, 1 cannot be read" in printed
    assert "cut.pb" in printed


def test_a_damaged_file_alone_is_the_error(tmp_path):
    (tmp_path / "cut.pb").write_bytes(b"\x0a\xff\xff\x01cut")
    with pytest.raises(tfport.Error, match=r"cut.pb"):
        tfport.load(tmp_path)


def test_a_check_of_a_folder_takes_every_format(folder, capsys):
    write_h5(folder / "model.h5")
    main(["check", str(folder), "--on", "tensorflow==2.8.4"])
    printed = capsys.readouterr().out.replace("\n", "")  # long paths are wrapped
    assert "graph.pb" in printed
    assert "model.h5" in printed
    assert "2 models" in printed
