"""docs/evidence/gpu.md from its record: the answers, the times, and what follows from them."""

import math
from collections.abc import Iterator
from typing import Any

BATCHES = (1, 8, 64)
TFPORT, TENSORFLOW, AUTO = "tfport", "TensorFlow 2.21", "tfport auto"
OURS = (TFPORT, AUTO, "tfport on the CPU")
HALF_MODELS = ("resnet50", "transformer")
Record = dict[str, Any]


def render(record: Record) -> str:
    machine, ops = record["machine"], record["ops"]
    gpu = machine["gpus"][0]
    lines = [
        "# What was run on a GPU",
        "",
        "Written by `make evidence-gpu`; CI has no GPU. Times are in milliseconds: medians of 40 calls "
        "(fewer if a call is long), *host* from arrays to arrays, *device* with inputs and outputs in device "
        "memory. Each library ran in its own process. Weights are random, with the mean and deviation of the "
        "real ones; PyTorch and JAX run networks with the same architecture.",
        "",
        f"{record['date']}: {gpu['name']}, compute capability {gpu['compute_capability']}, driver "
        f"{machine['driver']['version']}, {machine['onnxruntime']['package']} for CUDA "
        f"{machine['onnxruntime']['cuda']}, cuDNN {machine['cudnn']}.",
        "",
        "## Answers",
        "",
        "Cases recorded from TensorFlow 2.21 (`tests/runtime/ops`), with every island on the GPU and in full "
        f"float32: **{ops['passed']:,} of {_total(ops):,} pass**.",
        *(["", ops["note"]] if ops.get("note") else []),
        "",
        *_failures(ops),
        *_beside_tensorflow(record["times"]),
        *_beside_the_fastest(record["times"]),
        *_half(record["times"]),
        *_serving(record.get("serving", [])),
        "## Times",
        "",
        "| model | precision | host 1 | host 8 | host 64 | device 1 | device 8 | device 64 | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model, contenders in record["times"].items():
        for contender, precisions in contenders.items():
            name = model if contender == TFPORT else f"{model}, {contender}"
            lines += [_row(name, precision, times) for precision, times in precisions.items()]
    lines += [
        "",
        "*difference*: the largest difference from the CPU's answers, divided by the largest of these.",
        "",
    ]
    lines += [note + "\n" for note in record.get("notes", ())]
    return "\n".join(lines).rstrip() + "\n"


def _total(ops: Record) -> int:
    return sum(ops.get(kind, 0) for kind in ("passed", "failed", "crashed", "not_run"))


def _failures(ops: Record) -> list[str]:
    failures = ops.get("failures") or {}
    lines = [
        f"- `{test.rpartition('/')[2]}`: {_first_difference(message)}" for test, message in failures.items()
    ]
    return ["The failures:", "", *lines, ""] if lines else []


def _first_difference(message: str) -> str:
    """What was computed instead of what, if the message says it."""
    lines = [line.removeprefix("E").strip() for line in message.splitlines()]
    said = [line for line in lines if line.startswith(("ACTUAL", "DESIRED"))]
    return ", ".join(" ".join(line.split()) for line in said) or (lines[-1] if lines else "")[:160]


def _beside_tensorflow(times: Record) -> list[str]:
    rows, ratios = [], []
    for model, contenders in times.items():
        theirs = contenders.get(TENSORFLOW, {}).get("tf32", {})
        ours = contenders.get(TFPORT, {}).get("tf32", {})
        auto = contenders.get(AUTO, {}).get("tf32", {})
        cells = []
        for batch in BATCHES:
            key = f"host_{batch}"
            if key not in theirs or key not in ours:
                cells.append("")
                continue
            best = min(ours[key], auto.get(key, math.inf))
            ratios.append(theirs[key] / best)
            with_auto = f" ({ratios[-1]:.1f})" if best < ours[key] else ""
            cells.append(f"{theirs[key] / ours[key]:.1f}{with_auto}")
        if any(cells):
            rows.append(f"| {model} | {' | '.join(cells)} |")
    if not rows:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [
        "## Compared with TensorFlow", "",
        "How many times faster tfport is than TensorFlow 2.21 on the same GPU, host to host, in TF32; in "
        "brackets with `--device auto`, where that is faster. Geometric mean, with the better of the two: "
        f"**{mean:.1f}**.",
        "", "| model | batch 1 | 8 | 64 |", "|---|---|---|---|", *rows, "",
    ]  # fmt: skip


def _beside_the_fastest(times: Record) -> list[str]:
    rows = []
    for model, contenders in times.items():
        for precision in ("tf32", "float16"):
            cells = [_beside(contenders, precision, f"device_{batch}") for batch in BATCHES]
            if any(cells):
                rows.append(f"| {model} | {precision} | {' | '.join(cells)} |")
    if not rows:
        return []
    return [
        "## Compared with the fastest other library, on the device", "",
        "tfport's time divided by the fastest other library's, named in brackets; below 1, tfport is faster.",
        "", "| model | precision | batch 1 | 8 | 64 |", "|---|---|---|---|---|", *rows, "",
    ]  # fmt: skip


def _beside(contenders: Record, precision: str, key: str) -> str:
    ours = contenders.get(TFPORT, {}).get(precision, {}).get(key)
    others = {
        name: precisions[precision][key]
        for name, precisions in contenders.items()
        if name not in OURS and key in precisions.get(precision, {})
    }
    if ours is None or not others:
        return ""
    name, best = min(others.items(), key=lambda item: item[1])
    return f"{ours / best:.2f} ({name})"


def _half(times: Record) -> list[str]:
    found = list(_half_ratios(times))
    return [f"float16 instead of TF32 at batch 64, on the device: {', '.join(found)}.", ""] if found else []


def _half_ratios(times: Record) -> Iterator[str]:
    for model in HALF_MODELS:
        ours = times.get(model, {}).get(TFPORT, {})
        full, half = (ours.get(precision, {}).get("device_64") for precision in ("tf32", "float16"))
        if full and half:
            yield f"{model} {full / half:.2f} times faster"


def _serving(runs: list[Record]) -> list[str]:
    """Runs of `benchmarks/serve_gpu.py`, each with what it measured."""
    alone: dict[str, dict[str, dict[str, float]]] = {}
    for run in runs:
        for part in ("on_device", "assembled"):
            alone.setdefault(run["model"], {}).setdefault(part, {}).update(run.get(part, {}))
    rows = []
    for run in runs:
        if served := run.get("served"):
            rates = run.get("on_device") or alone[run["model"]]["on_device"]
            best = max(rates.values(), default=0)
            share = f"{served['rows_per_second'] / best:.0%}" if best else ""
            cores = served["cores"]
            rows.append(
                f"| {run['model']} | {run['processes']} | {run['clients']} | {run['rows']} "
                f"| {served['rows_per_second']:,} | {share} | {served['p50_ms']}, {served['p99_ms']} "
                f"| {cores['server']} + {cores['front_ends']} | {_rate_of_network(run)} |"
            )
    if not rows:
        return []
    return [
        "## Serving", "",
        f"In TF32 over gRPC with batching, clients on the same {runs[0]['cores']} "
        "cores, `make bench-serve-gpu`. The sessions alone, in rows per second by batch size:", "",
        *(f"- {model}: {_rates(parts['on_device'])} with inputs and outputs in device memory; "
          f"{_rates(parts['assembled'])} from rows in pinned memory to answers, two batches in flight"
          for model, parts in alone.items()), "",
        "*Share*: of the first rate at its best batch size, from the same run if measured there. *gRPC "
        "alone*: what the same clients reach with as many processes that only read their requests.",
        "", "| model | front ends | clients | images per request | images/s | share | p50, p99 ms "
        "| cores of both | gRPC alone |",
        "|---|---|---|---|---|---|---|---|---|", *rows, "",
    ]  # fmt: skip


def _rate_of_network(run: Record) -> str:
    rate = run.get("network", {}).get("rows_per_second")
    return f"{rate:,}" if rate else ""


def _rates(rates: dict[str, float]) -> str:
    return ", ".join(f"{round(rate):,} ({size})" for size, rate in rates.items()) or "not measured"


def _row(name: str, precision: str, times: Record) -> str:
    cells = [str(times.get(f"{kind}_{batch}", "")) for kind in ("host", "device") for batch in BATCHES]
    difference = f"{times['difference']:.1e}" if "difference" in times else ""
    return f"| {name} | {precision} | {' | '.join(cells)} | {difference} |"
