"""What conda's lists say about CUDA, GPUs and Python."""

import pytest

from tfport.atlas.environment import read_environment

HEAD = "# packages in environment at /opt/conda:\n#\n# Name  Version  Build  Channel\n"
CASES = [
    (
        "cudatoolkit",
        "dependencies:\n- tensorflow=2.8.4\n- cudatoolkit=11.2\n- cudnn=8.1\n",
        {"cudart": "11.2", "cudnn": "8.1"},
        "",
        "gpu",
    ),
    (
        "cuda-version",
        "dependencies:\n- tensorflow=2.15.1\n- cuda-version=11.8\n",
        {"cudart": "11.8"},
        "",
        "gpu",
    ),
    (
        "cuda-nvcc",
        "dependencies:\n- tensorflow=2.15.1\n- nvidia::cuda-nvcc=12.2.140\n",
        {"cudart": "12.2.140"},
        "",
        "gpu",
    ),
    (
        "build string",
        "dependencies:\n- tensorflow=2.8.0=cuda112py39h9333c2f_1\n",
        {"cudart": "11.2"},
        "3.9",
        "gpu",
    ),
    ("gpu build", "dependencies:\n- tensorflow=2.4.1=gpu_py39h8236f22_0\n", {}, "3.9", "gpu"),
    ("cpu build", "dependencies:\n- tensorflow=2.4.1=mkl_py39h4683426_0\n", {}, "3.9", "cpu"),
    (
        "list",
        HEAD + "tensorflow 2.10.0 cuda112py310he87a039_0 conda-forge\npython 3.10.9 h_0 conda-forge\n",
        {"cudart": "11.2"},
        "3.10",
        "gpu",
    ),
    (
        "export",
        "# $ conda create --name e --file this\ntensorflow-base=2.8.0=cuda112py39h01bd6f0_1\n",
        {"cudart": "11.2"},
        "3.9",
        "gpu",
    ),
    (
        "explicit",
        "@EXPLICIT\nhttps://e.org/linux-64/tensorflow-2.8.0-cuda112py39h9333c2f_1.tar.bz2\n",
        {"cudart": "11.2"},
        "3.9",
        "gpu",
    ),
    ("tensorflow-gpu", "dependencies:\n- tensorflow-gpu=2.4.1\n", {}, "", "gpu"),
    ("conda-forge's gpu", "dependencies:\n- tensorflow-gpu=2.15.0\n", {}, "", "gpu"),
]


@pytest.mark.parametrize(("what", "text", "cuda", "python", "device"), CASES, ids=[row[0] for row in CASES])
def test_conda_says_cuda_and_python(what, text, cuda, python, device, tmp_path):
    path = tmp_path / ("environment.yml" if text.startswith("dep") else "list.txt")
    path.write_text(text)
    environment = read_environment(str(path))
    assert (environment.cuda, environment.python, environment.target.device) == (cuda, python, device)


def test_old_releases_for_gpus_are_separate_builds(tmp_path):
    (tmp_path / "environment.yml").write_text("dependencies:\n- tensorflow-gpu=1.14.0\n")
    assert read_environment(str(tmp_path / "environment.yml")).target.name == "tensorflow-gpu 1.14.0"


def test_and_cuda_is_what_the_wheel_declares():
    environment = read_environment("tensorflow[and-cuda]==2.15.1")
    assert environment.cuda == {"cudart": "12.2.140", "cudnn": "8.9.4.25"}
    assert environment.version("nvidia-nccl-cu12") == "2.16.5"
    assert read_environment("tensorflow[and-cuda]==2.21.0").cuda == {"cudart": "12.5.82", "cudnn": "9.3.0.75"}
    old = read_environment("tensorflow[and-cuda]==2.12.0")
    assert (old.cuda, old.notes) == ({}, ["tensorflow 2.12.0 has no extra `and-cuda`: pip ignores it"])
