"""`trialbox show` and `blame` on a stored trial, without its pack, a tool or a model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import trialbox
from replay.look import Blamed, Head, Shown
from replay.stored import kept_outcomes, opened_trial
from sandbox.archive import Archive
from sandbox.call import Call
from sandbox.stream import Store
from sandbox.world import World
from tests.replay.looking import RETAIL, TRIAL, stored

DOCS = (Path(__file__).parents[2] / "docs" / "looking.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One failed trial."""
    return stored(tmp_path_factory.mktemp("looking") / "c.db")


class Out:
    """What a command printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def lines(self, *arguments: object) -> list[str]:
        assert trialbox.main([str(argument) for argument in arguments]) == 0
        return self.capsys.readouterr().out.splitlines()

    def json(self, *arguments: object) -> Any:
        return json.loads("\n".join(self.lines(*arguments, "--json")))

    def fault(self, *arguments: object) -> str:
        assert trialbox.main([str(argument) for argument in arguments]) == 2
        return self.capsys.readouterr().err


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    """Runs commands."""
    return Out(capsys)


def solved_at(store: Path, out: Out) -> int:
    (finding,) = [one for one in out.json("show", store, TRIAL)["trial"]["findings"] if one.get("field") == "status"]
    return int(finding["position"])


def test_an_event_is_shown_with_what_it_changed_and_the_call_behind_it(store: Path, out: Out) -> None:
    place = solved_at(store, out)
    told = out.json("show", store, f"{TRIAL}@{place}")
    (effect,) = told["changes"]
    status = next(change for change in effect["changes"] if change["name"] == "status")
    assert (effect["table"], effect["key"], status["before"], status["after"]) == (
        "zendesk_tickets",
        "7",
        "open",
        "solved",
    )
    assert (told["call"]["tool"], told["call"]["position"]) == ("zendesk_update_item", place - 1)
    assert told["record"]["topic"] == "zendesk.ticket-changed.1"
    assert [line["role"] for line in told["dialogue"]] == ["user", "assistant"]
    text = out.lines("show", store, f"{TRIAL}@{place}")
    assert "  zendesk_tickets 7 · status: open → solved" in text


def test_the_distance_falls_while_the_trial_does_what_is_required(store: Path, out: Out) -> None:
    place = solved_at(store, out)
    told = [out.json("show", store, f"{TRIAL}@{at}") for at in (0, place - 1, place)]
    assert [one["distances"][0]["findings"] for one in told] == [3, 2, 2]
    assert [len(one["effects"]) for one in told] == [0, 1, 2]
    assert told[0]["record"] is None
    assert "distance to claim filed for the heating element, ticket on hold: findings 3" in out.lines(
        "show", store, f"{TRIAL}@0"
    )


def test_a_table_is_shown_as_it_was_at_a_position(store: Path, out: Out) -> None:
    place = solved_at(store, out)
    before, after = (
        {
            row["key"]: row["row"]["status"]
            for row in out.json("show", store, f"{TRIAL}@{at}", "--table", "zendesk_tickets")["rows"]
        }
        for at in (place - 1, place)
    )
    assert (before["7"], after["7"]) == ("open", "solved")
    assert {key: status for key, status in before.items() if key != "7"} == {
        key: status for key, status in after.items() if key != "7"
    }
    assert len(before) == len(list(RETAIL.snapshot.items("zendesk_tickets")))


def test_nothing_is_decided_by_a_tool_while_a_trial_is_looked_at(
    store: Path, out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        pytest.fail("a tool was run")

    monkeypatch.setattr(World, "decide", forbidden)
    monkeypatch.setattr(Call, "emit", forbidden)
    assert out.json("show", store, TRIAL)["distances"][0]["equal"] == "no"
    assert out.json("blame", store, TRIAL, "zendesk_tickets/7/status")["value"] == "solved"


def test_blame_names_event_call_words_and_where_the_value_was_seen(store: Path, out: Out) -> None:
    place = solved_at(store, out)
    told = out.json("blame", store, TRIAL, "zendesk_tickets/7/status")
    (write,) = told["writes"]
    assert (write["position"], write["before"], write["after"], write["cause"]) == (place, "open", "solved", place - 1)
    assert (told["call"]["tool"], told["line"]["role"], told["value"]) == ("zendesk_update_item", "user", "solved")
    assert (told["sight"]["answer"], told["sight"]["where"]) == ("seen", "briefing")
    assert told["is_given"] is True
    assert any(
        line.startswith(f"► event {place} ") for line in out.lines("blame", store, TRIAL, "zendesk_tickets/7/status")
    )


def test_what_the_agent_invented_it_saw_nowhere_and_gave_itself(store: Path, out: Out) -> None:
    (key,) = [one["key"] for one in out.json("show", store, TRIAL)["effects"] if one["table"] == "zendesk_comments"]
    invented = out.json("blame", store, TRIAL, f"zendesk_comments/{key}/body")
    assert (invented["sight"]["answer"], invented["is_given"]) == ("nowhere", True)
    made = out.json("blame", store, TRIAL, f"zendesk_comments/{key}/id")
    assert (made["sight"]["answer"], made["is_given"]) == ("nowhere", False)
    assert out.lines("blame", store, TRIAL, f"zendesk_comments/{key}/body")[-1].endswith("so it made it up")


def test_a_field_that_no_event_wrote_is_the_snapshots(store: Path, out: Out) -> None:
    told = out.json("blame", store, TRIAL, "zendesk_tickets/7/subject")
    assert (told["writes"], told["sight"], told["value"]) == ([], None, "Steam oven stays cold")


def test_before_an_event_its_write_is_not_there(store: Path, out: Out) -> None:
    place = solved_at(store, out)
    told = out.json("blame", store, f"{TRIAL}@{place - 1}", "zendesk_tickets/7/status")
    assert (told["writes"], told["value"]) == ([], "open")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("show", "stuck-warranty/7"), "no trial 'stuck-warranty/7'; name it by"),
        (("show", f"{TRIAL}@500"), "no position 500; the trial has 0 (its start) to"),
        (("show", f"{TRIAL}@last"), "'last' is no position; write TRIAL@n"),
        (("show", TRIAL, "--table", "tickets"), "no table 'tickets' in domain retail; it has"),
        (
            ("blame", TRIAL, "zendesk_tickets/7/statu"),
            "no field 'statu' in table zendesk_tickets; did you mean 'status'?",
        ),
        (("blame", TRIAL, "zendesk_tickets/777/status"), "no row '777' in zendesk_tickets up to position"),
        (("blame", TRIAL, "zendesk_tickets/7"), "names no field; write TABLE/KEY/FIELD"),
    ],
)
def test_what_cannot_be_shown_is_said_with_what_to_do(
    store: Path, out: Out, arguments: tuple[str, ...], fault: str
) -> None:
    command, *rest = arguments
    assert fault in out.fault(command, store, *rest)


def test_what_an_agent_wrote_cannot_move_the_cursor(store: Path, out: Out) -> None:
    for arguments in (("show", store, TRIAL), ("blame", store, TRIAL, "zendesk_tickets/7/status")):
        assert all(line.isprintable() for line in out.lines(*arguments))
        assert all(line.isascii() for line in out.lines(*arguments, "--json"))
    assert "verdict: pass" not in out.lines("show", store, TRIAL)


def test_the_json_has_the_documented_fields(store: Path, out: Out) -> None:
    shown, blamed = DOCS.split("### ")[1:]
    told = out.json("show", store, TRIAL), out.json("blame", store, TRIAL, "zendesk_tickets/7/status")
    for text, given, kind in ((shown, told[0], Shown), (blamed, told[1], Blamed)):
        rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
        fields = [name for row in rows for name in re.findall(r"\w+", row)]
        assert sorted(fields) == sorted(kind.__struct_fields__) == sorted(given)
    (head,) = re.findall(r"^\| `trial` \| (.*) \|$", shown, re.MULTILINE)
    assert re.findall(
        r"`(\w+)`(?= \(|,|\s*$)", head.replace("`ID@n`", "").replace("(`same` or `differs`)", "")
    ) == list(Head.__struct_fields__)


def test_a_trial_that_has_been_looked_at_is_as_it_was(store: Path, out: Out) -> None:
    before = store.read_bytes()
    out.lines("show", store, TRIAL)
    assert store.read_bytes() == before
    assert not store.with_name("c.frames.db").exists()


def test_an_unjudged_trial_is_measured_by_the_outcomes_of_its_own_task(store: Path) -> None:
    with Store.open(store, read_only=True) as opened:
        archive = Archive(opened, RETAIL)
        digest = archive.tasks["stuck-warranty"].digest
        found = kept_outcomes(opened, None, digest)
        assert found is not None
        assert [outcome.name for outcome in found[1]] == ["claim filed for the heating element, ticket on hold"]
        assert kept_outcomes(opened, None, "of another task") is None


def test_without_a_terminal_step_names_what_to_use_instead(store: Path, out: Out) -> None:
    assert "this is none; use: trialbox show STORE TRIAL@n" in out.fault("step", store, TRIAL)


def test_many_effects_are_cut_and_counted(store: Path, out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.told.MOST_EFFECTS", 1)
    assert "  … 2 more; all of them with --json" in out.lines("show", store, TRIAL)


def test_a_store_without_outcomes_can_be_looked_at_all_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Store.kept
    monkeypatch.setattr(Store, "kept", lambda self, kind, name: None if kind == "outcomes" else kept(self, kind, name))
    with Store.open(store, read_only=True) as opened:
        trial = opened_trial(opened, RETAIL, TRIAL)
        assert trial.distances(trial.timeline.effects(5)) is None
