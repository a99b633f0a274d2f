"""Random changes: versions are added, removed, broken and repaired, models are added and removed.

One good version of `steady` is always there, so it must always answer; in the end what is served is
what is on disk and asked for.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from tests.serve.models.exports import Served, adder, config_of, export, model, serving, until

from tfport.serve.status import StatusError

TURNS = 60


class Disk:
    """The versions of a model that the test has written."""

    def __init__(self, base: Path, dice: random.Random, keep: int) -> None:
        self.base, self.dice, self.keep = base, dice, keep
        self.next, self.good = 1, set[int]()

    def new(self, good: bool) -> None:
        export(self.base, self.next, None if good else b"\xff")
        self.good |= {self.next} if good else set()
        self.next += 1

    def turn(self) -> None:
        what = self.dice.choice(["new", "broken", "remove", "repair", "touch"])
        there = sorted(int(path.name) for path in self.base.iterdir() if path.name.isdigit())
        version = self.dice.choice(there) if there else 0
        if what in ("new", "broken"):
            self.new(what == "new")
        elif what == "remove" and version and len(self.good - {version}) >= self.keep:
            self.good -= {version}
            shutil.rmtree(self.base / str(version))
        elif what == "repair" and version:
            (self.base / str(version) / "saved_model.pb").write_bytes(adder(version))
            self.good |= {version}


async def ask_on(served: Served, stop: asyncio.Event, answers: list[float]) -> None:
    while not stop.is_set():
        answers.append(await served.ask("steady"))
        with suppress(StatusError):
            await served.ask("fickle")
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(4))
def test_chaos(tmp_path, seed):
    dice = random.Random(seed)
    disks = {name: Disk(tmp_path / name, dice, keep) for name, keep in (("steady", 1), ("fickle", 0))}
    for disk in disks.values():
        disk.new(True)
    policy = dice.choice(["latest { num_versions: 2 }", "all {}"])
    steady = model("steady", tmp_path / "steady", "model_version_policy { all {} }")
    fickle = model("fickle", tmp_path / "fickle", f"model_version_policy {{ {policy} }}")
    both, alone = config_of(steady, fickle), config_of(steady)

    async def run():
        async with serving(both, poll_seconds=0.005, load_retries=dice.choice([0, 2])) as served:
            stop, answers = asyncio.Event(), []
            clients = [asyncio.create_task(ask_on(served, stop, answers)) for _ in range(3)]
            reloads = []
            for _ in range(TURNS):
                dice.choice(list(disks.values())).turn()
                if dice.random() < 0.2:
                    reloads.append(asyncio.create_task(served.manager.reload(dice.choice([both, alone]))))
                await asyncio.sleep(dice.choice([0, 0.001, 0.01]))
            for result in await asyncio.gather(*reloads, return_exceptions=True):
                assert result is None or isinstance(result, StatusError)
            with suppress(StatusError):
                await served.manager.reload(both)
            disks["fickle"].new(True)
            select_versions = {
                "steady": disks["steady"].good,
                "fickle": disks["fickle"].good
                if policy == "all {}"
                else set(sorted(disks["fickle"].good)[-1:]),
            }
            for name, versions in select_versions.items():
                await until(lambda n=name, v=versions: v <= set(served.catalog._entries[n].servables))
                if policy == "all {}" or name == "steady":
                    await until(lambda n=name, v=versions: v == set(served.catalog._entries[n].servables))
                assert [await served.ask(name, v) for v in sorted(versions)] == sorted(versions)
            stop.set()
            await asyncio.gather(*clients)
            assert answers

    asyncio.run(run())
