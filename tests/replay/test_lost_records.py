"""A store that lost records of a judged trial is refused in a line that names it; nothing is made of what is left."""

from pathlib import Path

import pytest

from replay.fork import fork_judged
from replay.trials import trial_named
from sandbox.contents import content_stream
from sandbox.lineage import forks
from sandbox.records import Chain, Said, TrialKey, draft
from sandbox.stream import Store, StreamFault
from tests.replay.damage import without
from tests.replay.runs import GOLDEN, SOLVE, TASK, archive, ran
from trialbox import main

KEY, OTHER = (TrialKey("test", TASK, repetition, 1) for repetition in range(2))
LAST = 21
"""A position before the end of every trial here."""
OF_ALL = ["rejudge {s}", "rejudge {s} --dry-run", "replay {s}", f"tree {{s}} {TASK}", "forks {s}"]
OF_ALL += ["seal {s} -o {o}", "seal {s} -o {o} --redact texts", "export otel {s} -o {o}", "export inspect {s} -o {o}"]
OF_ONE = ["show {s} {t}", "blame {s} {t} zendesk_tickets/7/status", "no-return {s} {t}", "repair {s} {t}"]
OF_ONE += ["replay {s} {t}", "fork {s} {t}@21 --agent oracle"]
OF_ONE += [f"diff {{s}} {{t}} {TASK}/1", f"diff {{s}} {TASK}/1 {{t}}"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two failed trials and a fork that passes."""
    path = ran(tmp_path_factory.mktemp("lost") / "c.db", [*GOLDEN[:9], SOLVE], repetitions=2)
    fork_judged(path, f"{TASK}/1", 21, "oracle")
    return path


def refused(command: str, store: Path, trial: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says on standard error; that it says nothing else, and makes nothing."""
    output = store.with_name("made")
    assert main([word.format(s=store, t=trial, o=output) for word in command.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert not output.exists()
    assert sorted(file.name for file in store.parent.glob(".*")) == []
    return printed.err


@pytest.mark.parametrize("after", [0, LAST], ids=["the stream", "the end"])
@pytest.mark.parametrize("command", [*OF_ALL, *OF_ONE])
def test_a_judged_trial_that_lost_its_end_is_refused(
    store: Path, tmp_path: Path, command: str, after: int, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = without(store, tmp_path / "c.db", KEY.id, after=after)
    told = refused(command, damaged, f"{TASK}/0", capsys)
    assert f"trial {KEY.id} was judged, but its last records are gone; restore a copy of the file\n" in told


@pytest.mark.parametrize("command", [command for command in OF_ONE if "diff" not in command])
def test_another_trial_of_such_a_store_can_be_looked_at(store: Path, tmp_path: Path, command: str) -> None:
    damaged = without(store, tmp_path / "c.db", OTHER.id)
    assert main([word.format(s=damaged, t=f"{TASK}/0") for word in command.split()]) in (0, 1)


def test_a_fork_that_lost_its_end_is_refused_and_not_made_again(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(store, read_only=True) as opened:
        [fork] = forks(opened)
    damaged = without(store, tmp_path / "c.db", fork.key.id, after=2)
    for command in ("forks {s}", "replay {s}", "show {s} {t}", f"fork {{s}} {TASK}/1@21 --agent oracle"):
        told = refused(command, damaged, str(fork.key.id), capsys)
        assert f"trial {fork.key.id} was judged, but its last records are gone" in told


@pytest.mark.parametrize("kind", ["judgement", "outcomes", "expectation", "layer", "task"])
def test_a_store_that_lost_what_it_lists_is_not_sealed(
    store: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(store, read_only=True) as opened:
        streams = [content_stream(kind, name) for name in opened.names(kind)]
    damaged = without(store, tmp_path / "c.db", *streams)
    assert f"{kind} " in refused("seal {s} -o {o}", damaged, "", capsys)


@pytest.mark.parametrize("command", ["show {s} {t}", "export otel {s} -o {o}", f"tree {{s}} {TASK}", "forks {s}"])
def test_a_judgement_that_is_gone_is_not_taken_for_none(
    store: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(store, read_only=True) as opened:
        streams = [content_stream("judgement", name) for name in opened.names("judgement")]
    damaged = without(store, tmp_path / "c.db", *streams)
    assert "is listed, but not there; restore a copy of the file" in refused(command, damaged, f"{TASK}/0", capsys)


def test_a_trial_that_does_not_begin_as_one_is_refused(store: Path, tmp_path: Path) -> None:
    with Store.open(store, read_only=True) as opened, Store.open(tmp_path / "c.db", create=True) as other:
        for kind in ("campaign", "task", "layer"):
            for name in opened.names(kind):
                other.keep(kind, name, opened.kept(kind, name) or b"")
        other.append([(KEY.id, Chain(KEY.id).sealed([draft(Said("user", "Hello?"), "2026-01-05T09:00:00Z")], b""))])
        with pytest.raises(StreamFault, match="does not begin as a trial does"):
            assert trial_named(archive(other), f"{TASK}/0").agent
