"""Files that are only in memory: what a caller gave as bytes."""

from __future__ import annotations

from tfport.errors import UnreadableFile


class Memory:
    """A tree of one folder. Its files have one name for people, as they lie nowhere."""

    def __init__(self, where: str, contents: dict[str, memoryview]) -> None:
        self.where = where
        self.contents = contents

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        return ([] if folder else sorted(self.contents)), []

    def has(self, name: str) -> bool:
        return name in self.contents

    def size(self, name: str) -> int:
        return len(self.map(name))

    def map(self, name: str) -> memoryview:
        if name not in self.contents:
            raise UnreadableFile(f"{self.where}: there is no {name} beside it")
        return self.contents[name]

    def under(self, folder: str) -> Memory:
        return Memory(self.where, {}) if folder else self

    def label(self, name: str) -> str:
        return self.where
