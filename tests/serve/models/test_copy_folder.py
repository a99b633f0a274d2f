"""The temporary folder for copies of remote versions is deleted, also that of a server that was killed."""

import asyncio
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.serve.models.exports import export, serving

from tfport.errors import RunCancelled
from tfport.serve.models.config import one_model
from tfport.serve.models.resources import CopyFolder, delete_abandoned

SERVER = """
from tfport.serve.models.resources import CopyFolder
path = CopyFolder().new_path("m", 1)
path.mkdir(parents=True)
print(path.parents[1], flush=True)
input()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def server(temporary):
    """A process that has a folder for copies, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env={"TMPDIR": str(temporary), "PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, process.stdout.readline().strip()


def names(folder):
    return sorted(str(path) for path in folder.iterdir())


def test_the_folder_of_a_killed_server_is_deleted_and_that_of_a_running_one_stays(temporary):
    killed, abandoned = server(temporary)
    killed.kill()
    killed.communicate()
    running, used = server(temporary)  # it deletes the other one
    assert names(temporary) == [used]
    delete_abandoned()
    assert names(temporary) == [used]
    running.communicate("end\n")
    assert names(temporary) == []
    assert abandoned != used


def test_all_threads_get_different_paths_in_one_folder(temporary):
    copies = CopyFolder()
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda i: copies.new_path("a/b", i % 2), range(32)))
    assert len(set(paths)) == 32
    assert len(names(temporary)) == 1
    copies.close()
    assert names(temporary) == []
    with pytest.raises(RunCancelled):
        copies.new_path("m", 1)


def test_a_folder_of_the_user_is_kept(temporary):
    copies = CopyFolder(temporary / "cache")
    copies.new_path("m", 1).mkdir(parents=True)
    copies.close()
    assert names(temporary) == [str(temporary / "cache")]


def test_empty_folders_of_older_releases_are_deleted_but_not_what_others_made(temporary):
    (temporary / "tfport-serve-old").mkdir()
    (temporary / "tfport-serve-other").mkdir()
    (temporary / "tfport-serve-other" / "file").touch()
    (temporary / "tfport-serve-link").symlink_to(temporary / "tfport-serve-other")
    delete_abandoned()
    assert names(temporary) == [str(temporary / f"tfport-serve-{name}") for name in ("link", "other")]


def test_local_versions_need_no_folder(temporary):
    export(temporary / "models", 1)

    async def run():
        async with serving(one_model("m", str(temporary / "models"))) as served:
            assert await served.ask() == 1
            assert names(temporary) == [str(temporary / "models")]

    asyncio.run(run())
