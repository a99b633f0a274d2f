"""Measure the session in a loop, without a network: `python serve_session.py JOB.json`."""

import json
import sys
import time
from pathlib import Path

import numpy as np

from tfport.runtime.session import Session


def main(path: str) -> None:
    job = json.loads(Path(path).read_text())
    call = Session(job["model"]).signature("serving_default")
    inputs = dict(np.load(job["inputs"]))
    call(**inputs)
    began = time.perf_counter()
    counts_from, end = began + job["seconds"] / 4, began + job["seconds"]
    took, now = [], began
    while now < end:
        call(**inputs)
        started, now = now, time.perf_counter()
        if now >= counts_from:
            took.append(now - started)
    took.sort()
    print(json.dumps({"rate": len(took) / sum(took), "p50": took[len(took) // 2],
                      "p99": took[len(took) * 99 // 100]}))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
