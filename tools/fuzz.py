"""`make fuzz`: pass damaged bytes to every reader, which may only raise a tfport.Error.

    python tools/fuzz.py [--seconds 60] [--seed 1] [TARGET …]

Each target starts from real files (tests/models, tests/checkpoints, tests/broken,
tests/libraries, examples) and damages them: bits, lengths, cuts, repeats, splices. A case may take five
seconds and four gigabytes. Cases that exceed this or raise another exception are written to
`.cache/fuzz/` with the traceback.
"""

import argparse
import io
import json
import multiprocessing
import random
import resource
import signal
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from tests.broken import make_checkpoints, make_files, make_keras

import fuzz_forests
import fuzz_keras
import fuzz_lite
import fuzz_runtime
import fuzz_scan
import tfport
from tfport.atlas.known_ops import known_ops
from tfport.formats.checkpoint.read import open_checkpoint
from tfport.formats.encoding.message import parse_message
from tfport.formats.files import Folder
from tfport.formats.proto import graph_pb2, saved_model_pb2
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.op_signature import OpTable
from tfport.graph.parse import parse_graph
from tfport.graph.text import graph_text
from tfport.lib.report import report_on
from tfport.lib.subject import LoadOptions

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".cache" / "fuzz"
SEEDS = ("tests/models", "tests/checkpoints", "tests/libraries", "examples")
MOST_SEED = 1 << 18
CASE_SECONDS = 5
MEMORY = 4 << 30
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def files(*patterns: str) -> list[bytes]:
    """The bytes of all small files of the repository, and of its broken files, whose names match."""
    with tempfile.TemporaryDirectory() as broken:
        for maker in (make_files, make_checkpoints, make_keras):
            maker.write(Path(broken, maker.__name__))
        folders = [*(ROOT / seed for seed in SEEDS), Path(broken)]
        paths = [p for folder in folders for pattern in patterns for p in sorted(folder.rglob(pattern))]
        return [p.read_bytes() for p in paths if p.is_file() and p.stat().st_size < MOST_SEED]


def inspect_file(data: bytes, name: str = "model") -> None:
    """Recognize, load and inspect the bytes as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        report = tfport.inspect(path)
        json.dumps(report.to_json())
        str(report)


def message(data: bytes) -> None:
    for kind in (graph_pb2.GraphDef, saved_model_pb2.SavedModel, saved_model_pb2.MetaGraphDef):
        try:
            parse_message(kind, data, "model.pb")
        except tfport.Error:
            continue


def graph(data: bytes) -> None:
    """Bytes to Graph to bytes; a second round trip must not change them."""
    ops = OpTable(known_ops())
    read = graph_from_def(parse_message(graph_pb2.GraphDef, data, "graph.pb"), ops)
    written = graph_to_def(read)
    again = graph_to_def(graph_from_def(written, ops))
    if again != written:
        raise AssertionError("a second round trip differs from the first")
    graph_text(read)


def notation(data: bytes) -> None:
    parse_graph(data.decode(errors="replace"), OpTable(known_ops()))


def read_all(folder: str, prefix: str) -> None:
    checkpoint = open_checkpoint(Folder(folder), prefix)
    for name in checkpoint.names():
        checkpoint.entry(name)
        try:
            checkpoint.read(name)
        except tfport.Error:
            continue


def index(data: bytes) -> None:
    """The index of a checkpoint, with a valid data shard."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.index").write_bytes(data)
        Path(folder, "model.data-00000-of-00001").write_bytes(bytes(range(256)) * 64)
        read_all(folder, "model")


def first_format(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.ckpt").write_bytes(data)
        read_all(folder, "model.ckpt")


def tfjs(data: bytes) -> None:
    inspect_file(data, "model.json")


def library(data: bytes) -> None:
    """Read a custom-op library and report on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "op.so")
        path.write_bytes(data)
        report = report_on(
            [str(path)], ["tensorflow==2.21.0"], LoadOptions(machine="x86_64", use_this_machine=False)
        )
        json.dumps(report.to_json())
        str(report)


def archives() -> list[bytes]:
    """A model in each format of archive."""
    model = ROOT / "examples" / "attention"
    out_files = []
    for pack in ("zip", "tar", "tar.gz", "tar.xz"):
        out = io.BytesIO()
        if pack == "zip":
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(model.rglob("*")):
                    archive.write(path, path.relative_to(model.parent))
        else:
            mode = f"w:{pack.partition('.')[2]}"
            with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
                archive.add(model, "attention")
        out_files.append(out.getvalue())
    return out_files


TARGETS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "message": (message, lambda: files("*.pb", "*.pbtxt", "*.meta")),
    "graph": (graph, lambda: files("graph.pb")),
    "inspect": (inspect_file, lambda: files("*.pb", "*.pbtxt", "*.meta")),
    "recognize": (inspect_file, lambda: files("*")),
    "archive": (inspect_file, archives),
    "index": (index, lambda: files("*.index")),
    "first-format": (first_format, lambda: files("model.ckpt", "*.ckpt")),
    "tfjs": (tfjs, lambda: files("*.json")),
    "hdf5": (fuzz_keras.read_hdf5, fuzz_keras.hdf5_files),
    "keras": (fuzz_keras.read_model, fuzz_keras.keras_files),
    "keras-graph": (inspect_file, fuzz_keras.keras_files),
    "lite": (fuzz_lite.load_lite_model, fuzz_lite.lite_files),
    "lite-run": (fuzz_lite.run_in_litert, fuzz_lite.lite_files),
    "flexbuffer": (fuzz_lite.read_flexbuffer, fuzz_lite.flexbuffers),
    "forest": (fuzz_forests.read_forest_file, fuzz_forests.forest_files),
    "scan": (fuzz_scan.scan_file, fuzz_scan.hostile_files),
    "scan-archive": (fuzz_scan.scan_file, archives),
    "marshal": (fuzz_scan.read_marshalled, fuzz_scan.functions),
    "pickle": (fuzz_scan.read_pickle, fuzz_scan.pickles),
    "library": (library, lambda: files("*.so")),
    "run": (fuzz_runtime.run_model, lambda: files("*.pb", "*.pbtxt")),
    "example": (partial(fuzz_runtime.decode, fuzz_runtime.EXAMPLES), fuzz_runtime.example),
    **{
        name: (partial(fuzz_runtime.decode, lines), fuzz_runtime.images)
        for name, lines in fuzz_runtime.DECODERS.items()
    },
    "notation": (
        notation,
        lambda: [b'y = Mul(x:1, ^z) {T=float32, s=(?, 3), l=[1, 2], f=@g {a="b"}} @"/cpu:0"\n'],
    ),
}


def damaged(data: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(out):
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del out[at:]
            case 3:
                del out[at : at + rng.choice((1, 2, 8, 64))]
            case 4:
                size = rng.choice((1, 4, 8))
                out[at : at + size] = (rng.choice(EDGES) % (1 << 8 * size)).to_bytes(size, "little")
            case 5:
                out[at:at] = out[at : at + rng.choice((1, 8, 64, 512))] * rng.choice((1, 2, 8))
            case 6:
                other = rng.choice(seeds)
                start = rng.randrange(len(other) + 1)
                out[at : at + 64] = other[start : start + 64]
    return bytes(out)


def out_of_time(*_: object) -> None:
    raise TimeoutError(f"took more than {CASE_SECONDS} s")


def fuzz(name: str, seconds: float, seed: int) -> tuple[str, int, int]:
    """Run one target; return the number of cases and of failures."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, out_of_time)
    run, make_seeds = TARGETS[name]
    seeds, rng = make_seeds() or [b""], random.Random(f"{name} {seed}")
    ends, cases, broken = time.monotonic() + seconds, 0, 0
    while time.monotonic() < ends:
        data = damaged(rng.choice(seeds), seeds, rng)
        cases += 1
        signal.alarm(CASE_SECONDS)
        try:
            run(data)
        except tfport.Error:
            pass
        except BaseException:
            signal.alarm(0)
            broken += 1
            keep(name, data, traceback.format_exc())
        signal.alarm(0)
    return name, cases, broken


def keep(name: str, data: bytes, why: str) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{abs(hash(why)) % 10**8}"
    (KEPT / f"{stem}.bytes").write_bytes(data)
    (KEPT / f"{stem}.txt").write_text(why)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=30, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    jobs = [(name, args.seconds, args.seed) for name in args.targets or TARGETS]
    failed = 0
    with multiprocessing.Pool(2, maxtasksperchild=1) as pool:
        for name, cases, broken in pool.starmap(fuzz, jobs, chunksize=1):
            print(f"{name:14}{cases:8} cases  {broken:4} failed")
            failed += broken
    if failed:
        print(f"see {KEPT.relative_to(ROOT)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
