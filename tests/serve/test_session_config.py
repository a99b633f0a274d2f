"""What a ConfigProto file means for a server."""

import os

import pytest

from tfport.errors import Error
from tfport.serve.session_config import SessionConfig, hide_other_gpus, read_session_config

FILES = {
    "": SessionConfig(),
    "gpu_options { per_process_gpu_memory_fraction: 0.5 allow_growth: true }": SessionConfig(0.5),
    'gpu_options { visible_device_list: "1, 0" }': SessionConfig(visible_devices=(1, 0)),
    "intra_op_parallelism_threads: 2 inter_op_parallelism_threads: 3": SessionConfig(0.0, (), 2, 3),
    "intra_op_parallelism_threads: -1": SessionConfig(),
    "allow_soft_placement: true gpu_options { force_gpu_compatible: true }": SessionConfig(
        ignored=("allow_soft_placement", "gpu_options.force_gpu_compatible")
    ),
    "graph_options { rewrite_options { disable_meta_optimizer: true } }": SessionConfig(
        ignored=("graph_options",)
    ),
}
WRONG = {
    "gpu_option { }": 'has no field named "gpu_option"',
    "gpu_options { per_process_gpu_memory_fraction: 2 }": "memory_fraction is 2, expected 0 to 1",
    'gpu_options { visible_device_list: "a" }': "visible_device_list has `a`, expected numbers of GPUs",
    'gpu_options { visible_device_list: "1,1" }': "names a GPU twice",
}


def written(folder, text):
    path = folder / "session.config"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("text", FILES)
def test_options(tmp_path, text):
    assert read_session_config(written(tmp_path, text)) == FILES[text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_refused(tmp_path, text):
    with pytest.raises(Error) as error:
        read_session_config(written(tmp_path, text))
    assert WRONG[text] in str(error.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(Error, match="none: no such file"):
        read_session_config(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("before", "visible", "after"), [(None, (1, 0), "1,0"), ("4,5,6", (2,), "6"), ("4,5", (), "4,5")]
)
def test_visible_devices(monkeypatch, before, visible, after):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if before is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", before)
    hide_other_gpus(visible)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == after


def test_a_device_that_is_hidden(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    with pytest.raises(
        Error, match="visible_device_list has GPU 1, and CUDA_VISIBLE_DEVICES leaves 1 of them"
    ):
        hide_other_gpus((1,))
