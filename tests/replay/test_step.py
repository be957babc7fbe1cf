"""`trialbox step`: keys do what they say, and what was recorded is data."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from replay.keyframes import EVENT, REFUSAL
from replay.step_app import KEYS, Sheet, StepApp
from replay.stored import StoredTrial, opened_trial
from replay.timeline import StoredStream, Timeline
from sandbox.records import Record
from sandbox.stream import Store
from tests.bench import timeline as long_trial
from tests.replay.looking import RETAIL, TRIAL, stored

pytestmark = pytest.mark.anyio
SMALL = (80, 24)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one failed trial."""
    return stored(tmp_path_factory.mktemp("step") / "c.db")


@pytest.fixture
def trial(path: Path) -> Iterator[StoredTrial]:
    """That trial."""
    with Store.open(path, read_only=True) as store:
        yield opened_trial(store, RETAIL, TRIAL)


def panel(app: StepApp, name: str) -> str:
    """What a panel holds."""
    return str(app.query_one(f"#{name}", Static).content)


def sheet(app: StepApp) -> str:
    """What the sheet over the panels says; empty if there is none."""
    return app.screen.text if isinstance(app.screen, Sheet) else ""


def on_screen(app: StepApp) -> list[str]:
    """The terminal's lines, as the screen is drawn."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


async def test_the_keys_walk_through_the_records(trial: StoredTrial) -> None:
    app, end = StepApp(trial), trial.timeline.length
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        for keys, position in (
            (["j", "down"], 3),
            (["k", "up", "k"], 1),
            (["G"], end),
            (["j"], end),
            (["g"], 1),
            (["pagedown", "space"], 21),
            (["pageup"], 11),
            (["end", "home"], 1),
        ):
            await pilot.press(*keys)
            assert app.position == position, keys


async def test_the_keys_jump_to_changes_refusals_and_findings(trial: StoredTrial) -> None:
    app, timeline = StepApp(trial), trial.timeline
    events = [at for at in range(1, timeline.length + 1) if timeline.nearest(EVENT, at) == at]
    refusals = [at for at in range(1, timeline.length + 1) if timeline.nearest(REFUSAL, at) == at]
    blamed = sorted({finding.position for finding in app.head.findings if finding.position})
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("r")
        assert app.position == refusals[0]
        await pilot.press("r")
        assert (app.position, panel(app, "foot")) == (refusals[0], "no call after this one was refused")
        for at in events:
            await pilot.press("n")
            assert app.position == at
        await pilot.press("n")
        assert (app.position, panel(app, "foot")) == (events[-1], "no change after this one; N goes back")
        await pilot.press("N")
        assert app.position == events[-2]
        await pilot.press("g", "f")
        assert app.position == blamed[0]
        assert "required hold, found solved" in panel(app, "foot")
        await pilot.press(*["f"] * len(blamed))
        assert app.position == blamed[0]


async def test_a_position_and_a_text_can_be_asked_for(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("colon", "1", "2", "enter")
        assert app.position == 12
        await pilot.press("colon", "j", "j", "enter")
        assert (app.position, panel(app, "foot")) == (
            12,
            f"no position 'jj'; there are 0 (the start) to {trial.timeline.length}",
        )
        await pilot.press("slash", *"9999", "enter")
        found = app.position
        assert "ORD-9999" in panel(app, "event")
        await pilot.press("slash", "enter")
        assert app.position not in (12, found)
        await pilot.press("slash", *"xyzzy", "enter")
        assert panel(app, "foot") == "nothing holds 'xyzzy'"
        await pilot.press("slash", "q")
        assert panel(app, "foot").startswith("/ text")
        await pilot.press("escape", "j")
        assert not app.query_one(Input).display
        assert app.is_running


async def test_blame_tells_where_the_selected_field_comes_from(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("b")
        assert panel(app, "foot").startswith("nothing changed here")
        await pilot.press("f", "b")
        assert f"► event {app.position} (zendesk.ticket-changed.1): open → solved" in sheet(app)
        assert "first seen:" in sheet(app)
        await pilot.press("escape", "l")
        assert sheet(app) == ""
        assert app.fields[app.selected].name == "updated_at"
        await pilot.press("b")
        assert "· updated_at:" in sheet(app)
        assert "the tool made it" in sheet(app)
        await pilot.press("q", "l")
        assert app.fields[app.selected].name == "status"
        await pilot.press("h", "h")
        assert app.fields[app.selected].name == "status"


async def test_the_panels_show_words_call_record_and_rows_side_by_side(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("f")
        await pilot.pause()
        lines = on_screen(app)
        assert len(lines) == SMALL[1]
        for told in (
            "─records",
            "─record─",
            "─dialogue",
            "─call",
            "─changed rows",
            f"►{app.position}",
            "status: open → solved",
        ):
            assert any(told in line for line in lines), told
        assert any("zendesk_update_item" in line for line in lines)
        assert any("user: Hello, this is Tobias" in line for line in lines)


async def test_help_lists_every_key_and_q_quits(trial: StoredTrial) -> None:
    app = StepApp(trial)
    shown = {
        "j",
        "k",
        "g",
        "G",
        "n",
        "N",
        "r",
        "f",
        "l",
        "h",
        "b",
        "e",
        ":",
        "/",
        "?",
        "q",
        "↓",
        "↑",
        "→",
        "←",
        "PgDn",
        "PgUp",
    }
    assert shown <= set(KEYS.split())
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("question_mark")
        assert KEYS in sheet(app)
        await pilot.press("escape", "e")
        assert "distance to" in sheet(app)
        await pilot.press("escape", "q")
    assert not app.is_running


@pytest.mark.parametrize("size", [SMALL, (200, 60), (40, 12)])
async def test_hostile_words_are_shown_as_data(trial: StoredTrial, size: tuple[int, int]) -> None:
    app = StepApp(trial)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("G", "k")
        await pilot.pause()
        lines = on_screen(app)
        picture = unescape(app.export_screenshot())
        words = panel(app, "dialogue")
    assert all(line.isprintable() for line in lines)
    assert "[bold red]Done[/] [@click=app.quit]here[/]" in words
    if size[0] == 200:
        assert any("[bold red]Done[/] [@click=app.quit]here[/]" in line for line in lines)
        assert any("完了です" in line for line in lines)
    assert not any(sign in picture for sign in ("\x1b", "\x07", "\u202e"))
    assert not any(line.strip() == "verdict: pass" for line in lines)


async def test_a_larger_or_smaller_terminal_is_filled_anew(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        few = panel(app, "records").count("\n")
        await pilot.resize_terminal(160, 60)
        await pilot.pause()
        await pilot.pause()
        assert panel(app, "records").count("\n") > few


class Counted:
    """A stream that counts what is read of it."""

    def __init__(self, stream: StoredStream) -> None:
        self.stream = stream
        self.read: list[int] = []

    def records(self, *, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        for record in self.stream.records(after=after, upto=upto):
            self.read.append(record.position)
            yield record

    def last(self) -> Record | None:
        return self.stream.last()


async def test_a_trial_of_20_000_records_opens_and_steps_without_reading_it_all(
    trial: StoredTrial, tmp_path: Path
) -> None:
    long_trial.written(tmp_path / "long.db", 20_000)
    with Store.open(tmp_path / "long.db", read_only=True) as store:
        stream = Counted(StoredStream(store, long_trial.KEY.id))
        timeline = Timeline(long_trial.domain, long_trial.domain.snapshot, stream)
        app = StepApp(
            StoredTrial(long_trial.KEY, long_trial.domain, timeline, trial.opened, None, None, None, None, "")
        )
        async with app.run_test(size=SMALL) as pilot:
            await pilot.pause()
            await pilot.press("j", "n", "n", "k")
            assert app.position == 6
            assert len(stream.read) <= 2_000
            await pilot.press("j", "b")
            assert "► event 7 (desk.status-set.1): open → seen 2" in sheet(app)
            await pilot.press("escape", "G")
            await pilot.pause()
            await pilot.press("N", "k")
            await pilot.pause()
            assert app.position == 19_998
            assert len(stream.read) <= 50_000
            stream.read.clear()
            await pilot.press(*"kkkjjj")
            assert stream.read == []


async def test_the_snapshot_can_be_reached_and_left(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("colon", "0", "enter")
        assert (app.position, panel(app, "event")) == (0, "the snapshot, before the first record")
        for key, position in (("k", 0), ("N", 0), ("b", 0), ("e", 0), ("q", 0), ("j", 1), ("k", 1)):
            await pilot.press(key)
            assert app.position == position, key
        await pilot.press("colon", "0", "enter", "slash", *"9999", "enter")
        assert app.position > 0
    assert app.fault is None


async def test_a_walk_begins_at_the_snapshot_where_that_is_asked_for(trial: StoredTrial) -> None:
    app = StepApp(trial, 0)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert (app.position, app.fault) == (0, None)


@pytest.mark.parametrize("before", [[], ["question_mark"], ["slash"]], ids=["panels", "help", "prompt"])
async def test_ctrl_c_quits(trial: StoredTrial, before: list[str]) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press(*before, "ctrl+c")
        await pilot.pause()
        assert not app.is_running


async def test_the_help_explains_the_mark_at_records(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("question_mark")
        assert "►     stands at the events that findings point at" in sheet(app)
        assert "Ctrl-C" in sheet(app)


async def test_a_terminal_without_room_says_so(trial: StoredTrial) -> None:
    app = StepApp(trial)
    async with app.run_test(size=(30, 6)) as pilot:
        await pilot.pause()
        assert "too small" in on_screen(app)[0]
        assert not any("records" in line for line in on_screen(app))
        await pilot.resize_terminal(*SMALL)
        await pilot.pause()
        assert not any("too small" in line for line in on_screen(app))
        assert any("dialogue" in line for line in on_screen(app))
