"""`make bench-lite`: run `.tflite` files with tfport, LiteRT (with XNNPACK) and OpenVINO.

    python benchmarks/lite_files.py [--threads 1] FILE.tflite…

Each contender runs in its own process, in turn. The times are processor milliseconds of all threads (the
median of a process, the best of its rounds); a ratio above 1 is in favor of tfport.
"""

import argparse
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tfport
from tfport.errors import Error
from tfport.runtime.bench.bench import ROUNDS, run_worker, sample_inputs
from tfport.runtime.select_signature import select_signature

HERE = Path(__file__).resolve().parent
CONTENDERS = ("tfport", "litert", "openvino")
SECONDS = 4.0


def measured(path: Path, threads: int, seconds: float) -> dict[str, float]:
    """The processor milliseconds of a call, for each contender that can run a file."""
    model = tfport.load(path)
    signature = select_signature(model, None)
    rounds: dict[str, list] = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs.npz")
        np.savez(inputs, **_in_order(model, sample_inputs(signature, 1, {})))
        job = {"model": str(path), "signature": signature.name, "inputs": str(inputs),
               "engine": "auto", "threads": threads, "seconds": seconds / ROUNDS}  # fmt: skip
        for _ in range(ROUNDS):
            for contender in list(rounds):
                command = [sys.executable, str(HERE / "lite_contenders.py")]
                try:
                    rounds[contender].append(run_worker(command, {**job, "contender": contender}, folder))
                except Error as error:
                    print(f"{path.name}: {error}"[:300], file=sys.stderr)
                    del rounds[contender]
    return {name: min(result["cpu"] for result in results) * 1e3 for name, results in rounds.items()}


def _in_order(model: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inputs in the order of the first subgraph, as the other contenders take them."""
    stated = [record for record in model.lite.signatures if record.subgraph == 0]
    if not stated:
        return inputs
    names = {tensor: name for name, tensor in stated[0].inputs.items()}
    return {names[tensor]: inputs[names[tensor]] for tensor in model.lite.subgraphs[0].inputs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {contender: [] for contender in CONTENDERS[1:]}
    print(
        f"{options.threads} threads\n\n| model | tfport, ms | litert, ms | openvino, ms | litert | openvino |"
    )
    print("|---|---|---|---|---|---|")
    for path in options.files:
        try:
            results = measured(path, options.threads, options.seconds)
        except Error as error:
            print(f"{path.name}: {error}"[:300], file=sys.stderr)
            continue
        ours = results.get("tfport")
        cells = [f"{results[c]:.2f}" if c in results else "—" for c in CONTENDERS]
        for contender in CONTENDERS[1:]:
            ratio = results[contender] / ours if ours and contender in results else None
            cells.append(f"{ratio:.2f}x" if ratio else "—")
            ratios[contender] += [ratio] if ratio else []
        print(f"| {path.stem[-60:]} | {' | '.join(cells)} |", flush=True)
    for contender, several in ratios.items():
        if several:
            mean = math.exp(sum(map(math.log, several)) / len(several))
            slower = sum(ratio < 1 for ratio in several)
            print(f"{contender}: geometric mean {mean:.2f}x over {len(several)} models, {slower} slower")


if __name__ == "__main__":
    main()
