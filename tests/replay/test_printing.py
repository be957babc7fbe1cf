"""What packs and agents write is shown in printable lines: none of it moves the cursor or forges a line."""

import json
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from domains.probe import domain
from judges.pack import PackTask, tasks_in
from replay.step_app import Sheet, StepApp
from replay.stored import opened_trial
from sandbox.agents import PlannedCall, Scripted
from sandbox.lineage import forks
from sandbox.records import TrialKey
from sandbox.stream import Store
from sandbox.task import UserContext
from tests.replay.other_probe import ran
from tests.replay.test_step import on_screen
from trialbox import main

FORGED = "\nverdict: forged\r\nverdict: forged\x1b[31m\u202e\u2028verdict: forged"
ID, TICKET = f"moved{FORGED}", f"TIC-1{FORGED}"
ROW = {"id": TICKET, "queue": "general", "subject": f"Twice{FORGED}", "customer_id": "CUS-1"}
MOVED = {"ticket_id": TICKET, "queue": "billing"}
EXPECTED = {
    "outcomes": [{"name": f"billing{FORGED}", "calls": [{"move": MOVED}]}],
    "rules": [{"never": {"event": "ticket-taken", "where": {"id": f"TIC-2{FORGED}"}}}],
    "rubrics": [f"Was it moved?{FORGED}"],
}
OTHER = {"name": f"other{FORGED}", "calls": [{"move": {**MOVED, "queue": "complaints"}}]}
WRONG = [
    PlannedCall(f"no such tool{FORGED}", {f"a{FORGED}": FORGED}),
    PlannedCall("move", {"ticket_id": f"TIC-9{FORGED}", "queue": "billing"}),
    PlannedCall("move", {"ticket_id": TICKET, "queue": "complaints"}),
]
FIRST, SECOND = (TrialKey(f"test-it{FORGED}", ID, repetition, 1) for repetition in range(2))


def hostile_tasks(folder: Path, **expected: object) -> list[PackTask]:
    """A task that writes what it should not wherever a pack may write a text; and again with such an id."""
    folder.mkdir()
    about = {"id": "moved", "instant": "2026-01-05T09:00:00Z", "goal": FORGED, "policy": FORGED, "user": FORGED}
    opened = {**ROW, "opened": "2026-01-05T08:00:00Z"}
    task = {**about, "patch": {"probe_tickets": [opened]}, "expect": EXPECTED | expected}
    (folder / "task.yaml").write_text(json.dumps(task))
    [item] = tasks_in(domain, folder)
    return [item, replace(item, task=replace(item.task, id=ID), user=UserContext(ID))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two failed trials of a hostile task by a hostile agent, and a fork with a hostile answer."""
    folder = tmp_path_factory.mktemp("hostile")
    agent = Scripted(f"it{FORGED}", {ID: WRONG, "moved": WRONG}, goodbye=FORGED)
    path = ran(folder / "c.db", hostile_tasks(folder / "tasks"), agent)
    (folder / "agent.yaml").write_text(json.dumps({"agent": {"name": f"other{FORGED}", "scripted": "oracle"}}))
    at = f"{FIRST.id}@4"
    assert main(["fork", str(path), at, "--agent", str(folder / "agent.yaml"), "--edit", json.dumps(FORGED)]) == 0
    return path


def is_printable(text: str) -> bool:
    """Whether a text has no sign that moves a cursor or turns a line, and no line that somebody forged."""
    is_plain = {c for c in text if not c.isprintable()} <= {"\n"}
    return is_plain and not any(line.strip().startswith("verdict: forged") for line in text.splitlines())


COMMANDS = [
    *(["show", "{s}", f"{{t}}{at}", *form] for at in ("", "@0", "@4", "@9") for form in ([], ["--json"])),
    ["show", "{s}", "{t}", "--table", "probe_tickets"],
    *(["blame", "{s}", "{t}", f"probe_tickets/{TICKET}/queue", *form] for form in ([], ["--json"])),
    ["blame", "{s}", "{t}", f"probe_tickets/{TICKET}/{FORGED}"],
    *(["replay", "{s}", *form] for form in ([], ["{t}"], ["--json"])),
    *(["rejudge", "{s}", "--dry-run", *form] for form in ([], ["--task-folder", "{f}"])),
    *(["rejudge", "{s}", "--dry-run", "--task-folder", "{f}", form] for form in ("--json", "--markdown")),
    ["rejudge", "{s}", "--dry-run", "--pack", "probe"],
    ["fork", "{s}", "{t}@3", "--agent", "oracle"],
    ["fork", "{s}", "{t}@4", "--agent", "oracle"],
    ["forks", "{s}"],
    ["show", "{s}", "{k}@4"],
    ["diff", "{s}", "{t}", "{o}"],
    ["diff", "{s}", "{t}", "{k}"],
    ["tree", "{s}", ID],
    ["tree", "{s}", FORGED],
    ["repair", "{s}", "{t}"],
    ["no-return", "{s}", "{t}"],
    ["seal", "{s}", "-o", "{d}/a.sealed"],
    ["verify", "{d}/a.sealed"],
    ["unseal", "{d}/a.sealed", "-o", "{d}/u.db"],
    *(["export", form, "{s}", "-o", f"{{d}}/{form}"] for form in ("parquet", "inspect", "otel")),
    ["export", "otel", "{s}", "{d}/a.sealed", "-o", "{d}/both"],
]


def filled(word: str, words: Mapping[str, object]) -> str:
    for name, value in words.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


def fork_of(path: Path) -> UUID:
    with Store.open(path, read_only=True) as store:
        [fork] = forks(store)
        return fork.key.id


def test_no_command_prints_what_a_pack_or_an_agent_forged(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile_tasks(tmp_path / "tasks", outcomes=[OTHER], rules=[], rubrics=[])
    fork = fork_of(store)
    for command in COMMANDS:
        words = {"s": store, "t": FIRST.id, "o": SECOND.id, "k": fork, "f": tmp_path / "tasks", "d": tmp_path}
        main([filled(word, words) for word in command])
        printed = capsys.readouterr()
        assert printed.out + printed.err, command
        assert is_printable(printed.out + printed.err), command


@pytest.mark.anyio
async def test_a_walk_shows_nothing_that_was_forged(store: Path) -> None:
    with Store.open(store, read_only=True) as opened:
        app = StepApp(opened_trial(opened, domain, str(FIRST.id)))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            for key in (*"jjjjjjjjj", "f", "b", "q", "e", "q", "question_mark", "q", "G"):
                await pilot.press(key)
                assert is_printable("\n".join(on_screen(app))), key
                if isinstance(app.screen, Sheet):
                    assert is_printable(app.screen.text), key
                else:
                    texts = [str(panel.content) for panel in app.query(Static)]
                    assert is_printable("\n".join(texts)), key
