"""Uploads of the API: files of a dropped folder, bounds, names."""

import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded_models import MODELS
from tests.web.ui_client import running

from tfport.web.json_answer import RefusedRequest
from tfport.web.uploads import Uploads

STRANGE = ["..%2fx", "%2e%2e/x", "a/%2e%2e/%2e%2e/x", "a%00b", "a%5cb", "a//b", "x" * 300]


def send(ui, folder: Path) -> str:
    upload = ui.post("/uploads", {}).json["upload"]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = quote(f"{folder.name}/{path.relative_to(folder)}")
            assert ui.put(f"/uploads/{upload}/{name}", path.read_bytes()).status == 201
    return upload


def test_a_dropped_folder_is_opened_and_removed_at_the_end():
    with running() as ui:
        entry = ui.post("/models", {"upload": send(ui, MODELS / "keras_lstm")}).json
        assert (entry["name"], entry["kind"]) == ("keras_lstm", "saved_model")
        assert ui.get(f"/models/{entry['id']}/inspect").json["checkpoint"]
        assert entry["path"] == "keras_lstm"
        assert ui.get(f"/models/{entry['id']}/inspect").json["model"] == "keras_lstm"
        assert ui.post("/models", {"model": entry["id"]}).json == entry
        temporary = set(Path(tempfile.gettempdir()).glob("tfport-ui-*"))
    assert len(temporary - set(Path(tempfile.gettempdir()).glob("tfport-ui-*"))) >= 1


def test_an_error_names_the_file_as_it_was_dropped(ui):
    upload = ui.post("/uploads", {}).json["upload"]
    assert ui.put(f"/uploads/{upload}/cut.pb", b"\x0a\xff\xff\x01cut").status == 201
    error = ui.post("/models", {"upload": upload}).error
    assert error.startswith("cut.pb, byte 0: ")


def test_several_dropped_files_are_one_model(ui):
    upload = ui.post("/uploads", {}).json["upload"]
    for path in (MODELS / "checkpoint_of_objects").iterdir():
        assert ui.put(f"/uploads/{upload}/{path.name}", path.read_bytes()).status == 201
    assert ui.post("/models", {"upload": upload}).json["kind"] == "checkpoint"


def test_uploads_are_bounded_and_nothing_is_left_of_a_file_that_is_too_large():
    with running(most_upload=1000) as ui:
        upload = ui.post("/uploads", {}).json["upload"]
        assert ui.put(f"/uploads/{upload}/a.pb", bytes(600)).status == 201
        answer = ui.put(f"/uploads/{upload}/b.pb", bytes(600))
        assert answer.status == 413
        assert "--max-upload" in answer.error
        assert ui.put(f"/uploads/{upload}/b.pb", bytes(300)).status == 201
        assert ui.put(f"/uploads/{upload}/a.pb", b"").status == 400


@pytest.mark.parametrize("path", STRANGE)
def test_a_strange_path_is_refused(ui, path):
    upload = ui.post("/uploads", {}).json["upload"]
    assert ui.put(f"/uploads/{upload}/{path}", b"data").status in (400, 404)


def test_unknown_and_empty_uploads(ui):
    assert ui.put("/uploads/nobody/a", b"").status == 404
    assert ui.post("/models", {"upload": "nobody"}).status == 404
    empty = ui.post("/uploads", {}).json["upload"]
    assert ui.post("/models", {"upload": empty}).status == 400


@given(st.text(st.sampled_from(["/", ".", "\\", "\0", "a", "~", "\n", "é"]), max_size=12))
@settings(max_examples=300)
def test_no_path_leads_out_of_the_upload(path):
    uploads = Uploads(Path("/nowhere"), 10)
    uploads._files["u"] = 0
    try:
        place = uploads._place("u", path)
    except RefusedRequest:
        return
    assert place.parts[:3] == ("/", "nowhere", "u")
    assert len(place.parts) > 3
    assert ".." not in place.parts
