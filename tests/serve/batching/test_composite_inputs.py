"""Components of sparse and ragged inputs are not batched."""

import asyncio

import numpy as np
import pytest
from tests.recorded_models import shared
from tests.serve.batching.batched_models import (
    ONE_THREAD,
    batched,
)

from tfport.runtime.session import Session
from tfport.serve.batching.joining import has_composite_inputs
from tfport.serve.monitoring.metrics import Metrics


def test_sparse_inputs_are_run_alone():
    session = Session(shared("sparse"))
    shape = {"args_0_2": np.int64([2, 3])}
    parts = [{"args_0": np.int64([[0, 0], [1, n]]), "args_0_1": np.float32([n, 2]), **shape} for n in (1, 2)]
    servable = batched(session, ONE_THREAD)

    async def both():
        return await asyncio.gather(*(servable.predict("", inputs) for inputs in parts))

    for inputs, answer in zip(parts, asyncio.run(both()), strict=True):
        expected = session.signature("serving_default")(**inputs)
        for name, values in expected.items():
            for value, wanted in zip(answer[name], values, strict=True):
                np.testing.assert_array_equal(value, wanted)


def test_parts_of_a_ragged_input_are_not_rows():
    session = Session(shared("ragged"))
    # by chance as many values as row splits
    parts = [{"args_0": np.int64([n, 2, 3]), "args_0_1": np.int64([0, n, 3])} for n in (1, 2)]
    metrics = Metrics(process=False)
    servable = batched(session, ONE_THREAD, metrics=metrics)

    async def both():
        return await asyncio.gather(*(servable.predict("", inputs, ["sums"]) for inputs in parts))

    assert [answer["sums"].tolist() for answer in asyncio.run(both())] == [[1, 5], [4, 3]]
    assert b":tensorflow:core:graph_runs{} 2" in metrics.text()


NUMBERS = [("keras_functional", False), ("ragged", True), ("sparse", True), ("module", False)]


@pytest.mark.parametrize(("name", "parts"), NUMBERS)
def test_parts_are_known_by_the_functions_of_the_model(name, parts):
    model = shared(name)
    assert has_composite_inputs(model, model.signatures["serving_default"]) == parts
