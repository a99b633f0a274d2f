"""Models in an object store: copied, loaded, and the copy deleted on unloading."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import fsspec
import pytest
from tests.serve.models.exports import adder, config_of, model, serving, until, warm_up_file

from tfport.formats.saved_model.warmup import WARMUP
from tfport.serve.model_catalog import VersionState
from tfport.serve.status import StatusCode


@pytest.fixture
def store():
    """A folder in a new store."""
    files, base = fsspec.filesystem("memory"), f"/{uuid.uuid4().hex}"

    def put(version, data=None, warm_up=None):
        if warm_up is not None:
            files.pipe(f"{base}/{version}/{WARMUP}", warm_up)
        files.pipe(f"{base}/{version}/saved_model.pb", adder(int(version)) if data is None else data)

    put.files, put.base, put.address = files, base, f"memory:/{base}"
    yield put
    if files.exists(base):
        files.rm(base, recursive=True)


def copies(cache: Path) -> list[str]:
    return sorted(p.name.partition("-")[0] for p in cache.glob("*/*"))


def test_versions_of_a_store_come_and_go(store, tmp_path):
    store("0001", warm_up=warm_up_file(("", {"x": [1]})))

    async def run():
        async with serving(config_of(model("m/1", store.address)), cache=tmp_path) as served:
            assert await served.ask("m/1") == 1
            assert copies(tmp_path) == ["1"]
            store(2)
            await until(
                lambda: 2 in served.states("m/1") and served.status(1, "m/1").state is VersionState.END
            )
            assert await served.ask("m/1") == 2
            assert copies(tmp_path) == ["2"]
        assert copies(tmp_path) == []

    asyncio.run(run())


def test_a_broken_version_of_a_store_leaves_no_copy_and_is_tried_when_it_changes(store, tmp_path):
    store(1)

    async def run():
        async with serving(config_of(model("m", store.address)), cache=tmp_path) as served:
            store(2, b"\xff")
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            assert served.status(2).code is StatusCode.DATA_LOSS
            assert served.status(2).message.startswith(f"{store.base}/2/saved_model.pb")
            assert copies(tmp_path) == ["1"]
            store(2)
            await until(lambda: served.status(2).state is VersionState.AVAILABLE)
            assert await served.ask() == 2

    asyncio.run(run())


def test_a_store_that_is_away_keeps_what_is_loaded(store, tmp_path, monkeypatch):
    store(1)

    def away(address):
        raise ConnectionError("the store does not answer")

    async def run():
        async with serving(config_of(model("m", store.address)), cache=tmp_path) as served:
            with monkeypatch.context() as patch:
                patch.setattr("tfport.serve.models.store.open_remote", away)
                await until(lambda: "does not answer" in served.manager._models["m"].problem)
                assert await served.ask() == 1
            store(2)
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.AVAILABLE)

    asyncio.run(run())


def test_the_folder_for_copies_is_temporary_by_default(store):
    store(1)

    async def run():
        async with serving(config_of(model("m", store.address))) as served:
            folder = served.manager._resources.copies._path
            assert copies(folder) == ["1"]
        assert not folder.exists()

    asyncio.run(run())


def test_an_unknown_store(tmp_path):
    async def run():
        async with serving(config_of(model("m", "unheard://of/it"))) as served:
            assert "Protocol not known" in served.manager.problems()["m"]

    asyncio.run(run())
