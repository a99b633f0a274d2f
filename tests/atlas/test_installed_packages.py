"""Installed packages, read without importing any."""

import sys
from pathlib import Path

import pytest
from tests.atlas.small_atlas import small_atlas

from tfport.atlas.installed_packages import installed_in, this_environment
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error


def install(
    site_packages: Path, name: str, *, tag: str = "cp38-cp38-manylinux2010_x86_64", installer: str = "pip"
):
    """Write the metadata that pip writes for a package."""
    folder = site_packages / name
    folder.mkdir(parents=True)
    (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (folder / "INSTALLER").write_text(f"{installer}\n")


@pytest.fixture
def venv(tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/pyvenv.cfg").write_text("version = 3.8.10\n")
    site_packages = tmp_path / "venv/lib/python3.8/site-packages"
    install(site_packages, "numpy-1.22.0.dist-info")
    install(site_packages, "tensorflow-2.8.4.dist-info")
    install(site_packages, "tensorflow_text-2.8.2.dist-info")
    install(site_packages, "tensorflow_io_gcs_filesystem-0.25.0.dist-info")
    (site_packages / "old-1.0-py3.8.egg-info").write_text("")
    (site_packages / "tensorflow").mkdir()
    (site_packages / "tensorflow/__init__.py").write_text("raise SystemExit('imported')")
    return tmp_path / "venv"


@pytest.fixture
def atlas(tmp_path):
    return small_atlas(tmp_path)


def test_a_virtual_environment_has_the_packages_of_its_site_packages(venv):
    whole, inner = installed_in(str(venv)), installed_in(str(venv / "lib/python3.8/site-packages"))
    assert [requirement.text for requirement in whole.wanted] == [
        "numpy==1.22.0", "old==1.0", "tensorflow==2.8.4", "tensorflow-io-gcs-filesystem==0.25.0",
        "tensorflow-text==2.8.2",
    ]  # fmt: skip
    assert [requirement.text for requirement in inner.wanted] == [
        requirement.text for requirement in whole.wanted
    ]


def test_python_and_machine_of_a_virtual_environment(venv):
    listing = installed_in(str(venv))
    assert (listing.python, listing.platform) == ("3.8", "x86_64")


def test_an_environment_is_a_target(venv, atlas):
    (target,) = resolve_targets(str(venv), atlas=atlas)
    assert (target.name, target.notes) == ("tensorflow 2.8.4 + tensorflow-text 2.8.2", [])


def test_this_environment_is_a_target(venv, atlas, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(venv / "lib/python3.8/site-packages"), "", "no/such/folder"])
    (target,) = resolve_targets(".", atlas=atlas)
    assert target.name == "tensorflow 2.8.4 + tensorflow-text 2.8.2"


def test_this_environment_without_tensorflow_is_an_error(atlas, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(Error) as raised:
        resolve_targets(".", atlas=atlas)
    assert str(raised.value) == f"this Python environment ({sys.prefix}): no TensorFlow found"


def test_this_environment_has_the_packages_of_the_tests():
    assert "pytest" in {requirement.package for requirement in this_environment().wanted}


def test_the_first_folder_wins(tmp_path, monkeypatch):
    install(tmp_path / "a", "tensorflow-2.8.4.dist-info")
    install(tmp_path / "b", "tensorflow-2.4.4.dist-info")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert [requirement.text for requirement in this_environment().wanted] == ["tensorflow==2.8.4"]


def test_a_custom_build_is_noted(tmp_path):
    install(tmp_path, "tensorflow-2.8.4.dist-info", tag="cp38-cp38-linux_x86_64")
    assert installed_in(str(tmp_path)).notes == [
        "tensorflow is a custom build for `linux_x86_64`, not an official wheel"
    ]


def test_a_conda_build_is_noted(tmp_path):
    install(tmp_path, "tensorflow-2.8.4.dist-info", installer="conda")
    assert installed_in(str(tmp_path)).notes == [
        "tensorflow was installed by conda; conda builds are not recorded"
    ]


def test_an_arm64_environment_has_the_arm64_build(tmp_path, atlas):
    install(
        tmp_path / "site-packages", "tensorflow-2.20.0.dist-info", tag="cp311-cp311-manylinux2014_aarch64"
    )
    (target,) = resolve_targets(str(tmp_path / "site-packages"), atlas=atlas)
    assert target.name == "tensorflow 2.20.0 (aarch64)"


def test_a_folder_that_is_not_an_environment_is_an_error(tmp_path, atlas):
    (tmp_path / "stuff").mkdir()
    with pytest.raises(Error) as raised:
        resolve_targets(str(tmp_path / "stuff"), atlas=atlas)
    assert str(raised.value) == (
        f"{tmp_path / 'stuff'}: expected a site-packages folder, a virtual environment "
        "or the root of an image"
    )
