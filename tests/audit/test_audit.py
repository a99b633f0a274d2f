"""An audit as a whole: workers, limits, the database, and what later runs examine."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.audit.stores import NEW, OLD, small_store
from tests.recorded_models import path_of

from tfport.audit.audit import audit_store
from tfport.audit.database import AuditDatabase
from tfport.audit.examine import AuditQuestions
from tfport.audit.summary import summarize
from tfport.audit.workers import WorkerLimits

LIMITS = WorkerLimits(1, 60.0, 4 << 30)


@pytest.fixture
def database(tmp_path):
    opened = AuditDatabase(str(tmp_path / "audit.sqlite"))
    yield opened
    opened.close()


def audit(store, database, limits=LIMITS, **options):
    """Audit a store; returns how many models were examined."""
    examined = []
    questions = AuditQuestions((NEW, OLD), **options)
    audit_store([str(store)], questions, database, limits, lambda progress: examined.append(progress.models))
    return examined[-1] if examined else 0


def rows(database, columns="path, status"):
    return database.connection.execute(f"SELECT {columns} FROM models ORDER BY path").fetchall()


def test_only_what_changed_is_examined_again(tmp_path, database):
    store = small_store(tmp_path)
    assert audit(store, database, scan=False) == 5
    assert audit(store, database, scan=False) == 0
    os.utime(store / "team_a/half/1/saved_model.pb", ns=(0, 1))
    shutil.rmtree(store / "team_b/empty")
    assert audit(store, database, scan=False) == 1
    assert [status for _, status in rows(database)] == ["read"] * 4
    assert audit(store, database, scan=True) == 4  # another question


def test_an_interrupted_audit_continues(tmp_path, database):
    store = small_store(tmp_path)

    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_store([str(store)], AuditQuestions((NEW, OLD), scan=False), database, LIMITS, interrupt)
    assert not summarize(database).complete
    done = len(rows(database))
    assert 0 < done < 5
    assert audit(store, database, scan=False) == 5 - done
    assert summarize(database).complete


def test_a_model_that_takes_too_long_costs_one_row(tmp_path, database):
    store = small_store(tmp_path)
    audit(store, database, WorkerLimits(1, 0.0, 4 << 30), scan=False)
    assert all("not examined within 0 seconds" in error for (error,) in rows(database, "error"))


def test_weights_are_not_read(tmp_path, database):
    """Weights of 8 TiB, which no reader of all bytes would end with, under a limit of 600 MB."""
    shutil.copytree(path_of("half_plus_two"), tmp_path / "m")
    with open(next((tmp_path / "m/variables").glob("*.data*")), "r+b") as weights:
        weights.truncate(1 << 43)
    audit(tmp_path / "m", database, WorkerLimits(1, 60.0, 600 << 20))
    assert rows(database, "status, bytes > 1e12") == [("read", 1)]


def test_versions_with_other_signatures_are_reported(tmp_path, database):
    for version, model in (("1", "half_plus_two"), ("2", "strings")):
        shutil.copytree(path_of(model), tmp_path / "m" / version)
    audit(tmp_path / "m", database, scan=False)
    (change,) = summarize(database).signature_changes
    assert (change.before, change.after) == ("1", "2")
    assert "serving_default: input `x` is gone" in change.changes


def test_groups_count_the_models_of_a_folder_or_owner(tmp_path, database):
    store = small_store(tmp_path)
    audit(store, database, scan=False)
    by_path = summarize(database, group_by="path").groups
    assert [(group.group, group.models, group.unread) for group in by_path] == [
        ("team_b", 3, 1),
        ("team_a", 2, 0),
    ]
    assert [g.group for g in summarize(database, group_by="path:2").groups] == [
        "team_a/half", "team_b/graphs", "team_b/empty",
    ]  # fmt: skip
    assert len(summarize(database, group_by="owner").groups) == 1


def test_a_baseline_leaves_what_is_new(tmp_path, database):
    store = tmp_path / "m"
    shutil.copytree(path_of("keras_sequential"), store / "old")
    old = AuditDatabase(str(tmp_path / "old.sqlite"))
    audit(store, old, scan=False)
    old.close()
    shutil.copytree(path_of("keras_lstm"), store / "new")
    audit(store, database, scan=False)
    summary = summarize(database, baseline=old.path)
    assert {(os.path.basename(p.path), p.target, p.before, p.verdict) for p in summary.new_problems} == {
        ("new", OLD, None, "fails")
    }


def test_an_upgrade_says_what_breaks_and_what_can_be_rewritten(tmp_path, database):
    for model in ("keras_sequential", "strings"):
        shutil.copytree(path_of(model), tmp_path / "m" / model)
    audit(tmp_path / "m", database, scan=False, try_fix=True)
    upgrade = summarize(database, before=NEW).upgrade
    assert (upgrade.keeps_running, upgrade.breaks, upgrade.rewritten, upgrade.needs_person) == (1, 1, 1, 0)
