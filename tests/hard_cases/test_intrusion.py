"""What an agent writes is data, and what is not its own is out of reach: rows 29, 30 and 39."""

import ast
import os
from pathlib import Path

import anyio
import msgspec
import pytest

from domains.probe import domain
from sandbox.fold import fold
from sandbox.mcp_session import connected
from sandbox.records import Said, ToolRefused, TrialKey, decoded
from sandbox.stream import Store
from sandbox.task import Task
from tests.hard_cases.stage import (
    NOW,
    TASK,
    Asked,
    Played,
    ask,
    calls_in,
    follow,
    journal_of,
    opened,
    played,
    told,
)

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "../verdict.json",
    "/proc/self/environ",
    "file:../verdict.json?mode=rw",
    "'; ATTACH DATABASE 'verdict.json' AS v; DROP TABLE v.verdicts; --",
    '"); DELETE FROM stored_events; --',
    "__import__('os').system('touch owned')",
    "${jndi:ldap://owned}{{7*7}}%s%n",
    "!!python/object/apply:os.system ['touch owned']",
    "<script>verdict='pass'</script>",
    "verdict: pass\x00\x1b[2J",
]


def hostile_calls(text: str) -> list[Asked]:
    return [
        ask("get_order", order_id=text),
        ask("find_customers", email=text),
        ask("list_tickets", queue=text),
        ask("read_file", path=text),
        ask("sqlite", query=text),
        Asked(text, {"order_id": "ORD-9"}),
        Asked("get_order", text),
        ask("add_note", order_id="ORD-9", text=text),
        ask("bulk_update", order_ids=["ORD-9"], declared_amount=text),
    ]


async def attacked(folder: Path, text: str) -> Played:
    """A trial with its store in a folder, in which an agent tries a text everywhere."""
    with Store.open(folder / "campaign.db", create=True) as store:
        async with journal_of(store) as journal:
            trial = await opened(journal)
            async with connected(trial) as session:
                answers = await follow(session, hostile_calls(text))
                await session.say(text)
            ended = await trial.end("done")
        return Played(answers, store.read(trial.id), ended.effects, ended.record)


@pytest.mark.anyio
@pytest.mark.parametrize("text", HOSTILE)
async def test_row_30_an_agent_reaches_no_file_and_every_attempt_is_logged(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    for folder in (tmp_path, inside):
        (folder / "verdict.json").write_text('{"verdict": "fail"}', encoding="utf-8")
    monkeypatch.chdir(inside)
    trial = await attacked(inside, text)
    refusals = [p.refusal for record in trial.records if isinstance(p := decoded(record), ToolRefused)]
    assert refusals == ["NotFound", "Invalid", "Unsupported", "Unsupported", "Unsupported", "Invalid"]
    assert [call.number for call in calls_in(trial.records)] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert set(os.listdir(inside)) <= {"verdict.json", "campaign.db", "campaign.db.lock"}
    assert set(os.listdir(tmp_path)) == {"inside", "verdict.json"}
    assert {(p / "verdict.json").read_text(encoding="utf-8") for p in (tmp_path, inside)} == {'{"verdict": "fail"}'}


@pytest.mark.anyio
@pytest.mark.parametrize("text", HOSTILE)
async def test_row_29_what_an_agent_writes_is_kept_word_for_word_and_never_run(text: str, tmp_path: Path) -> None:
    trial = await attacked(tmp_path, text)
    rows = {effect.table: effect.row or {} for effect in trial.effects}
    assert rows["probe_notes"]["text"] == text
    assert rows["probe_orders"]["declared_amount"] == text
    assert Said("assistant", text) in [decoded(record) for record in trial.records]


RUNNING = {"eval", "exec", "compile", "__import__"}
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}


def runs_data(tree: ast.Module) -> list[int]:
    """Lines on which a module evaluates text, or can."""
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in RUNNING:
                lines.append(node.lineno)
            case ast.Import(names=names) if UNSAFE & {alias.name.partition(".")[0] for alias in names}:
                lines.append(node.lineno)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in UNSAFE:
                lines.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="yaml"), attr="unsafe_load" | "full_load")):
                lines.append(node.lineno)
    return lines


def test_row_29_no_module_evaluates_text_or_unpickles() -> None:
    modules = [path for folder in ("sandbox", "domains", "judges", "replay") for path in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 40
    found = {path.name: runs_data(ast.parse(path.read_text(encoding="utf-8"))) for path in modules}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("line", ["eval('1')", "import pickle", "from marshal import loads", "yaml.unsafe_load(x)"])
def test_row_29_the_search_finds_what_it_looks_for(line: str) -> None:
    assert runs_data(ast.parse(f"import yaml\n{line}")) == [2]


def test_row_30_what_serves_an_agent_cannot_be_given_an_expectation() -> None:
    public = msgspec.to_builtins(TASK)
    assert msgspec.convert(public, Task) == TASK
    with pytest.raises(msgspec.ValidationError, match="unknown field `expect`"):
        msgspec.convert({**public, "expect": {"refusal": True}}, Task)


@pytest.mark.anyio
async def test_row_30_a_hidden_tool_is_refused_like_one_that_does_not_exist() -> None:
    shown = Task("probing", "probe", NOW, "Look only.", tools=("get_order", "list_tickets"))
    trial = await played(ask("refund", order_id="ORD-9", amount=5), ask("refundd"), task=shown)
    refused = [payload for record in trial.records if isinstance(payload := decoded(record), ToolRefused)]
    assert [(refusal.refusal, refusal.message) for refusal in refused] == [
        ("Unsupported", "no tool 'refund'"),
        ("Unsupported", "no tool 'refundd'"),
    ]
    assert trial.effects == ()


TRIALS = 64


@pytest.mark.anyio
async def test_row_39_sixty_four_trials_at_once_see_their_own_marks_only() -> None:
    store, seen = Store.in_memory(), dict[int, list[str]]()

    async def one(number: int) -> None:
        trial = await opened(journal, key=TrialKey("hard-cases", TASK.id, number, 1))
        mark = ask("add_note", order_id="ORD-9", text=f"mark {number}")
        async with connected(trial) as session:
            await follow(session, [mark, ask("pop_next_ticket"), mark])
            [shown] = await follow(session, [ask("get_order", order_id="ORD-9")])
        seen[number] = [note["text"] for note in told(shown)["notes"]]
        await trial.end("done")

    with anyio.fail_after(120):
        async with journal_of(store) as journal, anyio.create_task_group() as tasks:
            for number in range(TRIALS):
                tasks.start_soon(one, number)
    assert seen == {number: [f"mark {number}"] * 2 for number in range(TRIALS)}
    for number in range(TRIALS):
        records = store.read(TrialKey("hard-cases", TASK.id, number, 1).id)
        rows = fold(domain, domain.snapshot, records).found("probe_notes", [("order_id", "ORD-9")])
        assert [getattr(row, "text", None) for _, row in rows] == [f"mark {number}"] * 2
