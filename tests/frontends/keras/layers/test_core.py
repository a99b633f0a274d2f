"""Dense, Activation and the layers that do nothing at inference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential

from tfport.errors import CannotRun, UnreadableFile

KERNEL = np.arange(6, dtype="f").reshape(2, 3) - 2
BIAS = np.float32([1, 0, -1])


@pytest.mark.parametrize("shape", [(4, 2), (2, 5, 2), (1, 2, 3, 2)])
def test_dense_multiplies_the_last_axis(shape):
    model = built(sequential(("Dense", {"units": 3}), shape=(None, *shape[1:])), {"l0": [KERNEL, BIAS]})
    x = np.random.default_rng(1).standard_normal(shape).astype("f")
    np.testing.assert_allclose(answers(model, x)[0], x @ KERNEL + BIAS, rtol=1e-5, atol=1e-6)


def test_dropout_does_nothing_at_inference():
    model = built(sequential(("Dropout", {"rate": 0.9}), shape=(None, 3)), {})
    x = np.float32([[1, 2, 3]])
    np.testing.assert_array_equal(answers(model, x)[0], x)


def test_hard_sigmoid_has_the_meaning_of_the_version_that_saved_it():
    config, x = sequential(("Activation", {"activation": "hard_sigmoid"}), shape=(None, 1)), np.float32([[1]])
    old, new = (answers(built(config, {}, version), x)[0].item() for version in ("2.15.0", "3.0.5"))
    assert (old, new) == (pytest.approx(0.7), pytest.approx(4 / 6))


def test_all_layers_that_cannot_be_built_are_named_at_once():
    config = sequential(("Mine", {}), ("Dense", {"units": 3, "odd": 1}), ("Yours", {}), shape=(None, 2))
    with pytest.raises(CannotRun, match=r"`l0` is of the class `Mine`.*`odd` is unknown.*`Yours`"):
        built(config, {})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([KERNEL], "its weight `bias` is not in the file"),
        ([KERNEL.T, BIAS], r"has the shape \(3, 2\) in the file"),
    ],
)
def test_weights_that_do_not_fit_are_named(weights, message):
    with pytest.raises(UnreadableFile, match=message):
        built(sequential(("Dense", {"units": 3}), shape=(None, 2)), {"l0": weights})


def test_a_lambda_is_refused_with_its_name():
    config = sequential(("Lambda", {"function": ["4wEAAAAA", None, None]}), shape=(None, 2))
    with pytest.raises(CannotRun, match="layer `l0` is a Lambda, whose Python code tfport never runs"):
        built(config, {})


def with_input(kind, dtype):
    stored = sequential(("Dense", {"units": 1, "use_bias": False}), shape=(None, 2), dtype=dtype)
    stored["config"]["layers"][0]["config"][kind] = True
    return built(stored, {"l0": [np.float32([[2], [3]])]})


def test_a_sparse_input_takes_a_plain_tensor():
    assert answers(with_input("sparse", "float32"), np.float32([[0, 5], [1, 0]]))[0].tolist() == [[15], [2]]


@pytest.mark.parametrize(
    ("kind", "dtype", "why"),
    [
        ("sparse", "int64", "a sparse int64 tensor, in which a missing element is not a zero"),
        ("ragged", "float32", "it is ragged, and a plain tensor does not say where rows end"),
    ],
)
def test_inputs_that_a_plain_tensor_cannot_be_are_refused(kind, dtype, why):
    with pytest.raises(CannotRun, match=f"input `x`: .*{why}"):
        with_input(kind, dtype)
