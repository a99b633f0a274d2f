"""Events of ONNX Runtime: times of ops, without those inside of them."""

import json

from tfport.runtime.profile.engine_events import engine_events, op_times


class RecordedSession:
    """A session whose events are in a file."""

    def __init__(self, file, *events):
        self.file = file
        keys = ("op_name", "ts", "dur")
        rows = [dict(zip(keys, event, strict=True)) for event in events]
        file.write_text(
            json.dumps(
                [
                    {"cat": "Session", "name": "model_run", "ts": 0, "dur": 99, "args": {}},
                    *(
                        {
                            "cat": "Node",
                            "name": f"{row['op_name']}_kernel_time",
                            "ts": row["ts"],
                            "dur": row["dur"],
                            "args": {"op_name": row["op_name"]},
                        }
                        for row in rows
                    ),
                ]
            )
        )

    def get_profiling_start_time_ns(self):
        return 1_000_000_000

    def end_profiling(self):
        return str(self.file)


def test_a_loop_is_charged_without_its_body(tmp_path):
    events = [("Add", 11, 10), ("Mul", 22, 30), ("Loop", 10, 50), ("Add", 70, 5)]
    times = op_times(engine_events([RecordedSession(tmp_path / "a.json", *events)], 1.0, 2.0))
    assert [(time.op, time.calls, round(time.seconds * 1e6)) for time in times] == [
        ("Mul", 1, 30),
        ("Add", 2, 15),
        ("Loop", 1, 10),
    ]
    assert not (tmp_path / "a.json").exists()


def test_events_of_other_runs_do_not_count(tmp_path):
    session = RecordedSession(tmp_path / "a.json", ("Add", 10, 5), ("Add", 500_000, 7))
    times = op_times(engine_events([session], 1.4, 1.6))
    assert [(time.op, time.calls) for time in times] == [("Add", 1)]
