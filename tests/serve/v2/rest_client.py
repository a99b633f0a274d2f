"""Helpers: a client for the Open Inference Protocol over REST, and requests."""

import http.client
import json

LENGTH = "Inference-Header-Content-Length"


def ask(server, method, path, body=None, headers=None):
    """Return the status, headers and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=60)
    try:
        text = json.dumps(body) if isinstance(body, dict | list) else body
        connection.request(method, path, text, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def ask_json(server, method, path, body=None, headers=None):
    status, _, text = ask(server, method, path, body, headers)
    return status, json.loads(text)


def fp32(name, *values, shape=None, **more):
    return {"name": name, "datatype": "FP32", "shape": shape or [len(values)], "data": list(values), **more}


def sums(*more, **fields):
    row = {"inputs": [fp32("a", 1, 2, 3, shape=[1, 3]), fp32("b", 4, 5, 6, shape=[1, 3]), *more]}
    return {**row, **fields}
