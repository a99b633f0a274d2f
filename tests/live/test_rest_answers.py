"""REST answers equal TensorFlow's for the same inputs, for every tensor type."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="pip install tfport[serve]")
import aiohttp
from tests.live import answers, facts
from tests.recorded_models import path_of

from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.server import RestServer
from tfport.serve.servable import Servable, ThreadRunner

tf = facts.tf
RECORDED = ["keras_sequential", "keras_functional", "strings", "tables_in_memory", "module", "estimator"]


class Every(tf.Module):
    """A signature with inputs and outputs of every type that JSON supports."""

    @tf.function
    def __call__(self, f, i, b, s):
        return {
            "half": f / 2,
            "edges": tf.stack([f / 0.0, -f / 0.0, tf.sqrt(-f)], 1),
            "double": tf.cast(f, tf.float64) / 3,
            "large": i * 2,
            "not": tf.logical_not(b),
            "joined": tf.strings.join([s, s]),
            "raw_bytes": tf.io.decode_base64(tf.io.encode_base64(s)),
            "small": tf.cast(i % 100, tf.uint8),
        }


@pytest.fixture(scope="module")
def every(tmp_path_factory) -> str:
    path, module = tmp_path_factory.mktemp("every"), Every()
    kinds = {"f": tf.float32, "i": tf.int64, "b": tf.bool, "s": tf.string}
    specs = [tf.TensorSpec([None], kind, name) for name, kind in kinds.items()]
    tf.saved_model.save(module, str(path), signatures=module.__call__.get_concrete_function(*specs))
    return str(path)


def asked(path: str, method: str, bodies: list[dict[str, Any]]) -> list[Any]:
    """Return a server's answers for this model."""

    async def run() -> list[Any]:
        catalog = ModelCatalog()
        with ThreadPoolExecutor(1) as pool:
            catalog.publish(Servable("model", 1, Session(path), ThreadRunner(pool)))
            front = RestServer(catalog, ready=lambda: True, options=RestOptions(port=0))
            url = f"http://127.0.0.1:{await front.start()}/v1/models/model:{method}"
            try:
                async with aiohttp.ClientSession() as client:
                    return [await _ask(client, url, body) for body in bodies]
            finally:
                await front.stop(1)

    return asyncio.run(run())


async def _ask(client: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> Any:
    async with client.post(url, data=json.dumps(body)) as response:
        answer = json.loads(await response.read())
        assert response.status == 200, answer
        return answer


def as_json(array: np.ndarray) -> Any:
    """Return an array as a client writes it, strings in base64."""
    if array.dtype != object:
        return array.tolist()
    encoded = [{"b64": base64.b64encode(item).decode()} for item in array.ravel()]
    out = np.empty(len(encoded), object)
    out[:] = encoded
    return out.reshape(array.shape).tolist()


def as_array(value: Any, like: np.ndarray) -> np.ndarray:
    if like.dtype != object:
        return np.array(value, like.dtype)
    array = np.array(_bytes(value), object)
    return array.reshape(like.shape)


def _bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes(item) for item in value]
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def assert_same(answer: Any, expected: Mapping[str, np.ndarray], columns: bool) -> None:
    for name, array in expected.items():
        output = (
            answer if len(expected) == 1 else ([row[name] for row in answer] if not columns else answer[name])
        )
        got = as_array(output, array)
        if array.dtype.kind == "f":
            np.testing.assert_allclose(got, array, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, array)


def compare(path: str, name: str, feeds: dict[str, np.ndarray]) -> None:
    signature = tf.saved_model.load(path, ["serve"]).signatures[name]
    tensors = {key: tf.constant(array) for key, array in feeds.items()}
    expected = {key: value.numpy() for key, value in signature(**tensors).items()}
    count = len(next(iter(feeds.values())))
    columns = {key: as_json(array) for key, array in feeds.items()}
    rows = [{key: column[n] for key, column in columns.items()} for n in range(count)]
    bodies = [{"signature_name": name, "inputs": columns}, {"signature_name": name, "instances": rows}]
    if len(feeds) == 1:
        (only,) = columns.values()
        bodies += [{"signature_name": name, "inputs": only}, {"signature_name": name, "instances": only}]
    # an answer without rows can only be returned in columns
    if any(array.shape[:1] != (count,) for array in expected.values()):
        bodies = [body for body in bodies if "inputs" in body]
    for body, answer in zip(bodies, asked(path, "predict", bodies), strict=True):
        key = "outputs" if "inputs" in body else "predictions"
        assert_same(answer[key], expected, columns=key == "outputs")


def test_every_type_of_tensor(every):
    compare(
        every,
        "serving_default",
        {
            "f": np.array([0.1, 3.0, 1e30], np.float32),
            "i": np.array([2**61, -5, 7], np.int64),
            "b": np.array([True, False, True]),
            "s": np.array([b"a", "é".encode(), b""], object),
        },
    )


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_models(name):
    path = path_of(name)
    if not (Path(path) / "saved_model.pb").exists():
        path = str(facts.newest_version(Path(path)))
    for key, signature in tf.saved_model.load(path, ["serve"]).signatures.items():
        specs = signature.structured_input_signature[1]
        feeds = {k: answers.made(k, spec.dtype, spec.shape) for k, spec in specs.items()}
        if name == "estimator":
            feeds = {k: np.array([answers.example(n) for n in range(2)], object) for k in specs}
        if feeds and all(array.ndim for array in feeds.values()):
            compare(path, key, feeds)


def test_examples_are_what_tensorflow_parses(tmp_path):
    class Parsing(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
        def __call__(self, inputs):
            parsed = tf.io.parse_example(
                inputs,
                {
                    "f": tf.io.FixedLenFeature([2], tf.float32),
                    "i": tf.io.FixedLenFeature([], tf.int64, 5),
                    "s": tf.io.FixedLenFeature([], tf.string),
                },
            )
            scores = parsed["f"] + tf.cast(parsed["i"], tf.float32)[:, None]
            return {"scores": scores, "classes": tf.stack([parsed["s"], parsed["s"] + "!"], 1)}

    tf.saved_model.save(Parsing(), str(tmp_path))
    rows = [{"f": [0.1, 2.5], "s": "a", "i": 3}, {"f": [1.5, 2.5], "s": {"b64": "eno="}}]
    answer = asked(str(tmp_path), "classify", [{"examples": rows, "context": {"i": 2}}])[0]
    expected = [[["a", 3.1], ["a!", 5.5]], [["zz", 3.5], ["zz!", 4.5]]]
    assert answer == {"results": expected}
