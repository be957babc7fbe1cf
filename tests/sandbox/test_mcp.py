"""What an agent sees of a trial through a real MCP client, and that nothing it sends can break the trial."""

import asyncio
import gc
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, Literal

import mcp_types as types
import pytest
from anyio import create_task_group, fail_after, to_thread
from mcp import Client, MCPError

from judges.campaigns import run_judged
from judges.pack import tasks_in
from sandbox import Domain
from sandbox.mcp_server import ARGUMENTS_META, CALL_ID_META, KEY_META, tool_server
from sandbox.mcp_session import Session, connected
from sandbox.records import End, Record, Said, ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.task import UserContext
from sandbox.trial import Trial
from tests.sandbox import shopfloor
from tests.sandbox.journals import calls_of, opened, stored, topics

pytestmark = pytest.mark.anyio

Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]
BOTH = pytest.mark.parametrize("mode", MODES)
REMARK = {"id": "SO-1", "text": "hello"}


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


class Door:
    """A trial and a plain client that knows nothing of Trialbox."""

    def __init__(self, trial: Trial, client: Client) -> None:
        self.trial = trial
        self.client = client

    async def records(self) -> list[Record]:
        return await self.trial.journal.read(self.trial.id)

    async def calls(self) -> list[ToolCalled]:
        return [payload for record in await self.records() if isinstance(payload := decoded(record), ToolCalled)]

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, meta: Any = None) -> types.CallToolResult:
        return await self.client.call_tool(tool, arguments, meta=meta)


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@asynccontextmanager
async def door(mode: Mode = "auto", domain: Domain = shopfloor.domain) -> AsyncIterator[Door]:
    async with stored() as journal:
        trial = await opened(journal, domain=domain)
        async with Client(tool_server(trial), mode=mode) as client:
            yield Door(trial, client)


@asynccontextmanager
async def session(domain: Domain = shopfloor.domain) -> AsyncIterator[tuple[Session, Trial]]:
    async with stored() as journal:
        trial = await opened(journal, domain=domain)
        async with connected(trial) as made:
            yield made, trial


@BOTH
async def test_tools_are_listed_with_schemas_and_what_they_do(mode: Mode) -> None:
    async with door(mode) as d:
        tools = {tool.name: tool for tool in (await d.client.list_tools()).tools}
    assert list(tools) == list(shopfloor.domain.tools)
    hints = {
        name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint, tool.annotations.idempotent_hint)
        for name, tool in tools.items()
        if tool.annotations
    }
    assert hints["shop_list_orders"] == (True, False, True)
    assert hints["shop_remark"] == (False, True, False)
    assert hints["shop_set_status"] == (False, True, True)
    remark = tools["shop_remark"]
    assert remark.input_schema["required"] == ["id", "text"]
    assert remark.description == "Leave a remark on an order that is not sent yet."


async def test_only_the_tools_of_the_task_are_shown_and_taken() -> None:
    async with door() as d:
        d.trial.task = shopfloor.task("few", tools=("shop_list_orders",))
        d.trial._world = d.trial._fresh()
        assert [tool.name for tool in (await d.client.list_tools()).tools] == ["shop_list_orders"]
        assert (await d.call("shop_remark", REMARK)).is_error


@BOTH
async def test_a_call_answers_with_the_result_as_json_text(mode: Mode) -> None:
    async with door(mode) as d:
        result = await d.call("shop_remark", REMARK)
        assert not result.is_error
        assert json.loads(text_of(result))["remark"] == "hello"
        assert topics(await d.records())[2:] == ["called", "shop.remarked", "returned"]


@BOTH
async def test_a_refusal_is_a_result_that_says_error(mode: Mode) -> None:
    async with door(mode) as d:
        result = await d.call("shop_remark", {"id": "SO-2", "text": "x"})
        assert result.is_error
        assert text_of(result) == "order SO-2 is sent; nothing can be added"


@BOTH
async def test_a_domain_may_refuse_by_an_object_that_names_the_tool(mode: Mode) -> None:
    async with door(mode, shopfloor.objects) as d:
        result = await d.call("shop_remark", {"id": "SO-9", "text": "x"})
        assert not result.is_error
        told = {"error": "no order 'SO-9'; order ids look like 'SO-1'", "tool": "shop_remark"}
        assert json.loads(text_of(result)) == told
        assert isinstance(decoded((await d.records())[-1]), ToolRefused)


@pytest.mark.parametrize("text", ['{"id":"SO-9","text":"x"}', "no json"], ids=["over the protocol", "beside it"])
async def test_a_session_is_refused_in_the_same_form_whichever_way_the_call_went(text: str) -> None:
    async with session(shopfloor.objects) as (s, _):
        answer = await s.call("shop_remark", text)
    assert answer.refusal == ""
    assert json.loads(answer.text)["tool"] == "shop_remark"


@BOTH
async def test_an_unknown_tool_is_recorded_and_refused(mode: Mode) -> None:
    async with door(mode) as d:
        result = await d.call("shop_remrak", REMARK)
        assert result.is_error
        assert text_of(result) == "no tool 'shop_remrak'; did you mean 'shop_remark'?"
        assert [call.tool for call in await d.calls()] == ["shop_remrak"]


@BOTH
async def test_what_breaks_is_a_protocol_error_without_its_words(mode: Mode) -> None:
    async with door(mode) as d:
        with pytest.raises(MCPError) as told:
            await d.call("shop_break_down")
        assert "4711" not in str(told.value)
        assert "KeyError: 'cupboard key 4711' at shopfloor.py:" in str(d.trial.fault)
        with pytest.raises(MCPError):
            await d.call("shop_remark", REMARK)
        assert topics(await d.records()) == ["opened", "said"]


ODD_TEXTS = {
    "blanks kept": '{ "id" : "SO-1",\n"text" : "x" }',
    "no JSON": "please leave a remark",
    "empty": "",
    "no object": '["SO-1"]',
    "null": "null",
    "duplicate keys": '{"id":"SO-9","id":"SO-1","text":"x"}',
    "10 MB": json.dumps({"id": "SO-1", "text": "x" * 10_000_000}),
    "60 deep": '{"id":' + "[" * 60 + "]" * 60 + "}",
    "150 deep": '{"id":' + "[" * 150 + "]" * 150 + "}",
    "300 deep": '{"id":' + "[" * 300 + "]" * 300 + "}",
    "900 deep": '{"id":' + "[" * 900 + "]" * 900 + "}",
    "10,000 deep": '{"id":' + "[" * 10_000 + "]" * 10_000 + "}",
    "deep objects": '{"id":' * 500 + "1" + "}" * 500,
    "escaped lone surrogate": '{"id":"SO-1","text":"\\ud83d"}',
    "NUL": '{"id":"SO-1","text":"a\\u0000b"}',
    "raw NUL": '{"id":"SO-1","text":"a\x00b"}',
    "65 bits": '{"id":18446744073709551616}',
    "4,000 digits": '{"id":' + "9" * 4000 + "}",
    "5,000 digits": '{"id":' + "9" * 5000 + "}",
    "NaN": '{"id":NaN}',
    "infinity": '{"id":-Infinity}',
    "too large a number": '{"id":1e999}',
    "no end": '{"id":"SO-1"',
    "reserved names": '{"_meta":{},"name":"x","arguments":{},"jsonrpc":"1"}',
    "other alphabets": '{"id":"SO-1","text":"ünï – 木 🙂 \u2028"}',
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
async def test_the_text_of_arguments_is_recorded_as_it_was_written(text: str) -> None:
    async with session() as (s, trial):
        await s.call("shop_remark", text)
        assert trial.fault is None
        records = await trial.journal.read(trial.id)
    assert decoded(records[2]) == ToolCalled(1, "shop_remark", text)
    assert isinstance(decoded(records[-1]), ToolReturned | ToolRefused)


async def test_a_lone_surrogate_in_the_text_is_recorded_as_its_escape() -> None:
    async with session() as (s, trial):
        for text in ('{"id":"SO-1","text":"\ud83d"}', "\udcff"):
            await s.call("shop_remark", text, call_id="\ud800", key="\ud801" + text)
        await s.call("shop_\ud83d", "{}")
        assert trial.fault is None
        payloads = [decoded(record) for record in await trial.journal.read(trial.id)]
    calls = [payload for payload in payloads if isinstance(payload, ToolCalled)]
    assert [call.arguments for call in calls] == ['{"id":"SO-1","text":"\\ud83d"}', "\\udcff", "{}"]
    assert calls[0].call_id == "\\ud800"
    assert calls[2].tool == "shop_\\ud83d"


@pytest.mark.parametrize("name", ["", " ", "x" * 100_000, "a\x00b", "shop_remark ", "../x", "🙂", "tools/call"])
async def test_any_name_of_a_tool_is_refused_and_recorded(name: str) -> None:
    async with session() as (s, trial):
        assert (await s.call(name, "{}")).refusal
        assert trial.fault is None
        assert decoded((await trial.journal.read(trial.id))[2]) == ToolCalled(1, name, "{}")


MAPPINGS: dict[str, dict[str, Any]] = {
    "NaN": {"id": float("nan")},
    "huge": {"id": 10**30},
    "surrogate": {"id": "\ud83d"},
    "nested": {"id": {"a": [1, None, {"b": 2.0}]}},
}


@pytest.mark.parametrize("arguments", MAPPINGS.values(), ids=MAPPINGS)
async def test_a_mapping_that_no_json_holds_is_recorded_and_refused(arguments: dict[str, Any]) -> None:
    async with session() as (s, trial):
        assert (await s.call("shop_remark", arguments)).refusal
        assert trial.fault is None
        call = decoded((await trial.journal.read(trial.id))[2])
    assert call.arguments == json.dumps(arguments, separators=(",", ":"))


@BOTH
@pytest.mark.parametrize("arguments", [{"id": 2**64}, {"id": float("inf")}, None, {}], ids=repr)
async def test_a_foreign_client_may_send_any_arguments(mode: Mode, arguments: dict[str, Any] | None) -> None:
    async with door(mode) as d:
        assert (await d.call("shop_remark", arguments)).is_error
        assert d.trial.fault is None
        assert [call.tool for call in await d.calls()] == ["shop_remark"]


@pytest.mark.parametrize("call_id", ["", "call-1"], ids=["empty", "repeated"])
async def test_calls_with_one_call_id_are_two_calls(call_id: str) -> None:
    async with session() as (s, trial):
        first = await s.call("shop_place_order", {"customer": "C-1"}, call_id=call_id)
        second = await s.call("shop_place_order", {"customer": "C-1"}, call_id=call_id)
        records = await trial.journal.read(trial.id)
    assert first != second
    assert [decoded(call[0]).call_id for call in calls_of(records)] == [call_id] * 2


@BOTH
async def test_an_idempotency_key_beside_a_call_brings_the_recorded_answer(mode: Mode) -> None:
    async with door(mode) as d:
        asked = {KEY_META: "k-1", CALL_ID_META: "c-1"}
        results = [await d.call("shop_place_order", {"customer": "C"}, asked) for _ in range(2)]
        assert text_of(results[0]) == text_of(results[1])
        assert [(call.key, call.call_id) for call in await d.calls()] == [("k-1", "c-1")] * 2
        assert topics(await d.records()).count("shop.order-placed") == 1


@BOTH
async def test_the_raw_text_beside_a_call_is_what_is_recorded_and_read(mode: Mode) -> None:
    async with door(mode) as d:
        raw = '{ "id" : "SO-1","text":"r\\u0061w"}'
        result = await d.call("shop_remark", REMARK, {ARGUMENTS_META: raw})
        assert json.loads(text_of(result))["remark"] == "raw"
        assert [call.arguments for call in await d.calls()] == [raw]


@BOTH
@pytest.mark.parametrize("value", [7, 1.5, True, None, [], {"a": [1]}, [[["x"]]], 10**30], ids=repr)
async def test_a_note_of_a_wrong_type_beside_a_call_breaks_nothing(mode: Mode, value: Any) -> None:
    async with door(mode) as d:
        meta: Any = {ARGUMENTS_META: value, CALL_ID_META: value, KEY_META: value, "progressToken": 1}
        assert not (await d.call("shop_remark", REMARK, meta)).is_error
        [call] = await d.calls()
        noted = "" if value is None else json.dumps(value, separators=(",", ":"))
        assert (call.arguments, call.call_id, call.key) == ('{"id":"SO-1","text":"hello"}', noted, noted)


async def test_calls_that_a_client_sends_at_once_are_all_made_one_by_one() -> None:
    async with door() as d:
        async with create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(d.call, "shop_place_order", {"customer": str(number)})
        calls = await d.calls()
        assert [call.number for call in calls] == list(range(1, 21))
        assert {json.loads(call.arguments)["customer"] for call in calls} == {str(number) for number in range(20)}


async def test_what_an_agent_says_is_recorded_whatever_it_is() -> None:
    async with session() as (s, trial):
        for text in ("", "half \ud83d", "NUL \x00", "x" * 1_000_000):
            await s.say(text)
        assert trial.fault is None
        said = [decoded(record) for record in (await trial.journal.read(trial.id))[2:]]
    assert said[:3] == [Said("assistant", ""), Said("assistant", "half \\ud83d"), Said("assistant", "NUL \x00")]


async def test_a_session_shows_task_instructions_and_tools() -> None:
    async with session() as (s, trial):
        assert s.task is trial.task
        assert [(tool.name, tool.is_read) for tool in s.tools][-2:] == [
            ("shop_list_orders", True),
            ("shop_break_down", True),
        ]


LOCALE_CHILD = """
import anyio, sys
from sandbox.records import decoded
from tests.sandbox.journals import opened, stored
from sandbox.mcp_session import connected

async def main():
    async with stored() as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            answer = await session.call("shop_remark", '{"id":"SO-1","text":"\\u00fc \\U0001f642"}')
        assert "\\u00fc \\U0001f642" in answer.text, ascii(answer.text)
        assert "\\U0001f642" in decoded((await journal.read(trial.id))[2]).arguments

assert sys.flags.utf8_mode == 0
anyio.run(main)
"""


def test_a_locale_without_unicode_changes_nothing() -> None:
    root = Path(__file__).resolve().parents[2]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    child = [sys.executable, "-W", "error", "-c", LOCALE_CHILD]
    done = subprocess.run(child, cwd=root, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


MARKER = "marker-5b1f"
MARKED = f"""
id: marked
instant: 2025-10-01T13:00:00Z
goal: Please leave a remark.
user: "{MARKER}"
expect:
  outcomes:
    - name: "{MARKER}"
      calls:
        - shop_remark: {{id: SO-1, text: "{MARKER}"}}
"""
RUNNING = (ModuleType, type, FrameType, CoroutineType, AsyncGeneratorType, GeneratorType, Context)
LOOP = (asyncio.AbstractEventLoop, asyncio.Future, asyncio.Task)


def reachable(start: object) -> list[object]:
    """All that an object leads to, short of modules, classes and what the interpreter and the event loop run."""
    seen: dict[int, object] = {}
    waiting = [start]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (*RUNNING, *LOOP)):
            continue
        seen[id(item)] = item
        if isinstance(item, FunctionType):
            waiting += [cell.cell_contents for cell in item.__closure__ or ()]
            waiting += [item.__defaults__, item.__kwdefaults__]
        else:
            waiting += gc.get_referents(item)
    return list(seen.values())


def kept_from_agents(found: list[object]) -> list[object]:
    """What of this is an expectation, a user's context, a part of the court, or holds the marker of one."""
    judged = [item for item in found if type(item).__module__.startswith(("judges", "replay"))]
    marked = [item for item in found if isinstance(item, str | bytes) and MARKER in str(item)]
    return [*judged, *marked, *[item for item in found if isinstance(item, UserContext)]]


class Looking:
    """An agent that looks at all it can reach."""

    name = "looking"
    found: list[object]

    async def attempt(self, session: Session, repetition: int) -> End:
        await session.call("shop_list_orders", "{}")
        self.found = [item for start in (session, tool_server(session._trial)) for item in reachable(start)]
        return "done"


async def test_nothing_that_serves_tools_leads_to_what_the_evaluator_and_the_user_know(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "marked.yaml").write_text(MARKED)
    tasks = tasks_in(shopfloor.domain, tmp_path / "tasks")
    agent = Looking()
    running = partial(run_judged, tmp_path / "c.db", shopfloor.domain, tasks, agent, 1, name="c")
    assert await to_thread.run_sync(running) == []
    assert any(item is tasks[0].task for item in agent.found)
    assert [item for item in agent.found if isinstance(item, Trial)]
    assert kept_from_agents(agent.found) == []
    assert len(kept_from_agents(reachable(tasks))) > 4


def test_the_walk_finds_what_is_hidden_in_a_closure() -> None:
    context = UserContext("marked", MARKER)

    def serve() -> str:
        return context.text

    assert kept_from_agents(reachable([{"x": serve}])) == [MARKER, context]
