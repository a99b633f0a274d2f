"""The configuration file: reread periodically; an invalid one changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.serve.models.exports import config_of, config_text, export, model, serving, until

from tfport.errors import UnreadableFile
from tfport.serve.status import StatusError

POLL = {"config_poll_seconds": 0.01}


@pytest.fixture
def file(tmp_path):
    for name, version in (("a", 1), ("b", 2)):
        export(tmp_path / name, version)
    path = tmp_path / "models.config"
    path.write_text(config_text(model("a", tmp_path / "a")))
    return path


def put(file: Path, text: str) -> None:
    """Write atomically: a reader sees the old text or the new one."""
    part = file.with_suffix(".part")
    part.write_text(text)
    part.replace(file)


def test_a_changed_file_is_followed(tmp_path, file):
    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            assert await served.ask("a") == 1
            put(file, config_text(model("b", tmp_path / "b")))
            await until(lambda: served.catalog.names() == ["b"] and served.manager.ready())
            assert await served.ask("b") == 2

    asyncio.run(run())


def test_without_polling_it_is_read_once(tmp_path, file):
    async def run():
        async with serving(config_file=str(file)) as served:
            put(file, config_text(model("b", tmp_path / "b")))
            await asyncio.sleep(0.05)
            assert served.catalog.names() == ["a"]

    asyncio.run(run())


def broken(tmp_path) -> dict[str, str]:
    both = config_text(model("a", tmp_path / "a"), model("b", tmp_path / "b"))
    return {
        "half-written": both[: len(both) // 2],
        "without its end": both[:-1],
        "empty": "",
        "unknown field": both.replace("base_path", "path"),
        "twice the same": config_text(model("a", tmp_path), model("a", tmp_path)),
        "label of nothing": config_text(model("a", tmp_path / "a", 'version_labels { key: "x" value: 9 }')),
    }


@pytest.mark.parametrize("how", broken(Path("/")))
def test_a_broken_file_is_logged_once_and_changes_nothing(tmp_path, file, how, caplog):
    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            put(file, broken(tmp_path)[how])
            await until(lambda: served.manager._file_problem != "")
            await asyncio.sleep(0.05)
            assert served.catalog.names() == ["a"]
            assert await served.ask("a") == 1
            put(file, config_text(model("a", tmp_path / "a"), model("b", tmp_path / "b")))
            await until(lambda: served.manager.availability().get("b", False))
            assert await served.ask("b") == 2

    asyncio.run(run())
    assert sum("keeping the current configuration" in message for message in caplog.messages) == 1


def test_a_file_that_goes_changes_nothing(tmp_path, file):
    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            file.unlink()
            await until(lambda: served.manager._file_problem != "")
            assert await served.ask("a") == 1

    asyncio.run(run())


def test_the_file_wins_over_the_call(tmp_path, file):
    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            await served.manager.reload(config_of(model("b", tmp_path / "b")))
            await until(lambda: served.catalog.names() == ["a"] and served.manager.ready())
            assert await served.ask("a") == 1

    asyncio.run(run())


def test_a_model_in_the_file_that_cannot_load_does_not_undo_the_rest(tmp_path, file):
    export(tmp_path / "bad", 1, b"\xff")

    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            put(file, config_text(model("bad", tmp_path / "bad"), model("b", tmp_path / "b")))
            await until(lambda: served.catalog.names() == ["b", "bad"])
            await until(lambda: not served.manager._one_at_a_time.locked())
            assert await served.ask("b") == 2
            assert list(served.manager.problems()) == ["bad"]

    asyncio.run(run())


@pytest.mark.parametrize(("text", "error"), [("model_config", UnreadableFile), (None, UnreadableFile),
                                             (config_text(model("m", "a")), StatusError)])  # fmt: skip
def test_a_server_does_not_start_with_a_broken_file(tmp_path, text, error):
    if text is not None:
        (tmp_path / "f").write_text(text)

    async def run():
        async with serving(config_file=str(tmp_path / "f")):
            pass

    with pytest.raises(error):
        asyncio.run(run())


def test_a_server_that_can_answer_for_no_model_is_not_ready(tmp_path, file):
    async def run():
        async with serving(config_file=str(file), **POLL) as served:
            put(file, config_text(model("missing", tmp_path / "missing")))
            await until(lambda: served.manager.availability() == {"missing": False})
            assert not served.manager.ready()

    asyncio.run(run())
