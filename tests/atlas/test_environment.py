"""Environments: packages, Python, and system."""

import pytest
from tests.atlas.system_images import elf, image

from tfport.atlas.environment import read_environment
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.system_image import path_in_image, site_packages_of, system_of
from tfport.errors import Error


def test_an_image_has_packages_and_a_system(tmp_path):
    environment = read_environment(str(image(tmp_path / "root")))
    assert environment.target.name == "tensorflow 2.8.4"
    assert (environment.python, environment.version("numpy")) == ("3.8", "1.22.0")
    assert environment.system.name == "Debian GNU/Linux 11 (bullseye)"
    system = environment.system
    assert (system.machine, system.libc, system.glibc) == ("x86_64", "glibc", "2.31")
    assert (system.glibcxx, system.cxxabi) == ("3.4.28", "1.3.12")


def test_an_image_is_a_target(tmp_path):
    (target,) = resolve_targets(str(image(tmp_path / "root")))
    assert target.name == "tensorflow 2.8.4"


def test_the_packages_in_the_folder_of_tensorflow_are_used(tmp_path):
    root = image(tmp_path / "root", packages=("pip-23.0",))
    venv = root / "opt/venv/lib/python3.10/site-packages"
    (venv / "tensorflow").mkdir(parents=True)
    (venv / "tensorflow-2.11.1.dist-info").mkdir()
    environment = read_environment(str(root))
    assert (environment.target.name, environment.python) == ("tensorflow 2.11.1", "3.10")


def test_two_tensorflows_in_an_image_are_noted(tmp_path):
    root = image(tmp_path / "root")
    (root / "opt/venv/lib/python3.10/site-packages/tensorflow").mkdir(parents=True)
    (note,) = site_packages_of(str(root)).notes
    assert note == (
        "TensorFlow is in opt/venv/lib/python3.10/site-packages, "
        "usr/local/lib/python3.8/site-packages: the first one is used"
    )


def test_debian_python_imports_from_two_folders(tmp_path):
    root = image(tmp_path / "root", packages=())
    for folder in ("usr/local/lib/python3.11/dist-packages/tensorflow", "usr/lib/python3/dist-packages"):
        (root / folder).mkdir(parents=True)
    assert [str(p.relative_to(root)) for p in site_packages_of(str(root)).chosen] == [
        "usr/local/lib/python3.11/dist-packages", "usr/lib/python3/dist-packages"
    ]  # fmt: skip


def test_cuda_and_musl_are_recognized_by_their_files(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/ld-musl-aarch64.so.1").write_bytes(elf("", "aarch64"))
    cuda = tmp_path / "usr/local/cuda-11.2/lib64"
    cuda.mkdir(parents=True)
    for name in ("libcudart.so", "libcudart.so.11.0", "libcudart.so.11.2.152", "libcudnn.so.8"):
        (cuda / name).write_bytes(b"")
    system = system_of(str(tmp_path))
    assert (system.libc, system.glibc, system.machine) == ("musl", "", "aarch64")
    assert system.cuda == {"cudart": "11.2.152", "cudnn": "8"}


@pytest.mark.parametrize(
    ("path", "leads"),
    [("a", "b/c"), ("up", "b"), ("round", None), ("gone", None), ("b/./c", "b/c"), ("../../b", "b")],
)
def test_links_stay_inside_an_image(path, leads, tmp_path):
    (tmp_path / "b/c").mkdir(parents=True)
    links = {"a": "/b/c", "up": "../../../b", "round": "round", "gone": "/no/such"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    real_path = path_in_image(str(tmp_path), path)
    assert real_path == (None if leads is None else str(tmp_path / leads))


def test_unknown_facts_stay_empty(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.8.4\nnumpy>=1.20\n")
    environment = read_environment(str(tmp_path / "requirements.txt"))
    assert (environment.python, environment.system.glibc, environment.system.machine, environment.cuda) == (
        "",
        "",
        "",
        {},
    )
    assert environment.version("numpy") == ""
    assert (environment.version_text("numpy"), environment.version_text("h5py")) == (">=1.20", "")


def test_conda_names_python_and_cuda_as_packages(tmp_path):
    text = "dependencies:\n- python=3.9\n- tensorflow=2.8.4=x\n- cudatoolkit==11.2.2\n- cudnn==8.1.0\n"
    (tmp_path / "environment.yml").write_text(text)
    environment = read_environment(str(tmp_path / "environment.yml"))
    assert (environment.python, environment.cuda) == ("3.9", {"cudart": "11.2.2", "cudnn": "8.1.0"})
    assert environment.target.device == "gpu"


def test_this_environment_has_a_system():
    environment = read_environment(".")
    assert environment.python.startswith("3.")
    assert environment.system.machine in ("x86_64", "aarch64")


def test_a_list_without_tensorflow_has_a_note(tmp_path):
    (tmp_path / "freeze.txt").write_text("numpy==1.22.0\n")
    environment = read_environment(str(tmp_path / "freeze.txt"))
    assert environment.target is None
    assert environment.notes == [f"{tmp_path / 'freeze.txt'}: no TensorFlow found"]


def test_a_range_is_not_an_environment():
    with pytest.raises(
        Error, match=r"tensorflow>=2.8,<2.9: names \d+ environments, tensorflow 2.8.0 to .*; expected one"
    ):
        read_environment("tensorflow>=2.8,<2.9")
