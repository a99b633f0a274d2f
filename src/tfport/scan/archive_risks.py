"""The tricks of archives: names that lead outside or occur twice, and sizes that no model has."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.archive.archive import MOST_MEMBERS, Member
from tfport.formats.archive.unpack import HARMLESS, MOST_RATIO
from tfport.formats.keras.unsafe import leads_outside
from tfport.scan import file_findings as findings
from tfport.scan.risk import Risk

DRIVE = re.compile(r"[A-Za-z]:")
StoredMembers = list[tuple[str, Member | None]]


def archive_risks(entries: StoredMembers, data: memoryview, where: str) -> Iterator[Risk]:
    """Names that lead outside or occur twice, and sizes that no model has."""
    subject, seen = f"`{where}`", set[str]()
    if len(entries) > MOST_MEMBERS:
        yield findings.ArchiveBomb(subject=subject, detail=f"has more than {MOST_MEMBERS:,} members")
    packed = 0
    for name, member in entries[:MOST_MEMBERS]:
        if leads_outside(name) or DRIVE.match(name):
            yield findings.ArchivePath(subject=subject, detail=name[:200])
        plain = posixpath.normpath(name)
        if member is None:
            continue
        if plain in seen:
            yield findings.AmbiguousArchive(
                subject=subject, detail=f"has several members with the name `{plain[:200]}`"
            )
        seen.add(plain)
        if member.other_name:
            other = member.other_name[:100]
            both = f"calls a member `{name[:100]}` in its directory, and `{other}` before its data"
            yield findings.AmbiguousArchive(subject=subject, detail=both)
        if member.packed is not None:
            packed += member.packed
            if member.size > max(HARMLESS, MOST_RATIO * member.packed):
                sizes = f"{member.packed:,} bytes that unpack to {member.size:,}"
                yield findings.ArchiveBomb(subject=subject, detail=f"has the member `{name[:200]}`: {sizes}")
    if packed > len(data):
        yield findings.ArchiveBomb(subject=subject, detail="has members that share their bytes")


def zip_at_end(data: memoryview, where: str) -> StoredMembers:
    from tfport.formats.archive.zip import zip_entries

    try:
        return list(zip_entries(data, where))
    except UnreadableFile:
        return []
