"""Published models on a GPU: the same answers as on the CPU?

    python benchmarks/real_gpu.py pack FOLDER [BYTES]     here: copy models to a folder, the smallest first
    python benchmarks/real_gpu.py run FOLDER RESULT.json  on a machine with a GPU: run each on both

BYTES limits the compressed size of the folder. Each model runs in a process of its own, on the CPU, on the
GPU as by default (TF32) and in full float32. The result has the largest difference of each, divided by the
largest answer, or the error.
"""

import io
import json
import lzma
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import tfport
from tfport.runtime.engines.gpu.gpu_options import FLOAT32, TF32, GpuOptions

LIMIT = 20_000_000
LARGE = 4096
"""Elements from which an input of floats is random numbers of a range instead of a file."""
JOBS = "jobs.json"
WORKERS, SECONDS = 6, 75


def pack(folder: Path, limit: int = LIMIT) -> None:
    from real_inputs import real_model_list  # needs the models, which only the packing machine has

    folder.mkdir(parents=True)
    sized = sorted(
        ((compressed(files_of(real.kind, real.path)), real) for real in real_model_list([])), key=by_size
    )
    jobs: list[dict[str, Any]] = []
    for size, real in sized:
        if size > limit:
            break
        limit -= size
        place = folder / str(len(jobs))
        try:
            job = job_of(real, place)
        except tfport.Error as error:
            print(f"{real.name}: {error}")
            continue
        for path in files_of(real.kind, real.path):
            copy = place / path.relative_to(real.path.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
        jobs.append(job | {"model": f"{place.name}/{real.path.name}"})
    (folder / JOBS).write_text(json.dumps(jobs))
    print(f"{len(jobs)} models")


def by_size(sized: tuple[int, Any]) -> tuple[int, str]:
    return sized[0], sized[1].name


def files_of(kind: str, path: Path) -> list[Path]:
    """The files of a model."""
    if kind == "saved_model":
        return sorted(p for p in path.rglob("*") if p.is_file())
    if kind == "meta_graph":
        return sorted(path.parent.glob(f"{path.name.removesuffix('.meta')}.*"))
    if kind == "tfjs":
        listed = json.loads(path.read_text()).get("weightsManifest", [])
        return [path, *(path.parent / name for group in listed for name in group["paths"])]
    return [path]


def compressed(paths: list[Path]) -> int:
    """The compressed size of some files."""
    if sum(path.stat().st_size for path in paths) > LIMIT:
        return LIMIT + 1
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path in paths:
            tar.add(path, path.name)
    return len(lzma.compress(content.getvalue(), preset=0))


def job_of(real: Any, place: Path) -> dict[str, Any]:
    """What to feed and fetch; arrays go to a file in the place."""
    model = tfport.load(str(real.path))
    signature = real.signature(model)
    arrays = real.inputs(model, signature)
    place.mkdir()
    ranges = {k: span(a) for k, a in arrays.items() if a.dtype.kind == "f" and a.size >= LARGE}
    kept = {k: a.astype(bytes) if a.dtype == object else a for k, a in arrays.items() if k not in ranges}
    np.savez(place / "inputs.npz", **{f"{i}": array for i, array in enumerate(kept.values())})
    fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
    return {"name": real.name, "feeds": list(kept), "ranges": ranges, "fetches": fetches}


def span(array: Any) -> list[Any]:
    return [array.dtype.name, list(array.shape), float(array.min()), float(array.max())]


def run(folder: Path, result: Path) -> None:
    jobs = json.loads((folder / JOBS).read_text())
    rows: list[dict[str, Any]] = []

    def compare(number: int) -> None:
        rows.append({"name": jobs[number]["name"], **in_a_process(folder, number)})
        result.write_text(json.dumps(rows, indent=1))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(compare, range(len(jobs))))
    print(f"{len(rows)} models")


def in_a_process(folder: Path, number: int) -> dict[str, Any]:
    """The differences of one model, or how its process ended."""
    command = [sys.executable, __file__, "one", str(folder), str(number)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {SECONDS} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": f"exit {done.returncode}: {done.stderr[-600:]}"}


def one(folder: Path, number: int) -> None:
    job = json.loads((folder / JOBS).read_text())[number]
    path, feeds = str(folder / job["model"]), inputs_of(folder, job)
    row: dict[str, Any] = {}
    try:
        expected = tfport.Session(path, threads=4).run(job["fetches"], feeds)
    except tfport.Error as error:
        print(json.dumps({"cpu_error": str(error)[:400]}), flush=True)
        return
    for precision in (TF32, FLOAT32):
        options = GpuOptions(precision=precision, require=True)
        try:
            answers = tfport.Session(path, threads=4, device="cuda", gpu=options).run(job["fetches"], feeds)
            row[precision] = max(
                (difference(e, a) for e, a in zip(expected, answers, strict=True)), default=0.0
            )
        except tfport.Error as error:
            row[f"{precision}_error"] = str(error)[:400]
    print(json.dumps(row), flush=True)


def inputs_of(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a job, in its own order."""
    rng = np.random.default_rng(0)
    made = {
        name: (low + (high - low) * rng.random(shape)).astype(dtype)
        for name, (dtype, shape, low, high) in job["ranges"].items()
    }
    stored = np.load(folder / job["model"].partition("/")[0] / "inputs.npz")
    for i, name in enumerate(job["feeds"]):
        array = stored[f"{i}"]
        made[name] = array.astype(object) if array.dtype.kind == "S" else array
    return made


def difference(expected: Any, answer: Any) -> float:
    """The largest difference, divided by the largest expected value; infinite if they do not compare."""
    expected, answer = np.asarray(expected), np.asarray(answer)
    if expected.shape != answer.shape or expected.dtype != answer.dtype:
        return float("inf")
    if expected.dtype.kind not in "fc":
        return 0.0 if np.array_equal(expected, answer) else float("inf")
    if not np.array_equal(np.isfinite(expected), np.isfinite(answer)):
        return float("inf")
    finite = np.isfinite(expected)
    if not finite.any():
        return 0.0
    wide, other = expected[finite].astype(complex), answer[finite].astype(complex)
    return float(np.abs(wide - other).max() / max(np.abs(wide).max(), 1e-30))


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    if command == "pack":
        pack(Path(folder), *map(int, rest))
    elif command == "run":
        run(Path(folder), Path(rest[0]))
    else:
        one(Path(folder), int(rest[0]))
