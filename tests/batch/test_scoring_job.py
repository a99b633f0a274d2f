"""Jobs over files: formats, rows that fail, killed jobs and workers, full disks, resuming."""

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.batch.models import PAIRS, PARSES, UPPER, model_file

import tfport
from tfport.batch import scoring_job, scoring_workers
from tfport.batch.data_files import PARQUET, TFRECORD, find_data
from tfport.batch.scoring_job import ScoringJob, run_job
from tfport.batch.scoring_options import scoring_options
from tfport.batch.scoring_workers import ScorerSetup
from tfport.cli.main import main
from tfport.errors import Error
from tfport.formats.encoding.tfrecord import record, stream_records
from tfport.formats.proto import serving_pb2 as pb


def job(folder, text, inputs, workers=1, form="parquet", part_rows=100, **options):
    options = scoring_options(**{"cache": False, **options})
    paths = [str(folder / name) for name in ([inputs] if isinstance(inputs, str) else inputs)]
    setup = ScorerSetup(model_file(text, folder), options, workers=workers)
    return ScoringJob(setup, paths, folder / "out", form, part_rows)


def results(folder):
    return pq.read_table(folder / "out").to_pydict()


def numbers(folder, count=1000, bad=()):
    texts = [f"bad {i}" if i in bad else str(i) for i in range(count)]
    table = pa.table({"id": range(count), "x": texts})
    pq.write_table(table, folder / "in.parquet", row_group_size=150)
    return [None if i in bad else float(i) for i in range(count)]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("tfport.batch.data_reader.MOST_ROWS", 40)
    monkeypatch.setattr("tfport.batch.scoring_job.WORTH_WORKERS", 0)


def test_parquet_in_parts(tmp_path):
    expected = numbers(tmp_path)
    result = run_job(job(tmp_path, PARSES, "in.parquet"))
    assert (result.rows, result.failed, result.parts, result.resumed) == (1000, 0, 9, 0)
    assert results(tmp_path) == {"id": list(range(1000)), "y": expected}
    again = run_job(job(tmp_path, PARSES, "in.parquet"))
    assert (again.rows, again.resumed) == (1000, 1000)


def write_records(path, texts, opened=open):
    with opened(path, "wb") as file:
        file.writelines(record(text.encode()) for text in texts)


def test_records_lines_csv_and_images(tmp_path):
    texts = [str(i) for i in range(100)]
    write_records(tmp_path / "a.tfrecord", texts)
    write_records(tmp_path / "a.tfrecord.gz", texts, gzip.open)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"x": text}) + "\n" for text in texts))
    (tmp_path / "a.csv").write_text("x\n" + "".join(f"{text}\n" for text in texts))
    (tmp_path / "images").mkdir()
    for i, text in enumerate(texts):
        (tmp_path / "images" / f"{i:03}.jpg").write_text(text)
    for number, name in enumerate(("a.tfrecord", "a.tfrecord.gz", "a.jsonl", "a.csv", "images")):
        folder = tmp_path / str(number)
        folder.mkdir()
        run_job(job(folder, PARSES, f"../{name}"))
        assert results(folder)["y"] == [float(i) for i in range(100)]


def test_lists_in_lines_and_in_csv(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": [1, 2]}\n{"x": [3, 4.5]}\n')
    run_job(job(tmp_path, PAIRS, "a.jsonl"))
    assert results(tmp_path)["y"] == [[2, 4], [6, 9]]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "b.csv").write_text('k,x\na,"[1, 2]"\nb,"[3, 4.5]"\n')
    run_job(job(tmp_path / "b", PAIRS, "b.csv"))
    assert results(tmp_path / "b") == {"k": ["a", "b"], "y": [[2, 4], [6, 9]]}


def test_results_in_other_formats(tmp_path):
    table = pa.table({"id": [1, 2], "x": pa.array([[1, 2], None], pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "in.parquet")
    for form in ("csv", "jsonl", "tfrecord"):
        run_job(ScoringJob(job(tmp_path, PAIRS, [], on_error="null").setup, [str(tmp_path / "in.parquet")],
                           tmp_path / form, form))  # fmt: skip
    csv = pa_csv.read_csv(tmp_path / "csv" / "part-00000.csv").to_pydict()
    assert csv == {"id": [1, 2], "y": ["[2.0, 4.0]", ""]}
    lines = (tmp_path / "jsonl" / "part-00000.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"id": 1, "y": [2, 4]}, {"id": 2, "y": None}]
    with open(tmp_path / "tfrecord" / "part-00000.tfrecord", "rb") as file:
        first, second = (pb.Example.FromString(r) for r in stream_records(file.read, ""))
    assert list(first.features.feature["y"].float_list.value) == [2, 4]
    assert set(second.features.feature) == {"id"}


UNREADABLE = [  # file, content, the row at fault, why
    ("a.jsonl", b'{"x": "1"}\n{"x": \n{"x": "3"}\n', 1, "not JSON"),
    ("a.jsonl", b'{"x": "1"}\n[2]\n{"x": "3"}\n', 1, "expected a JSON object"),
    ("a.tfrecord", record(b"1") + record(b"2")[:-1] + b"?" + record(b"3"), 1, "the record is corrupt"),
]


@pytest.mark.parametrize(("name", "content", "row", "why"), UNREADABLE)
def test_a_row_that_cannot_be_read_is_named_and_the_others_are_scored(tmp_path, name, content, row, why):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(tfport.Error, match=f"{name}, row {row}: .*{why}"):
        run_job(job(tmp_path, PARSES, name))
    run_job(job(tmp_path, PARSES, name, on_error="collect"))
    assert results(tmp_path)["y"] == [1, None, 3]
    assert why in results(tmp_path)["error"][row]


def test_text_that_is_no_number_in_a_csv_file(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,four\n5,6\n")
    with pytest.raises(tfport.Error, match=r"a.csv, row 1: column `b` has 'four', expected double"):
        run_job(job(tmp_path, PAIRS, "a.csv", columns={"x": ["a", "b"]}))


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_that_fail_do_not_end_a_job(tmp_path, workers):
    expected = numbers(tmp_path, 300, bad={5, 77, 299})
    with pytest.raises(
        tfport.Error, match=r"in.parquet, row 5: `y` \(StringToNumber\): cannot parse `bad 5`"
    ):
        run_job(job(tmp_path, PARSES, "in.parquet", workers))
    result = run_job(job(tmp_path, PARSES, "in.parquet", workers, on_error="null"))
    assert result.failed == 3
    assert results(tmp_path)["y"] == expected


@pytest.mark.parametrize("stop", [7, 8, 15])
def test_a_stopped_job_continues_after_its_last_part(tmp_path, stop):
    expected = numbers(tmp_path)
    asked = job(tmp_path, PARSES, "in.parquet")
    seen = []

    def show(text):
        seen.append(text)
        if len(seen) == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(asked, show)
    kept = sorted(path.name for path in (tmp_path / "out").glob("*"))
    assert not list((tmp_path / "out").glob(".*"))
    result = run_job(asked)
    assert 0 < result.resumed < result.rows == 1000
    assert len([name for name in kept if name.startswith("part")]) < result.parts
    assert results(tmp_path) == {"id": list(range(1000)), "y": expected}


def test_a_part_that_the_manifest_does_not_list_is_written_again(tmp_path, monkeypatch):
    """A job that is killed after a part was renamed, and before the manifest was written."""
    expected = numbers(tmp_path)
    asked = job(tmp_path, PARSES, "in.parquet")
    add, calls = scoring_job.JobManifest.add, []

    def killed(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise SystemExit
        add(self, *args)

    monkeypatch.setattr(scoring_job.JobManifest, "add", killed)
    with pytest.raises(SystemExit):
        run_job(asked)
    monkeypatch.undo()
    assert len(list((tmp_path / "out").glob("part-*"))) == 3
    assert run_job(asked).resumed < 300
    assert results(tmp_path)["y"] == expected


def test_another_job_does_not_continue(tmp_path):
    numbers(tmp_path, 100)
    run_job(job(tmp_path, PARSES, "in.parquet"))
    with pytest.raises(tfport.Error, match="has parts of another job: keep changed; choose a new folder"):
        run_job(job(tmp_path, PARSES, "in.parquet", keep=[]))
    with pytest.raises(tfport.Error, match="has parts of another job: the model changed; choose a new"):
        run_job(job(tmp_path, UPPER, "in.parquet"))
    numbers(tmp_path, 200)
    with pytest.raises(tfport.Error, match="the inputs changed"):
        run_job(job(tmp_path, PARSES, "in.parquet"))
    (tmp_path / "out" / "_tfport.json").unlink()
    with pytest.raises(tfport.Error, match=r"has other files, such as part-00000\.parquet"):
        run_job(job(tmp_path, PARSES, "in.parquet"))


def test_a_killed_worker_loses_nothing(tmp_path, monkeypatch):
    expected = numbers(tmp_path, 2000)
    monkeypatch.setattr(scoring_workers, "_score_here", lambda *args: None)
    score, calls = scoring_workers._ScoringWorker.score, []

    def killed(self, *args):
        calls.append(self.process.pid)
        if len(calls) in (3, 9):
            self.process.send_signal(signal.SIGKILL)
        return score(self, *args)

    monkeypatch.setattr(scoring_workers._ScoringWorker, "score", killed)
    result = run_job(job(tmp_path, PARSES, "in.parquet", workers=2))
    assert result.rows == 2000
    assert len(set(calls)) > 2
    assert results(tmp_path) == {"id": list(range(2000)), "y": expected}


def test_rows_are_scored_while_workers_start(tmp_path, monkeypatch):
    """Workers that never get ready take nothing from a job, and do not outlive it."""
    expected = numbers(tmp_path)
    processes, start = [], scoring_workers._ScoringWorker._start

    def started(self):
        start(self)
        self.process.send_signal(signal.SIGSTOP)
        processes.append(self.process)

    monkeypatch.setattr(scoring_workers._ScoringWorker, "_start", started)
    run_job(job(tmp_path, PARSES, "in.parquet", workers=2))
    assert results(tmp_path)["y"] == expected
    assert [process.poll() for process in processes] == [-signal.SIGKILL] * 2


def test_little_work_is_done_without_workers(tmp_path, monkeypatch):
    numbers(tmp_path, 200)
    monkeypatch.setattr(scoring_job, "WORTH_WORKERS", 60)
    monkeypatch.setattr(scoring_job, "scored_by_workers", None)
    assert run_job(job(tmp_path, PARSES, "in.parquet", workers=2)).rows == 200


def test_a_killed_job_continues(tmp_path):
    expected = numbers(tmp_path, 40_000)
    path = model_file(PARSES, tmp_path)
    arguments = ["run", path, "--inputs", str(tmp_path / "in.parquet"), "-o", str(tmp_path / "out")]
    arguments += ["--part-rows", "500", "--batch-rows", "8"]
    process = subprocess.Popen([sys.executable, "-m", "tfport", *arguments])
    while process.poll() is None and not (tmp_path / "out" / "part-00001.parquet").exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert main(arguments) == 0
    assert results(tmp_path)["y"] == expected


def test_a_full_disk(tmp_path, capsys):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or subprocess.call(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], stderr=-3):
        pytest.skip("a small file system cannot be mounted here")
    try:
        expected = numbers(tmp_path, 20_000)
        path = model_file(PARSES, tmp_path)
        arguments = ["run", path, "--inputs", str(tmp_path / "in.parquet"), "--part-rows", "2000", "-o"]
        assert main([*arguments, str(disk / "out")]) == 2
        error = capsys.readouterr().err
        assert "out: cannot be written: no space left on device; " in error
        assert "are kept: run the same command again to continue" in error
        assert not list((disk / "out").glob(".*"))
        subprocess.check_call(["mount", "-o", "remount,size=8m", disk])
        assert main([*arguments, str(disk / "out")]) == 0
        assert pq.read_table(disk / "out").to_pydict()["y"] == expected
    finally:
        subprocess.check_call(["umount", "-l", disk])


def test_memory_does_not_grow_with_the_input(tmp_path):
    """At most a few batches are read ahead of what is written."""
    numbers(tmp_path, 4000)
    asked, read, written = job(tmp_path, PARSES, "in.parquet", workers=2), [], []
    ahead = []
    original = scoring_job.DataReader.read

    def counted(self, *args):
        for part in original(self, *args):
            read.append(1)
            ahead.append(len(read) - len(written))
            yield part

    scoring_job.DataReader.read = counted
    try:
        run_job(asked, lambda text: written.append(1))
    finally:
        scoring_job.DataReader.read = original
    assert max(ahead) <= 2 * scoring_workers.AHEAD + 3
    assert threading.active_count() < 20


ERRORS = [  # arguments, error
    (["--inputs", "in.parquet"], "name it with -o"),
    (["--inputs", "none.parquet", "-o", "o"], "none.parquet: no such file or folder"),
    (["--inputs", "model.pb", "-o", "o"], "model.pb: not a table that tfport reads"),
    (["--inputs", "in.parquet", "-o", "o", "--column", "x"], "--column x: expected INPUT=COLUMN"),
    (["--inputs", "in.parquet", "-o", "o", "--column", "x=z"], "no column `z`; columns: id, x;"),
    (["--inputs", "in.parquet", "-o", "o", "--column", "x=id"], "column `id` has the type int64"),
    (["--inputs", "in.parquet", "-o", "o", "--workers", "0"], "--workers 0: expected a number of at least 1"),
    (["--input", 'x=["1"]', "--format", "csv"], "--format: only for tables"),
    (["--inputs", "broken.parquet", "-o", "o"], "broken.parquet: "),
]


@pytest.mark.parametrize(("arguments", "error"), ERRORS)
def test_errors_are_one_sentence(tmp_path, monkeypatch, capsys, arguments, error):
    monkeypatch.chdir(tmp_path)
    numbers(tmp_path, 10)
    model_file(PARSES, tmp_path)
    Path("broken.parquet").write_bytes(b"PAR1 and nothing else")
    assert main(["run", "model.pb", *arguments]) == 2
    out, err = capsys.readouterr()
    assert error in err
    assert len(err.splitlines()) == 1
    assert not Path("o").exists()
    assert out == ""


def test_names_of_shards_and_names_that_say_nothing(tmp_path):
    """TensorFlow's and TFX's names: a shard has its number after the ending, and the content decides."""
    write_records(tmp_path / "x.tfrecord", ["1", "2"])
    plain = (tmp_path / "x.tfrecord").read_bytes()
    packed = gzip.compress(plain)
    pq.write_table(pa.table({"x": ["1", "2"]}), tmp_path / "x.parquet")
    table = (tmp_path / "x.parquet").read_bytes()
    for number, (name, content) in enumerate(
        [
            ("a.tfrecord-00000-of-00012", plain),
            ("a.tfrecord.gz-00000-of-00012", packed),
            ("data_tfrecord-00000-of-00012.gz", packed),
            ("records", plain),
            ("part-00000", table),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(content)
        model = model_file(PARSES, folder)
        assert main(["run", model, "--inputs", str(folder / name), "-o", str(folder / "out")]) == 0
        assert pq.read_table(folder / "out").column("y").to_pylist() == [1, 2]
        (file,) = find_data([str(folder / name)])
        assert file.format == (PARQUET if content is table else TFRECORD)
    (tmp_path / "notes").write_text("neither a record nor a table")
    with pytest.raises(Error, match="notes: not a table that tfport reads"):
        find_data([str(tmp_path / "notes")])
    (tmp_path / "damaged.gz").write_bytes(packed[:12])
    with pytest.raises(Error, match=r"damaged.gz: not a table that tfport reads"):
        find_data([str(tmp_path / "damaged.gz")])


def test_files_that_a_shell_expands_and_the_model_after_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model_file(PARSES, tmp_path)
    for name in "ab":
        write_records(tmp_path / f"{name}.tfrecord", ["1", "2"])
    assert main(["run", "model.pb", "--inputs", "a.tfrecord", "b.tfrecord", "-o", "o1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 4
    assert main(["run", "-o", "o2", "--inputs", "*.tfrecord", "model.pb"]) == 0
    assert "o2: 4 rows in 1 part" in capsys.readouterr().out
