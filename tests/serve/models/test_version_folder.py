"""A version without a model: the status says what its folder contains and what was expected."""

import pytest
from tests.serve.models.exports import adder
from tests.serve.process import refused

from tfport.serve.models.loading import has_model

EXPECTED = "expected saved_model.pb or a Keras file in the folder of a version, found "
COPY = "; copy everything there that the export wrote"
FOLDERS = [  # files                                          message
    ({}, f"{EXPECTED}an empty folder{COPY}"),
    ({"notes.txt": b"", "variables/variables.index": b"x"}, f"{EXPECTED}notes.txt, variables/{COPY}"),
    ({f"{n}.txt": b"text" for n in range(8)},
     f"{EXPECTED}0.txt, 1.txt, 2.txt, 3.txt, 4.txt, 5.txt and 2 more{COPY}"),
    ({"export/saved_model.pb": adder(1)},
     f"{EXPECTED}export/; the model is in export/: move its contents up"),
    ({"export/model.keras": b"PK\x03\x04"},
     f"{EXPECTED}export/; the model is in export/: move its contents up"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "message"), FOLDERS, ids=lambda value: str(value)[:30])
def test_a_version_without_a_model(tmp_path, files, message):
    version = tmp_path / "m" / "1"
    version.mkdir(parents=True)
    for name, content in files.items():
        path = version / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert not has_model(version)
    assert refused(tmp_path / "m", "--port=-1", "--rest_api_port=-1") == (2, f"tfport: {version}: {message}")


@pytest.mark.parametrize("name", ["saved_model.pb", "model.keras", "model.h5"])
def test_a_broken_model_is_a_model(tmp_path, name):
    (tmp_path / name).write_bytes(b"broken")
    assert has_model(tmp_path)


def test_a_broken_keras_file_is_named(tmp_path):
    file = tmp_path / "m" / "1" / "model.h5"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    message = f"tfport: {file}: an empty file; download or copy it again"
    assert refused(tmp_path / "m", "--port=-1", "--rest_api_port=-1") == (2, message)
