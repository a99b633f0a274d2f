"""Versions of packages that go with a release: what it requires, limited to what existed."""

import pytest

from tfport.atlas.atlas import atlas
from tfport.atlas.package_dates import (
    VersionLimits,
    declared_versions,
    first_upload,
    limits_of,
    minors,
    numpy_with,
    uploaded,
    versions_beside,
)
from tfport.atlas.package_versions import package_versions
from tfport.atlas.release_spans import STOCK, on_x86
from tfport.atlas.versions import version_key

PACKAGES = ("numpy", "protobuf", "h5py", "keras", "typing-extensions", "grpcio", "ml-dtypes", "wrapt", "gast")


@pytest.mark.parametrize(
    ("requirement", "limits"),
    [
        (">=1.22,<1.24", ">=1.22,<1.24"),
        ("<2.0.0,>=1.23.5", ">=1.23.5,<2"),
        ("~=1.19.2", ">=1.19.2,<1.20"),
        ("~=2.6", ">=2.6,<3"),
        ("==1.1.0", "==1.1.0"),
        ("==2.4.*", ">=2.4,<2.5"),
        ("!=4.21.0,<5.0.0dev,>=3.20.3", ">=3.20.3,<5"),
        (">=1.16,>=1.26,<2,<2.1", ">=1.26,<2"),
        ("<=1.24.3,<1.24.3", "<1.24.3"),
        ("", ""),
    ],
)
def test_a_requirement_is_one_range(requirement, limits):
    assert str(limits_of(requirement)) == limits


def test_ranges_without_a_version_are_empty():
    assert (limits_of(">=1.23") & limits_of("<1.20")).is_empty
    assert (limits_of(">=2") & limits_of("<2")).is_empty
    assert not limits_of("==2").is_empty
    assert not VersionLimits().is_empty


@pytest.mark.parametrize("package", PACKAGES)
def test_every_range_beside_a_release_has_versions_that_it_allows(package):
    for build in on_x86(atlas(), STOCK):
        declared = declared_versions(build.facts["requires"], package)
        limits = versions_beside(build.facts, package)
        if declared is None or limits is None:
            continue
        assert limits.end, build.version
        within = [m for m in minors(package) if not (limits & limits_of(f"=={m}.*")).is_empty]
        assert within, build.version
        newest = max(within, key=version_key)
        assert minors(package)[newest] <= build.facts["uploaded"][:10], build.version
        lowest = limits.first or min(within, key=version_key)
        assert declared.contains(lowest, prereleases=True), build.version


def test_the_ranges_of_one_release_fit_each_other():
    """Keras requires NumPy and others itself."""
    for build in on_x86(atlas(), STOCK):
        if (limits := versions_beside(build.facts, "keras")) is None:
            continue
        fitting = [
            version
            for number, version in package_versions("keras").items()
            if not (limits & limits_of(f"=={number}")).is_empty
        ]
        newest = max(fitting, key=lambda version: version_key(version.version))
        for package in PACKAGES:
            wanted, beside = (
                declared_versions(newest.requires, package),
                versions_beside(build.facts, package),
            )
            assert wanted is None or beside is None or not (limits_of(wanted) & beside).is_empty, (
                build.version
            )


def test_numbers_of_numpys_c_interface_have_their_releases():
    assert numpy_with("api", "0xf") == ["1.22"]
    assert numpy_with("api", "0x0000000e") == ["1.20", "1.21"]
    assert numpy_with("api", "0x10") == ["1.23", "1.24"]
    assert numpy_with("abi", "0x2000000")[0] == "2.0"
    assert numpy_with("api", "0xff") == []


def test_the_days_of_major_versions_are_those_of_their_first_minor():
    assert first_upload("numpy")[2] == uploaded("numpy", "2.0.1")
    assert first_upload("keras") == {}
    assert uploaded("acme", "1.0") == ""
