"""Models of tests/truth are stored in archives, and read from them as folders."""

import pytest
from tests import truth_models
from tests.truth_models import TRUTH, archive_of, model_folder, stored_models

MODELS = {
    "plain": {"saved_model.pb": b"1"},
    "state": {"saved_model.pb": b"2", "variables/variables.index": b""},
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository without models, whose page names one."""
    monkeypatch.setattr(truth_models, "ROOT", tmp_path)
    monkeypatch.setattr(truth_models, "CACHE", tmp_path / "cache")
    for folder in ("docs", "src", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / "README.md").write_text("Run `tfport check models/plain`, or models/nothing.\n")
    return tmp_path


def test_models_that_pages_name_are_folders(root):
    truth_models.store_models(MODELS, root / "models")
    assert [path.name for path in (root / "models").iterdir()] == ["plain"]
    assert stored_models(root / "models") == MODELS
    assert model_folder("models/plain") == root / "models/plain"
    assert {name: truth_models.read_model(model_folder(f"models/{name}")) for name in MODELS} == MODELS


def test_a_model_that_no_page_names_any_more_goes_to_the_archive(root):
    truth_models.store_models(MODELS, root / "models")
    (root / "README.md").write_text("")
    truth_models.store_models(stored_models(root / "models"), root / "models")
    assert not list((root / "models").iterdir())
    assert stored_models(root / "models") == MODELS


def test_the_same_models_are_the_same_bytes(root):
    truth_models.store_models(MODELS, root / "models")
    first = archive_of(root / "models").read_bytes()
    archive_of(root / "models").unlink()
    truth_models.store_models(dict(reversed(MODELS.items())), root / "models")
    assert archive_of(root / "models").read_bytes() == first


def test_another_process_may_be_the_first_to_unpack(root, monkeypatch):
    truth_models.store_models(MODELS, root / "models")
    archive, unpack = archive_of(root / "models"), truth_models.unpack

    def while_another_does(content):
        monkeypatch.setattr(truth_models, "unpack", unpack)
        truth_models.unpacked.__wrapped__(archive)
        return unpack(content)

    monkeypatch.setattr(truth_models, "unpack", while_another_does)
    assert truth_models.read_model(model_folder("models/state")) == MODELS["state"]
    assert len(list((root / "cache").iterdir())) == 1


@pytest.mark.parametrize("name", ["models", "keras"])
def test_no_model_is_both_a_folder_and_in_the_archive(name):
    packed = truth_models.unpack(archive_of(TRUTH / name).read_bytes())
    assert not [path.name for path in (TRUTH / name).iterdir() if path.name in packed]
