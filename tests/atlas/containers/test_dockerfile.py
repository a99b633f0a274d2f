"""Dockerfiles as environments and targets; nothing in them is executed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfport.atlas.containers.dockerfile import read_dockerfile
from tfport.atlas.environment import read_environment
from tfport.atlas.lockfiles import read_packages
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error

CASES = [
    (
        "pip",
        "FROM python:3.8\nRUN pip install tensorflow==2.8.4 numpy==1.22.0",
        "numpy==1.22.0 tensorflow==2.8.4",
    ),
    (
        "base image",
        "FROM tensorflow/tensorflow:2.4.1-gpu\nRUN pip install -U pillow",
        "pillow tensorflow==2.4.1",
    ),
    ("replaced", "FROM tensorflow/tensorflow:2.4.1\nRUN pip install tensorflow==2.8.4", "tensorflow==2.8.4"),
    ("already met", "FROM tensorflow/tensorflow:2.4.1\nRUN pip install 'tensorflow>=2'", "tensorflow==2.4.1"),
    (
        "removed",
        "FROM tensorflow/tensorflow:2.4.1\nRUN pip uninstall -y tensorflow && pip install tf-nightly",
        "tf-nightly",
    ),
    ("argument", "ARG TAG=2.4.1\nFROM tensorflow/tensorflow:${TAG}", "tensorflow==2.4.1"),
    ("default", "FROM tensorflow/tensorflow:${TAG:-2.4.1}-jupyter", "tensorflow==2.4.1"),
    (
        "in a stage",
        "ARG V=2.8.4\nFROM python:3.8\nARG V\nENV P=tensorflow\nRUN pip install $P==$V",
        "tensorflow==2.8.4",
    ),
    (
        "continued",
        "FROM python:3.8\nRUN set -ex; \\\n  # a comment\n  pip3 install --no-cache-dir \\\n"
        "    tensorflow==2.8.4 \\\n\n    numpy==1.22.0\n",
        "numpy==1.22.0 tensorflow==2.8.4",
    ),
    ("escape", "# escape=`\nFROM python:3.8\nRUN pip install `\n  tensorflow==2.8.4", "tensorflow==2.8.4"),
    ("JSON", 'FROM python:3.8\nRUN ["pip", "install", "tensorflow==2.8.4"]', "tensorflow==2.8.4"),
    (
        "here-document",
        "FROM python:3.8\nRUN <<EOF\npip install tensorflow==2.8.4\nEOF\nRUN true",
        "tensorflow==2.8.4",
    ),
    (
        "mount",
        "FROM python:3.8\nRUN --mount=type=cache,target=/c pip install tensorflow==2.8.4",
        "tensorflow==2.8.4",
    ),
    (
        "python -m pip",
        "FROM python:3.8\nRUN python3.8 -m pip install -i https://e.org/s tensorflow==2.8.4",
        "tensorflow==2.8.4",
    ),
    ("uv", "FROM python:3.8\nRUN uv pip install --system tensorflow==2.8.4", "tensorflow==2.8.4"),
    (
        "wheel",
        "FROM python:3.6\nRUN pip install https://e.org/tensorflow-1.4.0-cp36-cp36m-linux_x86_64.whl",
        "tensorflow==1.4.0",
    ),
    (
        "conda",
        "FROM continuumio/miniconda3\nRUN conda install -y -c conda-forge tensorflow=2.8 numpy",
        "numpy tensorflow==2.8.*",
    ),
    (
        "conda run",
        "FROM continuumio/miniconda3\nRUN conda run -n e pip install tensorflow==2.8.4",
        "tensorflow==2.8.4",
    ),
    (
        "apt",
        "FROM ubuntu:20.04\nRUN apt-get install -y tensorflow-model-server=2.8.0",
        "tensorflow-model-server==2.8.0",
    ),
    (
        "last stage",
        "FROM python:3.8 AS a\nRUN pip install tensorflow==2.8.4\nFROM python:3.9\nRUN pip install six",
        "six",
    ),
    (
        "named stage",
        "FROM python:3.8 AS Base\nRUN pip install tensorflow==2.8.4\nFROM base\nRUN pip install six",
        "six tensorflow==2.8.4",
    ),
    (
        "copied venv",
        "FROM python:3.8 AS b\nRUN pip install tensorflow==2.8.4\nFROM python:3.8-slim\n"
        "COPY --from=b /opt/venv /opt/venv",
        "tensorflow==2.8.4",
    ),
    (
        "copied file",
        "FROM python:3.8 AS b\nRUN pip install tensorflow==2.8.4\nFROM python:3.8-slim\n"
        "COPY --from=b /app/model.pb /app/",
        "",
    ),
]


def packages(path) -> str:
    return " ".join(sorted(wanted.text for wanted in read_packages(str(path)).wanted))


@pytest.mark.parametrize(("what", "text", "wanted"), CASES, ids=[row[0] for row in CASES])
def test_a_dockerfile_installs_packages(what, text, wanted, tmp_path):
    (tmp_path / "Dockerfile").write_text(text)
    assert packages(tmp_path / "Dockerfile") == wanted


@pytest.mark.parametrize(
    "name", ["Dockerfile", "Dockerfile.gpu", "serve.dockerfile", "Containerfile", "image.txt"]
)
def test_a_dockerfile_is_recognized_by_name_or_content(name, tmp_path):
    (tmp_path / name).write_text("# the server\nFROM tensorflow/serving:2.8.0\n")
    (target,) = resolve_targets(str(tmp_path / name))
    assert target.name == "tensorflow-serving 2.8.0"


def test_files_that_it_installs_are_read(tmp_path):
    (tmp_path / "docker").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/base.txt").write_text("tensorflow==2.8.4\n")
    (tmp_path / "docker/Dockerfile").write_text(
        "FROM python:3.8-slim\nCOPY requirements/base.txt /tmp/\nRUN pip install -r /tmp/base.txt\n"
    )
    environment = read_environment(str(tmp_path / "docker/Dockerfile"))
    assert (environment.target.name, environment.python) == ("tensorflow 2.8.4", "3.8")


@pytest.mark.parametrize(
    ("command", "name", "text"),
    [
        ("conda env create -f environment.yml", "environment.yml", "dependencies:\n- tensorflow=2.8.4=x\n"),
        ("poetry install", "poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.8.4"\n'),
        ("uv sync --frozen", "uv.lock", '[[package]]\nname = "tensorflow"\nversion = "2.8.4"\n'),
        ("pip install .", "pyproject.toml", '[project]\ndependencies = ["tensorflow==2.8.4"]\n'),
    ],
)
def test_lock_files_that_it_installs_are_read(command, name, text, tmp_path):
    (tmp_path / name).write_text(text)
    (tmp_path / "Dockerfile").write_text(f"FROM python:3.8\nCOPY . .\nRUN {command}\n")
    assert packages(tmp_path / "Dockerfile") == "tensorflow==2.8.4"


def test_a_missing_file_is_noted(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python:3.8\nRUN pip install -r requirements.txt\n")
    environment = read_environment(str(tmp_path / "Dockerfile"))
    assert environment.target is None
    (note,) = read_packages(str(tmp_path / "Dockerfile")).notes
    assert note.endswith(
        "installs the packages of requirements.txt, which is not beside it: they are unknown"
    )
    assert environment.unknown.endswith(note)


def test_files_outside_of_the_build_context_are_not_read(tmp_path):
    (tmp_path / "secret.txt").write_text("tensorflow==2.8.4\n")
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    lines = "RUN pip install -r ../../secret.txt\nRUN pip install -r link.txt\n"
    (folder / "Dockerfile").write_text(f"FROM python:3.8\n{lines}")
    assert packages(folder / "Dockerfile") == ""


def _read_or_refused(read):
    """Whether a file gives packages, or an error of one sentence that names the file."""
    try:
        packages = read()
    except Error as error:
        return "Dockerfile" in str(error) and "\n" not in str(error)
    return packages is not None


def test_a_dockerfile_that_installs_itself_ends(tmp_path):
    (tmp_path / "Dockerfile").write_text(
        "FROM python:3.8\nRUN pip install -r Dockerfile\nRUN pip install -r Dockerfile\n"
    )
    assert _read_or_refused(lambda: read_packages(str(tmp_path / "Dockerfile")))


@pytest.mark.parametrize(
    "text", ["FROM tensorflow/tensorflow:$TAG", "FROM python:3.8\nRUN pip install tensorflow==$V"]
)
def test_a_variable_without_a_value_is_unknown(text, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"ARG TAG\nARG V\n{text}")
    environment = read_environment(str(tmp_path / "Dockerfile"))
    assert "its variable has no default; write the value into the file" in environment.unknown


@pytest.mark.parametrize(
    ("base", "unknown"),
    [("acme/tensorflow-1.8.0-notebook-cpu", True), ('"ubuntu:bionic"', False), ("scratch", False)],
)
def test_an_unknown_base_image_may_have_a_tensorflow(base, unknown, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN pip install six\n")
    environment = read_environment(str(tmp_path / "Dockerfile"))
    assert ("is not known, and may have a TensorFlow" in environment.unknown) is unknown
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN pip install tensorflow==2.8.4\n")
    assert read_environment(str(tmp_path / "Dockerfile")).target.name == "tensorflow 2.8.4"


def test_the_newest_release_for_the_python_of_the_image_is_chosen(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python:3.7\nRUN pip install tensorflow\n")
    assert read_environment(str(tmp_path / "Dockerfile")).target.name == "tensorflow 2.11.0"


def test_platforms_and_cuda(tmp_path):
    base = "FROM --platform=linux/arm64 nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04"
    (tmp_path / "Dockerfile").write_text(f"{base}\nRUN pip install tensorflow==2.10.1")
    listing = read_packages(str(tmp_path / "Dockerfile"))
    assert (listing.platform, listing.cuda) == ("aarch64", {"cudart": "11.2.2", "cudnn": "8"})


def test_a_dockerfile_without_from_is_one_sentence(tmp_path):
    (tmp_path / "Dockerfile").write_text("RUN pip install tensorflow\n")
    with pytest.raises(Error, match="expected a Dockerfile with a `FROM` instruction"):
        resolve_targets(str(tmp_path / "Dockerfile"))


HOSTILE = [
    "FROM a\n" + "ARG A=$A$A$A$A\n" * 200 + "RUN pip install $A\n",
    "ARG A=aaaaaaaaaaaaaaaa\n" + "ARG A=$A$A\n" * 100 + "FROM $A\n",
    "FROM a\nRUN " + "<<A " * 20_000 + "\n" + "x\n" * 20_000,
    "FROM a\nRUN " + "\\\n" * 50_000,
    "FROM a\n" + "RUN <<E\n" * 9_000,
    "FROM a AS a\nFROM a AS a\n" * 5_000,
    "FROM a\nRUN pip install " + "'" * 30_001,
    "FROM a\nRUN " + "[" * 30_000,
    "FROM a\nRUN " + "bash -c " * 5_000,
    "FROM a\nRUN " + "python -m " * 5_000,
    "FROM a\nENV " + "A=" * 20_000,
    "FROM a\nCOPY " + "x " * 2_000 + "y\n" + "RUN pip install -r z\n" * 50,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_dockerfiles_end(number, tmp_path):
    path = str(tmp_path / "Dockerfile")
    assert _read_or_refused(lambda: read_dockerfile(path, HOSTILE[number], read_packages))


WORDS = st.sampled_from(
    [
        "FROM",
        "RUN",
        "ARG",
        "ENV",
        "COPY",
        "pip",
        "install",
        "-r",
        "tensorflow==2.8.4",
        "$A",
        "${A:-b}",
        "<<E",
        "E",
        "\\",
        "\n",
        "&&",
        "'",
        '"',
        "#",
        "--from=0",
        "AS",
        "[",
        "]",
        "conda",
        "-f",
        "=",
        "A",
        "python:3.8",
        "bash",
        "-c",
    ]
)


@given(text=st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map(" ".join)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(text, tmp_path):
    path = str(tmp_path / "Dockerfile")
    assert _read_or_refused(lambda: read_dockerfile(path, f"FROM a\n{text}", read_packages))


BUILDS = [
    "RUN bazel build --config=opt //tensorflow/tools/pip_package:build_pip_package",
    "RUN git clone --branch=r2.4 --depth=1 https://github.com/tensorflow/tensorflow.git .",
    'RUN test "$CHECKOUT" -eq 1 && git clone https://github.com/tensorflow/tensorflow.git /src || true',
    "RUN cd /src && bazelisk --bazelrc=x build -c opt \\\n    //tensorflow:libtensorflow_cc.so",
]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("after", "known"),
    [("RUN pip install /tmp/pip/*.whl", False), ("RUN pip install tensorflow==2.4.1", True)],
)
def test_a_tensorflow_that_is_built_from_source_has_an_unknown_version(build, after, known, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM ubuntu:20.04\n{build}\n{after}\n")
    environment = read_environment(str(tmp_path / "Dockerfile"))
    built = "TensorFlow is built from source: its version is unknown"
    assert environment.unknown.endswith(built) is not known


@pytest.mark.parametrize("other", ["tensorflow/text", "tensorflow/models", "acme/tensorflow"])
def test_other_sources_are_no_tensorflow(other, tmp_path):
    clone = f"RUN git clone https://github.com/{other}.git"
    (tmp_path / "Dockerfile").write_text(f"FROM ubuntu:20.04\n{clone}\n")
    environment = read_environment(str(tmp_path / "Dockerfile"))
    assert "built from source" not in environment.unknown
