from pathlib import Path

import pytest
from tests.graph.canonical import canonical
from tests.recorded_models import EXPECTED, PROGRAMS, load, of_kind, path_of, shared

import tfport
from tfport.graph import save
from tfport.graph.build import graph_to_def
from tfport.graph.inline import callee, inline
from tfport.graph.reach import every_node


def saved(model, path: Path):
    tfport.save(model, str(path))
    end = ".meta" if model.format.key == "meta_graph" else ""
    return tfport.load(f"{path}{end}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_saved_model_loads_as_the_same_model(name, tmp_path):
    model = load(name)
    again = saved(model, tmp_path / "out" / "model")
    assert again.format is model.format
    assert canonical(graph_to_def(again.graph)) == canonical(graph_to_def(model.graph))
    assert again.meta == model.meta
    assert again.signatures == model.signatures
    if model.checkpoint:
        assert again.checkpoint.names() == model.checkpoint.names()
        for key in model.checkpoint.names():
            assert again.checkpoint.read(key).tolist() == model.checkpoint.read(key).tolist()
    assert tfport.inspect(again).to_json() == {
        **tfport.inspect(model).to_json(),
        "model": again.where,
        **tags(again),
    }


def tags(model) -> dict:
    """A model of several MetaGraphs is saved with the one that was loaded."""
    return {"tag_sets": [list(tags) for tags in model.tag_sets]}


def test_the_chosen_metagraph_is_saved(tmp_path):
    again = saved(load("estimator", ["cpu", "train"]), tmp_path / "m")
    assert again.tag_sets == [("cpu", "train")]


def test_assets_and_what_keras_wrote_are_copied(tmp_path):
    model = load("table_from_file")
    again = saved(model, tmp_path / "m")
    assert (tmp_path / "m/assets/words.txt").read_bytes() == Path(
        path_of("table_from_file"), "assets/words.txt"
    ).read_bytes()
    assert not (tmp_path / "m/fingerprint.pb").exists()
    (tmp_path / "m/keras_metadata.pb").write_bytes(b"kept")
    (tmp_path / "m/assets.extra/deep").mkdir(parents=True)
    (tmp_path / "m/assets.extra/deep/notes.txt").write_bytes(b"kept too")
    saved(tfport.load(again.where), tmp_path / "n")
    assert (tmp_path / "n/keras_metadata.pb").read_bytes() == b"kept"
    assert (tmp_path / "n/assets.extra/deep/notes.txt").read_bytes() == b"kept too"


def test_the_changed_graph_is_saved(tmp_path):
    model = load("nested_functions")
    for call in [node for node in model.graph if callee(node)]:
        inline(call)
    again = saved(model, tmp_path / "m")
    assert canonical(graph_to_def(again.graph)) == canonical(graph_to_def(model.graph))
    assert len(again.graph) > EXPECTED["nested_functions"]["graphs"][0]["main"]["inputs"]


def test_a_v1_checkpoint_is_copied(tmp_path):
    tfport.save(load("first_checkpoint_format"), str(tmp_path / "m.meta"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "m.meta"]


@pytest.mark.parametrize("name", ["module", "frozen", "ref_variables"])
def test_nothing_is_overwritten(name, tmp_path):
    model = shared(name)
    end = ".meta" if model.format.key == "meta_graph" else ""
    there = tmp_path / f"there{end}"
    there.write_text("mine")
    with pytest.raises(
        tfport.Error, match=r"already exists; tfport does not overwrite files, so choose another path"
    ):
        tfport.save(model, str(tmp_path / "there"))
    assert [p.name for p in tmp_path.iterdir()] == [f"there{end}"]
    assert there.read_text() == "mine"


@pytest.mark.parametrize("name", ["module", "frozen", "ref_variables", "sharded_checkpoint"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_write_leaves_nothing(name, error, tmp_path, monkeypatch):
    def interrupted(*_):
        raise error

    monkeypatch.setattr(save, "_write", interrupted)
    with pytest.raises(tfport.Error if error is OSError else error):
        tfport.save(shared(name), str(tmp_path / "deep" / "er" / "m"))
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_copy_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(save, "copy_file", full)
    with pytest.raises(tfport.Error, match=r"m: cannot be written: no space left on device$"):
        tfport.save(shared("module"), str(tmp_path / "m"))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(tfport.Error, match="cannot be written"):
        tfport.save(shared("frozen"), str(tmp_path / "file" / "m"))


def test_a_checkpoint_has_no_graph_to_write(tmp_path):
    for name in of_kind("checkpoint"):
        with pytest.raises(tfport.Error, match=r"a checkpoint has no graph to write$"):
            tfport.save(shared(name), str(tmp_path / "m"))


def test_attributes_survive_saving(tmp_path):
    again = saved(shared("keras_lstm"), tmp_path / "m")
    for ours, theirs in zip(every_node(shared("keras_lstm").graph), every_node(again.graph), strict=True):
        assert ours.attrs == theirs.attrs
