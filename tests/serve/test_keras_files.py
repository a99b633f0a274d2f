"""Keras files are served as they are: in the folder of a version, and by their path."""

import numpy as np
import pytest
from tests.frontends.keras.files import X, expected, write_h5
from tests.serve.process import command

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.fix_to import fix_to
from tfport.fix.options import FixOptions

PLACES = ["store/small/1/model.keras", "store/small/1/model.h5", "store/small/m.keras", "small"]
"""Where the file is; the model is called `small`."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keras")
    source, path = tfport.load(write_h5(folder / "m.h5")), folder / "m.keras"
    fix_to(source, resolve_targets("keras==3.15.1")[0], str(path), FixOptions()).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("place", PLACES)
def test_a_keras_file_is_served(tmp_path, archive, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".h5":
        write_h5(path)
    else:
        path.write_bytes(archive)
    base = next((parent for parent in path.parents if parent.name == "small"), path)
    with command(base) as running:
        status, body = running.ask("POST", "/v1/models/small:predict", {"instances": X.tolist()})
        assert (status, list(body)) == (200, ["predictions"])
        assert np.allclose(body["predictions"], expected(X), rtol=1e-5)
        metadata = running.ask("GET", "/v1/models/small/metadata")[1]["metadata"]
        signature = metadata["signature_def"]["signature_def"]["serving_default"]
        assert (list(signature["inputs"]), list(signature["outputs"])) == (["x"], ["scores"])
        sizes = [dim["size"] for dim in signature["inputs"]["x"]["tensor_shape"]["dim"]]
        assert sizes == ["-1", "4"]
