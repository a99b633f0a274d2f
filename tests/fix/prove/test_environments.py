"""Environments with a release: made by the real pip, from a folder of wheels instead of the package index."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import pytest

from tfport.fix.prove import environments
from tfport.fix.prove.environments import (
    READY,
    CannotProve,
    PackageRelease,
    cache_folder,
    release_environment,
)
from tfport.formats.digests import digest

OWN = "{}.{}".format(*sys.version_info)
RELEASE = PackageRelease("ai-edge-litert", "9.9.1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder, and a folder of wheels as the only source of pip."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(environments, "KNOWN", ("3.1", OWN))
    return tmp_path


def wheel(folder, release=RELEASE, tag="py3-none-any"):
    name = release.package.replace("-", "_")
    path = folder / f"{name}-{release.version}-{tag}.whl"
    info = f"{name}-{release.version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {release.package}\nVersion: {release.version}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"__version__ = {release.version!r}\n")
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_a_release_is_installed_once_and_kept(folder):
    path = wheel(folder)
    doing: list[str] = []
    made = release_environment(RELEASE, doing.append)
    assert doing == [f"fetching ai-edge-litert==9.9.1 for Python {OWN}", "installing ai-edge-litert==9.9.1"]
    assert (made.wheel.name, made.wheel.sha256) == (path.name, digest(path))
    program = "import ai_edge_litert; print(ai_edge_litert.__version__)"
    assert subprocess.check_output([made.python, "-c", program], text=True).strip() == "9.9.1"
    assert [entry.name for entry in cache_folder().iterdir()] == ["ai-edge-litert-9.9.1"]
    path.unlink()
    assert release_environment(RELEASE) == made


def test_an_interrupted_installation_leaves_nothing(folder, monkeypatch):
    def interrupt(place, *_):
        place.mkdir()
        raise KeyboardInterrupt

    wheel(folder)
    monkeypatch.setattr(environments, "_install", interrupt)
    with pytest.raises(KeyboardInterrupt):
        release_environment(RELEASE)
    assert list(cache_folder().iterdir()) == []


def test_an_environment_that_is_not_complete_is_made_again(folder, monkeypatch):
    wheel(folder)
    half = cache_folder() / "ai-edge-litert-9.9.1"
    half.mkdir(parents=True)
    monkeypatch.setattr(environments, "_install", lambda place, *_: place.mkdir())
    release_environment(RELEASE)
    assert set(json.loads((half / READY).read_text())) == {"name", "sha256"}


def test_a_release_without_a_wheel_for_this_machine_is_a_sentence(folder):
    for tag in ("cp27-cp27m-manylinux1_x86_64", "py3-none-win_amd64"):
        wheel(folder, tag=tag)
    with pytest.raises(
        CannotProve, match=f"cannot be installed on .* with Python {OWN}, which .* No matching"
    ):
        release_environment(RELEASE)


def test_without_a_network_it_is_one_sentence(monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(CannotProve) as caught:
        release_environment(RELEASE)
    assert str(caught.value) == (
        "ai-edge-litert==9.9.1 cannot be fetched: pip cannot reach the package index; connect to it, or name "
        "a Python that has ai-edge-litert==9.9.1 with --target-python"
    )


def test_a_python_that_is_missing_is_named():
    with pytest.raises(CannotProve, match=r"tensorflow==1\.4\.1 needs Python 3\.1, 3\.2, which this machine"):
        release_environment(PackageRelease("tensorflow", "1.4.1", ("2.7", "3.1", "3.2")))
