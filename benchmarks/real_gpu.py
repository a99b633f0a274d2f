"""Published models on a GPU: the same answers as on the CPU, and how fast?

    python benchmarks/real_gpu.py pack FOLDER [BYTES] [LIST.toml]  here: copy models, the smallest first
    python benchmarks/real_gpu.py run FOLDER RESULT.json           on a machine with a GPU: on all devices
    python benchmarks/real_gpu.py table RESULT.json                the results as a table

BYTES limits the compressed size of the folder; LIST.toml names other models than `tools/real_models.toml`.
`real_gpu_models.toml` has those that were drawn for this. Each model runs in a process of its own on a half
of the cores: on the CPU, on the GPU as by default (TF32) and as `auto` chooses, in turn, and once in full
float32. A second session on the CPU takes turns too: what differs between the two is chance. One process
measures at a time.
The result has for each the seconds until the first answer, the median time of a call from arrays to arrays in
milliseconds, and the largest difference from the CPU's answers, divided by the largest answer; or the error.
"""

import fcntl
import io
import json
import os
import queue
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import tfport
from tfport.runtime.engines.gpu.gpu_options import FLOAT32, GpuOptions
from tfport.runtime.engines.gpu.preparation import PREPARATIONS

LIMIT = 20_000_000
LARGE = 4096
"""Elements from which an input of floats is random numbers of a range instead of a file."""
JOBS, LOCK = "jobs.json", "lock"
WORKERS, SECONDS = 2, 120
CPU, CUDA, AUTO, AGAIN, TENSORFLOW = "cpu", "cuda", "auto", "cpu again", "tensorflow"
DEVICES = {CPU: CPU, CUDA: CUDA, AUTO: AUTO, AGAIN: CPU}
COLUMNS = (
    "model", "cpu ms", "cuda ms", "auto ms", "cpu again ms", "TensorFlow ms", "chosen",
    "first cpu, cuda, auto s", "tf32, float32 differ",
)  # fmt: skip
ROUNDS, CALLS, SHORT_SECONDS, ROUND_SECONDS = 8, 12, 0.005, 0.25
"""How often the devices take turns; how many calls each turn has, or more if they are
shorter than this together, and how long a turn is at most."""
COMMIT, SHORT = re.compile(r"-([0-9a-f]{7})[0-9a-f]{33}/"), r"@\1/"
"""The commit of a repository in the name of a model, and how the table has it."""
RACE_CALLS, RACE_SECONDS = 3, 60


def pack(folder: Path, limit: int = LIMIT, packages: Path | None = None) -> None:
    from real_inputs import real_model_list  # needs the models, which only the packing machine has

    folder.mkdir(parents=True)
    found = real_model_list([], packages)
    sized = sorted(((compressed(files_of(real.kind, real.path)), real) for real in found), key=by_size)
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
    return len(zlib.compress(content.getvalue(), 1))


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
    cores = sorted(os.sched_getaffinity(0), key=siblings)
    shares: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for worker in range(WORKERS):
        shares.put(cores[worker * len(cores) // WORKERS : (worker + 1) * len(cores) // WORKERS])
    rows: list[dict[str, Any]] = []

    def compare(number: int) -> None:
        share = shares.get()
        rows.append({"name": jobs[number]["name"], **in_a_process(folder, number, share)})
        shares.put(share)
        result.write_text(json.dumps(rows, indent=1))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(compare, range(len(jobs))))
    print(f"{len(rows)} models")


def siblings(processor: int) -> tuple[list[int], int]:
    """Sorts the processors of one core beside each other, so that no two models share a core."""
    listed = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
    names = listed.read_text() if listed.exists() else str(processor)
    return [int(name) for name in re.findall(r"\d+", names)], processor


def in_a_process(folder: Path, number: int, cores: list[int]) -> dict[str, Any]:
    """What one model does, or how its process ended."""
    command = [sys.executable, __file__, "one", str(folder), str(number)]
    with tempfile.TemporaryDirectory() as cache:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                env=os.environ | {"TFPORT_CACHE": cache},
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        except subprocess.TimeoutExpired as error:
            lines = (error.stdout or b"").decode().splitlines()
            return last_row(lines) | {"error": f"not done in {SECONDS} s"}
    row = last_row(done.stdout.splitlines())
    return row if done.returncode == 0 else row | {"error": f"exit {done.returncode}: {done.stderr[-600:]}"}


def last_row(lines: list[str]) -> dict[str, Any]:
    found = [line for line in lines if line.startswith("{")]
    row: dict[str, Any] = json.loads(found[-1]) if found else {}
    return row


def one(folder: Path, number: int) -> None:
    job = json.loads((folder / JOBS).read_text())[number]
    path, feeds = str(folder / job["model"]), inputs_of(folder, job)
    row: dict[str, Any] = {}
    sessions: dict[str, tfport.Session] = {}
    expected: list[Any] = []
    options = GpuOptions(require=True)
    for name, device in DEVICES.items():
        began = time.perf_counter()
        try:
            session = tfport.Session(path, device=device, gpu=options if device == CUDA else GpuOptions())
            answers = session.run(job["fetches"], feeds)
        except tfport.Error as error:
            row[name] = {"error": str(error).replace(f"{folder}/", "")[:400]}
        else:
            row[name] = {"first": time.perf_counter() - began}
            expected = expected or answers
            row[name]["difference"] = differences(expected, answers)
            sessions[name] = session
        print(json.dumps(row), flush=True)
    if CPU not in sessions:
        return
    row["float32"] = in_full_precision(path, job["fetches"], feeds, expected)
    print(json.dumps(row), flush=True)
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if CUDA in sessions:
            turn(sessions[CUDA], job["fetches"], feeds)
            PREPARATIONS.wait()
        if AUTO in sessions:
            row[AUTO]["chosen"] = settled(sessions[AUTO], job["fetches"], feeds)
        for name, seconds in in_turn(sessions, job["fetches"], feeds).items():
            row[name]["ms"] = statistics.median(seconds) * 1000
    print(json.dumps(row), flush=True)


def in_turn(
    sessions: dict[str, tfport.Session], fetches: list[str], feeds: dict[str, Any]
) -> dict[str, list[float]]:
    """The seconds of calls of each session; each comes after each other equally often."""
    times: dict[str, list[float]] = {name: [] for name in sessions}
    orders = list(permutations(sessions))
    for number in range(ROUNDS):
        for name in orders[number * len(orders) // ROUNDS]:
            times[name] += turn(sessions[name], fetches, feeds)
    return times


def in_full_precision(
    path: str, fetches: list[str], feeds: dict[str, Any], expected: list[Any]
) -> dict[str, Any]:
    try:
        session = tfport.Session(path, device=CUDA, gpu=GpuOptions(precision=FLOAT32, require=True))
        return {"difference": differences(expected, session.run(fetches, feeds))}
    except tfport.Error as error:
        return {"error": str(error)[:400]}


def settled(session: tfport.Session, fetches: list[str], feeds: dict[str, Any]) -> str:
    """The device that `auto` chose, after it has measured."""
    for _ in range(RACE_CALLS):
        session.run(fetches, feeds)
    plan = session.plans.plans[0]  # others are for runs that the engine refused
    race = getattr(plan, "race", None)
    if race is not None:
        race.join(RACE_SECONDS)
    return str(getattr(plan, "device", ""))


def turn(session: Any, fetches: list[str], feeds: dict[str, Any]) -> list[float]:
    """The seconds of some calls, after one that is not counted."""
    times: list[float] = []
    session.run(fetches, feeds)
    spent = 0.0
    while (len(times) < CALLS or spent < SHORT_SECONDS) and spent < ROUND_SECONDS:
        began = time.perf_counter()
        session.run(fetches, feeds)
        times.append(time.perf_counter() - began)
        spent += times[-1]
    return times


def differences(expected: list[Any], answers: list[Any]) -> float:
    return max((difference(e, a) for e, a in zip(expected, answers, strict=True)), default=0.0)


def table(result: Path) -> None:
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * len(COLUMNS)}")
    for row in sorted(json.loads(result.read_text()), key=lambda row: str(row["name"])):
        print(f"| {COMMIT.sub(SHORT, row['name'])} | {' | '.join(cells(row))} |")


def cells(row: dict[str, Any]) -> list[str]:
    parts = {device: row.get(device, {}) for device in (CPU, CUDA, AUTO)}
    times = [number(row.get(name, {}).get("ms")) for name in (*DEVICES, TENSORFLOW)]
    firsts = ", ".join(number(part.get("first")) for part in parts.values())
    differ = ", ".join(number(row.get(key, {}).get("difference"), ".1e") for key in (CUDA, "float32"))
    errors = "; ".join(
        dict.fromkeys(filter(None, (part.get("error", "") for part in [row, *parts.values()])))
    )
    return [*times, str(parts[AUTO].get("chosen", "")), firsts, f"{differ} {errors}".strip()]


def number(value: float | None, form: str = ".3g") -> str:
    return "-" if value is None else format(value, form)


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
        pack(Path(folder), int(rest[0]) if rest else LIMIT, *map(Path, rest[1:]))
    elif command == "run":
        run(Path(folder), Path(rest[0]))
    elif command == "table":
        table(Path(folder))
    else:
        one(Path(folder), int(rest[0]))
