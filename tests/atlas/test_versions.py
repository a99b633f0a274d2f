"""Release numbers sort as `packaging` sorts them; the usual ones without importing it."""

import itertools
import subprocess
import sys

import pytest
from packaging.version import Version

from tfport.atlas.atlas import atlas
from tfport.atlas.versions import version_key
from tfport.errors import Error

NUMBERS = [
    "0", "0.0", "0.12.1", "1", "1.0", "1.0.0", "1.15.5", "2.8", "2.8.0", "2.8.0rc0", "2.8.0rc1",
    "2.8.0a1", "2.8.0b2", "2.8.0.dev20220101", "2.8.0rc1.dev3", "2.8.0.post1.dev2", "2.8.0.post1",
    "2.8.0.post2", "2.8.0.post10", "2.8.0.post", "2.8.0+nv22.4", "2.8.0+nv22.10", "2.8.0+5",
    "2.8.0+5.nv", "2.8.0.post1+cpu", "2.10.1", "2.9.3", "2.08", "v2.8.1", " 2.8.1 ", "1!2.8.0",
    "2.8.0-1", "2.15.0.post1", "2.16.0.rc0", "99",
]  # fmt: skip


def test_they_compare_as_packaging_does() -> None:
    for first, second in itertools.product(NUMBERS, repeat=2):
        ours, theirs = (version_key(first), version_key(second)), (Version(first), Version(second))
        assert (ours[0] < ours[1]) == (theirs[0] < theirs[1]), (first, second)
        assert (ours[0] == ours[1]) == (theirs[0] == theirs[1]), (first, second)


@pytest.mark.parametrize("number", NUMBERS)
def test_their_parts_are_those_of_packaging(number: str) -> None:
    key, version = version_key(number), Version(number)
    assert (key.release, key.major) == (version.release, version.major)
    assert key.is_prerelease == version.is_prerelease
    assert key.is_later_build == (version.post is not None or version.local is not None)
    assert key.is_plain == (not version.is_prerelease and not key.is_later_build)
    assert key.base == version_key(version.base_version)
    assert key.base.release == version.release


@pytest.mark.parametrize(
    "text", ["", ".", "2.", "2..8", "2.8.x", "nightly", "2.8.post1.post2", "²", "2.8 .0", "9" * 5000]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Error, match="is not a release number; expected one such as"):
        version_key(text)


def test_recorded_releases_of_tensorflow_do_not_need_packaging() -> None:
    versions = {build.version for build in atlas().builds("tensorflow")}
    code = f"""
import sys
from tfport.atlas.versions import version_key
for version in {sorted(versions)}:
    version_key(version)
print([name for name in sys.modules if name.startswith("packaging")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
