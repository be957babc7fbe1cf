"""Forks work under what their campaign was sealed with, and a model goes on from what was recorded."""

from pathlib import Path
from typing import Any

import pytest

from judges.campaigns import run_judged
from judges.configuration import Configuration, scripted
from replay.fork import JudgedFork, fork_judged
from replay.fork_rules import gate_of, under_seal
from replay.trials import Recording, trial_named
from sandbox.agents import Scripted
from sandbox.archive import Archive, domain_of
from sandbox.gate import Gate, GateSettings, Rule
from sandbox.person import PersonAsApprover, Terminal
from sandbox.protocols import Limits, Plain
from sandbox.records import Gated, Said, ToolRefused, ToolReturned, decoded
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.values import canonical
from tests.judges.modelled import CONFIGURATION, TASKS, Done, done, home, right, run_arguments, store_in
from tests.replay.runs import GOLDEN, RETAIL, TASK
from tests.replay.runs import TASKS as RETAIL_TASKS
from tests.stub import serving

REFUSING = "gate: {rules: [{action: refuse, writes: true, reason: not today}]}\n"
GATE = GateSettings((Rule("refuse", writes=True),))


def recorded(path: Path, name: str = f"{TASKS[0]}/0") -> Recording:
    """A trial of a store."""
    with Store.open(path, read_only=True) as store:
        return trial_named(Archive(store, domain_of(store)), name)


def positions(trial: Recording, kind: type[Any]) -> list[int]:
    """Where a trial has records of a kind."""
    return [record.position for record in trial.records if isinstance(decoded(record), kind)]


async def forked(
    url: str, folder: Path, position: int, *more: str, agent: str = "agent.yaml"
) -> tuple[Done, list[Any]]:
    """A fork of the first trial through the command line, and the payloads that it holds after the position."""
    name = str(folder / agent) if agent.endswith("yaml") else agent
    at = f"{TASKS[0]}/0@{position}"
    made = await done(url, "fork", str(store_in(folder)), at, "--agent", name, "--pack", str(folder / "pack"), *more)
    if made.code:
        return made, []
    trial = recorded(store_in(folder), made.out.split()[0])
    return made, [decoded(record) for record in trial.records[position:]]


@pytest.mark.anyio
async def test_a_model_goes_on_from_the_recorded_dialogue_with_each_answer_beside_its_call(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        trial = recorded(store_in(folder))
        answers = positions(trial, ToolReturned)
        before = len(stub.asked)
        made, _ = await forked(stub.url, folder, answers[1], "--edit", '{"changed":1}')
        assert made.code == 0, made.err
        messages = stub.asked[before].body["messages"]
    said = [decoded(trial.records[place - 1]).text for place in positions(trial, Said)]
    first = decoded(trial.records[answers[0] - 1]).result
    assert [one["role"] for one in messages[1:]] == ["user", "assistant", "user", *["assistant", "tool"] * 2]
    assert [one["content"] for one in messages[1:4]] == said[:3]
    assert [one["content"] for one in messages[5::2]] == [first, '{"changed":1}']
    asked = [call["id"] for one in messages for call in one.get("tool_calls", ())]
    assert [one["tool_call_id"] for one in messages[5::2]] == asked
    assert len(set(asked)) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["agent.yaml", "oracle"])
async def test_a_fork_runs_behind_the_gate_of_its_campaign_unless_it_is_left_out(tmp_path: Path, agent: str) -> None:
    folder = home(tmp_path, CONFIGURATION + REFUSING, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        said = positions(recorded(store_in(folder)), Said)
        (folder / "agent.yaml").write_text(CONFIGURATION, encoding="utf-8")
        gated, behind = await forked(stub.url, folder, said[2], agent=agent)
        free, without = await forked(stub.url, folder, said[2], "--no-gate", agent=agent)
    assert [one.reason for one in behind if isinstance(one, Gated) and not one.allowed] != []
    assert "was not approved: not today" in next(one.message for one in behind if isinstance(one, ToolRefused))
    assert (" fail " in gated.out, gated.code, free.code) == (True, 0, 0)
    assert [one for one in without if isinstance(one, Gated | ToolRefused)] == []


@pytest.mark.anyio
async def test_the_limits_of_a_fork_are_those_of_its_campaign(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        said = positions(recorded(store_in(folder)), Said)
        stricter = CONFIGURATION.replace("limits: {trial_s: 60}", "limits: {max_agent_turns: 1}")
        (folder / "agent.yaml").write_text(stricter, encoding="utf-8")
        made, _ = await forked(stub.url, folder, said[0])
    assert "  done  " in made.out


@pytest.mark.anyio
async def test_what_a_user_knows_comes_from_the_pack_that_was_sealed(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        file = folder / "pack" / "tasks" / f"{TASKS[0]}.yaml"
        file.write_text(file.read_text().replace("You are Gareth", "You are angry. You are Gareth"))
        made, _ = await forked(stub.url, folder, 2)
    assert (made.code, "name its pack with --pack" in made.err) == (2, True)


def test_settings_that_a_seal_does_not_hold_stay_those_that_are_given() -> None:
    given = scripted("oracle", 0)
    assert under_seal(given, "") == under_seal(given, "seed 7") == given
    sealed = {"protocol": {"name": "plain"}, "limits": {"trial_s": 7.0}, "gate": {"check_end_state": True}}
    made = under_seal(given, canonical(sealed).decode()).written
    assert (made.protocol, made.limits, made.gate) == (Plain(), Limits(trial_s=7.0), GateSettings(check_end_state=True))
    assert under_seal(given, canonical(sealed).decode(), gated=False).written.gate is None


def test_a_gate_of_another_form_is_refused_and_can_be_left_out() -> None:
    settings = canonical({"gate": {"moon": "full"}}).decode()
    with pytest.raises(UserFault, match=r"the gate that the campaign was sealed with .* --no-gate"):
        under_seal(scripted("oracle", 0), settings)
    assert under_seal(scripted("oracle", 0), settings, gated=False).written.gate is None


def test_a_gate_that_asks_needs_somebody() -> None:
    asking: Configuration = under_seal(scripted("oracle", 0), '{"gate": {"rules": [{"action": "ask"}]}}')
    with pytest.raises(UserFault, match=r"asks a person, and nobody is there; fork in a terminal, .* --no-gate"):
        gate_of(asking, None)
    gate = gate_of(asking, PersonAsApprover(Terminal()))
    assert gate is not None
    assert gate.settings == asking.written.gate


def test_a_gate_that_no_seal_tells_is_missed(tmp_path: Path) -> None:
    path, agent = tmp_path / "c.db", Scripted("tester", {TASK: GOLDEN})
    assert run_judged(path, RETAIL, [RETAIL_TASKS[TASK]], agent, 1, name="test", gate=Gate(GATE)) == []
    position = positions(recorded(path, f"{TASK}/0"), ToolReturned)[0]
    with pytest.raises(UserFault, match="had a gate that its campaign's seal does not tell"):
        fork_judged(path, f"{TASK}/0", position, "oracle")
    [made] = fork_judged(path, f"{TASK}/0", position, "oracle", gated=False)
    assert isinstance(made, JudgedFork)
    assert made.judgement.verdict.result == "pass"
