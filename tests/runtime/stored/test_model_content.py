"""The hash of a model's files."""

import os
import shutil
import time

import pytest
from tests.recorded_models import MODELS, graph

import tfport
from tfport.graph.build import graph_to_def
from tfport.runtime.stored.stored_plans import KNOWN, content_of

LONG_AGO = time.time() - 3600


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(MODELS / "module", tmp_path / "module")


def content(path, cache):
    return content_of(tfport.load(str(path)), cache)


def test_it_is_that_of_names_and_contents(folder, tmp_path):
    first = content(folder, tmp_path)
    assert content(shutil.copytree(folder, tmp_path / "copy"), tmp_path) == first
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "assets" / "words").write_text("a")
    assert content(folder, tmp_path) != first


def test_what_no_graph_reads_does_not_count(folder, tmp_path):
    first = content(folder, tmp_path)
    (folder / "assets.extra").mkdir()
    (folder / "assets.extra" / "tf_serving_warmup_requests").write_bytes(b"")
    assert content(folder, tmp_path) == first


def test_files_that_changed_just_now_are_read_again(folder, tmp_path):
    content(folder, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_files_with_the_same_times_are_not_read_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tfport.runtime.stored.stored_plans.SETTLED", 0)
    first = content(folder, tmp_path)
    (known,) = (tmp_path / KNOWN).iterdir()
    known.write_text("0" * 64)
    assert content(folder, tmp_path) == "0" * 64
    known.write_text("damaged")
    assert content(folder, tmp_path) == first


def test_an_older_time_is_another_time(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tfport.runtime.stored.stored_plans.SETTLED", 0)
    first = content(folder, tmp_path)
    pb = folder / "saved_model.pb"
    pb.write_bytes(pb.read_bytes() + b"\x1a\x00")
    os.utime(pb, (LONG_AGO, LONG_AGO))
    assert content(folder, tmp_path) != first


def test_a_model_in_memory_has_none(tmp_path):
    text = "x = Placeholder() {dtype=float32, shape=(2)}"
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    assert content_of(model, tmp_path) is None
