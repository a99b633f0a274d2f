import gc
import io
import os
import stat
import tarfile
import tempfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.error_messages import assert_one_line

from tfport.errors import Error, UnreadableFile
from tfport.formats.archive import archive, unpack
from tfport.formats.archive import zip as zip_reader
from tfport.formats.archive.open import open_archive

TREE = {
    "saved_model.pb": b"\x08\x01",
    "variables/variables.index": b"index" * 1000,
    "variables/variables.data-00000-of-00001": os.urandom(5000),
    "assets/empty.txt": b"",
}
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def zipped(tree, method=DEFLATED, edit=lambda info: None):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in tree.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            edit(info)
            file.writestr(info, data)
    return out.getvalue()


def tarred(tree, mode="w", format=tarfile.PAX_FORMAT):
    """A tar; where the tree has no bytes but a TarInfo's fields, those."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format) as file:
        for name, data in tree.items():
            info = tarfile.TarInfo(name)
            if isinstance(data, dict):
                for key, value in data.items():
                    setattr(info, key, value)
                data = b""
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


ARCHIVES = {
    "stored.zip": zipped(TREE, STORED),
    "deflated.zip": zipped(TREE),
    "bzipped.zip": zipped(TREE, zipfile.ZIP_BZIP2),
    "lzma.zip": zipped(TREE, zipfile.ZIP_LZMA),
    "plain.tar": tarred(TREE),
    "gnu.tar": tarred(TREE, format=tarfile.GNU_FORMAT),
    "old.tar": tarred(TREE, format=tarfile.USTAR_FORMAT),
    "m.tar.gz": tarred(TREE, "w:gz"),
    "m.tar.bz2": tarred(TREE, "w:bz2"),
    "m.tar.xz": tarred(TREE, "w:xz"),
    "backslashes.zip": zipped({name.replace("/", "\\"): data for name, data in TREE.items()}),
    "dotted.tar": tarred({"./" + name: data for name, data in TREE.items()}),
    "with_folders.tar": tarred({"assets": {"type": tarfile.DIRTYPE}, **TREE}),
}


def opened(folder, data, name="a"):
    path = folder / name
    path.write_bytes(data)
    return open_archive(str(path), data[:4096])


def contents(files, folder=""):
    """All files, by walking the folders and reading each."""
    names, folders = files.list(folder)
    here = {f"{folder}/{n}".lstrip("/"): bytes(files.map(f"{folder}/{n}".lstrip("/"))) for n in names}
    for inner in folders:
        here |= contents(files, f"{folder}/{inner}".lstrip("/"))
    return here


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_kind_of_archive_is_the_same_tree(name, tmp_path):
    files = opened(tmp_path, ARCHIVES[name], "no_name_that_says_so")
    assert contents(files) == TREE
    assert {n: files.size(n) for n in TREE} == {n: len(data) for n, data in TREE.items()}
    below = files.under("variables")
    assert below.list() == (["variables.data-00000-of-00001", "variables.index"], [])
    assert (below.has("variables.index"), below.has("saved_model.pb"), files.has("variables")) == (1, 0, 0)
    assert below.label("variables.index").endswith("no_name_that_says_so/variables/variables.index")


def test_stored_members_are_mapped_and_compressed_ones_leave_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    stored = opened(tmp_path, ARCHIVES["stored.zip"])
    with monkeypatch.context() as patches:
        patches.setattr(zip_reader, "unpack", None)  # it is not called
        assert stored.map("variables/variables.index")[:5] == b"index"
    packed = opened(tmp_path, ARCHIVES["deflated.zip"], "b")
    data = packed.map("variables/variables.index")
    assert packed.map("variables/variables.index").obj is data.obj  # unpacked once
    assert os.listdir(tmp_path / "temporary") == []
    del data
    gc.collect()
    assert not packed.tree.mapped


def test_other_files_are_not_opened_as_archives(tmp_path):
    for data in (b"", b"\x0a\x00", b"x" * 600, bytes(1024), b"\x1f\x8b", b"BZh91AY", tarred({})):
        assert opened(tmp_path, data) is None


def patched(data, find, replacement):
    assert find in data
    return data.replace(find, replacement)


LINK, HARD = {"type": tarfile.SYMTYPE}, {"type": tarfile.LNKTYPE}
SMALL = zipped({"x": b"a" * 99})
UNSAFE = [  # an archive, the member to read if it opens, part of the message
    (tarred({"../x": b""}), "", "the member `../x` is outside the archive; tfport does not open it"),
    (tarred({"/etc/x": b""}), "", "the member `/etc/x` is outside the archive; tfport does not open it"),
    (zipped({"a/../../x": b""}), "", "the member `a/../../x` is outside"),
    (zipped({"..\\x": b""}), "", "the member `../x` is outside"),
    (zipped({"a/" * 70 + "x": b""}), "", "is too long or too deep"),
    (zipped({"a" * 2000: b""}), "", "is too long or too deep"),
    (tarred({"a/x": LINK | {"linkname": "../../x"}}), "a/x", "a/x: a link to `../x`, which is outside"),
    (tarred({"x": LINK | {"linkname": "/etc/passwd"}}), "x", "x: a link to `/etc/passwd`, which is outside"),
    (tarred({"x": LINK | {"linkname": "y"}}), "x", "x: a link to `y`, which is not in the archive"),
    (tarred({"x": LINK | {"linkname": "x"}}), "x", "x: a link that refers to itself"),
    (tarred({"x": HARD | {"linkname": "../x"}}), "x", "x: a link to `../x`, which is outside"),
    (tarred({"x": {"type": tarfile.CHRTYPE}}), "x", "x: a device in the archive, not a regular file"),
    (tarred({"x": {"type": tarfile.FIFOTYPE}}), "x", "x: a named pipe in the archive, not a regular file"),
    (patched(SMALL, b"\x14\0\0\0\x08", b"\x14\0\1\0\x08"), "x", "x: encrypted; unpack the archive"),
    (patched(SMALL, b"\0\0\x08\0", b"\0\0\x09\0"), "x", "x: compressed with deflate64, which Python"),
    (zipped({"x": b"a"})[:-5], "", "a damaged zip file"),
    (zipped({"x": b"a"})[:20], "", "the end of the zip file is missing; the download or copy was cut short"),
    (tarred({"x": b"a" * 9999})[:3000], "", "a damaged tar file (unexpected end of data)"),
    (tarred({"x": os.urandom(9999)}, "w:gz")[:3000], "", "the compressed data is cut short or damaged"),
    (zipped({"x": b"a"}), "y", "a/y: no such file in the archive"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "name", "message"), UNSAFE, ids=[message for _, _, message in UNSAFE])
def test_an_unsafe_or_damaged_archive_is_refused(data, name, message, tmp_path):
    with pytest.raises(UnreadableFile) as raised:
        opened(tmp_path, data).map(name)
    assert message in str(raised.value)


def test_links_inside_the_archive_are_followed(tmp_path):
    tree = {"blobs/1": b"data", "m/x": LINK | {"linkname": "../blobs/1"}, "m/y": LINK | {"linkname": "x"}}
    tree["z"] = HARD | {"linkname": "m/y"}
    files = opened(tmp_path, tarred(tree))
    assert [bytes(files.map(n)) for n in ("m/x", "m/y", "z")] == [b"data"] * 3
    assert files.size("z") == 4
    link = (stat.S_IFLNK | 0o777) << 16
    data = zipped(
        {"m/x": b"../1", "1": b"data"}, edit=lambda i: setattr(i, "external_attr", link * (i.filename != "1"))
    )
    assert opened(tmp_path, data).map("m/x") == b"data"


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "HARMLESS", 2**20)
    for data in (zipped({"x": bytes(2**24)}), tarred({"x": bytes(2**24)}, "w:bz2")):
        with pytest.raises(UnreadableFile, match="over 250 times as much; no model compresses like that"):
            opened(tmp_path, data).map("x")


def test_a_member_may_not_be_larger_than_declared(tmp_path):
    data = zipped({"x": b"a" * 1000})
    lying = data.replace((1000).to_bytes(4, "little"), (900).to_bytes(4, "little"))
    with pytest.raises(UnreadableFile, match=r"x: damaged in the archive|x: .* but the archive declares"):
        opened(tmp_path, lying).map("x")


def test_a_member_that_does_not_fit_on_the_disk_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "RESERVE", 2**62)
    with pytest.raises(
        UnreadableFile, match=r"unpacking needs 1000 bytes, but .* has only 0 free; set TMPDIR"
    ):
        opened(tmp_path, zipped({"x": b"a" * 1000})).map("x")


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    with pytest.raises(
        UnreadableFile, match="more than 3 members; unpack it and pass the folder of the model"
    ):
        opened(tmp_path, ARCHIVES["plain.tar"])


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
PATHS = st.lists(NAMES | st.sampled_from(["..", ".", "a", ""]), min_size=1, max_size=4).map("/".join)
ANY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@ANY
@given(st.dictionaries(PATHS, st.binary(max_size=20), max_size=6), st.sampled_from([zipped, tarred]))
def test_members_of_any_name_are_read_or_refused(tmp_path, tree, made):
    for name, data in all_or_error(tmp_path, made(tree)).items():
        assert ".." not in name.split("/")
        assert data in tree.values()


@ANY
@given(st.sampled_from(sorted(ARCHIVES)), st.data())
def test_damage_anywhere_gives_a_tree_or_an_error(tmp_path, name, draw):
    data = bytearray(ARCHIVES[name])
    for at in draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[at] = draw.draw(st.integers(0, 255))
    all_or_error(tmp_path, bytes(data[: draw.draw(st.integers(0, len(data)))]))


def all_or_error(folder, data):
    try:
        files = opened(folder, data)
        return contents(files) if files else {}
    except Error as error:
        assert_one_line(error)
        return {}


@pytest.mark.parametrize("method", [STORED, DEFLATED])
def test_a_directory_that_points_before_the_file_is_refused(method, tmp_path):
    data = bytearray(zipped({"saved_model.pb": b"\x08\x01"}, method))
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = (len(data) + 100).to_bytes(4, "little")  # where the directory starts
    path = tmp_path / "m.zip"
    path.write_bytes(data)
    with pytest.raises(UnreadableFile, match=r"m\.zip"):
        open_archive(str(path), bytes(data[:64])).map("saved_model.pb")
