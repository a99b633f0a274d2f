"""What an HDF5 file refers to elsewhere: links, external storage and virtual datasets. None is followed."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.file import Hdf5Group

MOST_OBJECTS = 100_000
VIRTUAL = "a virtual dataset, whose elements may be in other files"


def references(root: Hdf5Group) -> Iterator[tuple[str, str]]:
    """The path of each object that is, or has its elements, elsewhere, and what it is, for messages."""
    groups, seen, objects = [root], set[int](), 0
    for group in groups:  # grows during the loop
        for link in group.links.values():
            path = f"{group.path}/{link.name}".strip("/")
            objects += 1
            if objects > MOST_OBJECTS:
                raise UnreadableFile(f"{root.source.where}: more than {MOST_OBJECTS} objects")
            if link.address is None:
                yield path, link.target
            elif link.address not in seen:
                seen.add(link.address)
                inner = group.open(link)
                if isinstance(inner, Hdf5Group):
                    groups.append(inner)
                elif inner.external or inner.is_virtual:
                    yield path, inner.external or VIRTUAL
