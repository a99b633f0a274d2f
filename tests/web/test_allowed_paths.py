"""Paths below allowed folders: links, dots, replaced folders, completion."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfport.web.allowed_paths import AllowedPaths
from tfport.web.json_answer import RefusedRequest

ELSEWHERE = ["out", "in/link", "in/link/secret", "in/../out", "inside", "", "in/dangling", "/"]


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "in/model").mkdir(parents=True)
    (tmp_path / "in/model/saved_model.pb").touch()
    (tmp_path / "in/.hidden").touch()
    (tmp_path / "inside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").touch()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    (tmp_path / "in/dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "in/loop").symlink_to("loop")
    return tmp_path


def test_paths_below_are_resolved(tree):
    allowed = AllowedPaths([tree / "in"])
    assert allowed.resolve(f"{tree}/in/../in/model/") == f"{tree}/in/model"
    assert allowed.resolve(str(tree / "in")) == str(tree / "in")


@pytest.mark.parametrize("path", ELSEWHERE)
def test_paths_elsewhere_are_refused(tree, path):
    with pytest.raises(RefusedRequest, match="--allow") as refused:
        AllowedPaths([tree / "in"]).resolve(str(tree / path))
    assert refused.value.status == 403


def test_a_folder_that_is_replaced_by_a_link_is_noticed(tree):
    allowed = AllowedPaths([tree / "in"])
    real = allowed.resolve(str(tree / "in/model"))
    allowed.verify(real)
    os.rename(tree / "in/model", tree / "in/moved")
    (tree / "in/model").symlink_to(tree / "out")
    with pytest.raises(RefusedRequest, match="replaced"):
        allowed.verify(real)


def test_completion_tells_nothing_about_other_folders(tree):
    allowed = AllowedPaths([tree / "in"])
    assert allowed.suggestions(f"{tree}/in/m") == [(f"{tree}/in/model", True)]
    assert (f"{tree}/in/.hidden", False) not in allowed.suggestions(f"{tree}/in/")
    assert allowed.suggestions(f"{tree}/in/.h") == [(f"{tree}/in/.hidden", False)]
    assert f"{tree}/in/dangling" not in dict(allowed.suggestions(f"{tree}/in/"))
    for outside in (f"{tree}/out/", f"{tree}/in/link/", f"{tree}/", "/", "/et"):
        assert allowed.suggestions(outside) == []
    assert allowed.suggestions("") == [(f"{tree}/in", True)]


@given(st.lists(st.sampled_from(["..", ".", "", "model", "link", "loop", "out", "secret", "~"]), max_size=8))
@settings(max_examples=200)
def test_whatever_is_resolved_is_below(tmp_path_factory, parts):
    root = tmp_path_factory.getbasetemp() / "tree"
    if not root.exists():
        (root / "in/model").mkdir(parents=True)
        (root / "in/link").symlink_to(root)
        (root / "out").mkdir()
    allowed = AllowedPaths([root / "in"])
    try:
        real = allowed.resolve(os.path.join(root, "in", *parts))
    except RefusedRequest:
        return
    assert os.path.realpath(real) == real
    assert real == str(root / "in") or real.startswith(f"{root}/in/")
