"""Time, ids and order come from the task, never from the host: rows 20, 21 and 22."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import msgspec
import pytest
from freezegun import freeze_time

from domains.probe import domain, probe
from sandbox import Domain, Toolset
from sandbox.effects import effects_of
from sandbox.fold import fold
from sandbox.mcp_session import connected
from sandbox.projection import folded_effects
from sandbox.records import TrialKey
from sandbox.stream import Store
from sandbox.values import digest
from tests.hard_cases.stage import TASK, Played, ask, follow, journal_of, opened, played

ROOT = Path(__file__).parents[2]
SCRIPT = (
    ask("get_order", order_id="ORD-9"),
    ask("refund", order_id="ORD-9", amount=25, reason="damaged"),
    ask("add_note", order_id="ORD-9", text="One vase came in pieces."),
    ask("send_mail", customer_id="CUS-16", subject="Your refund", text="25.00 dollars are on their way."),
    ask("transfer", customer_id="CUS-16", department="billing", summary="Nothing else."),
    ask("bulk_update", order_ids=["ORD-1", "ORD-2", "ORD-3"], declared_amount="0"),
    ask("pop_next_ticket"),
    ask("move", ticket_id="TIC-10", queue="billing"),
    ask("find_customers", email="vera.vogel@post.example"),
    ask("list_tickets", queue="general"),
    ask("refund", order_id="ORD-404", amount=1),
    ask("delete_everything_v2"),
)
OTHER_KEYS = [TrialKey(campaign, TASK.id, *place) for campaign, *place in (("c", 0, 1), ("d", 1, 1), ("d", 0, 3))]
DAYS = ["2023-05-19 09:00:00", "1999-12-31 23:59:59", "2041-06-01 12:00:00"]


async def played_at(host_time: str) -> Played:
    with freeze_time(host_time, real_asyncio=True):
        assert datetime.now(UTC).year == int(host_time[:4])
        return await played(*SCRIPT)


@pytest.mark.anyio
@pytest.mark.parametrize("host_time", DAYS)
async def test_row_20_the_same_script_on_another_day_of_the_host_gives_the_same_stream(host_time: str) -> None:
    now, then = await played(*SCRIPT), await played_at(host_time)
    assert then.bodies == now.bodies
    assert then.end.effects == now.end.effects


@pytest.mark.anyio
@pytest.mark.parametrize("host_time", DAYS)
async def test_row_20_a_recorded_trial_folds_to_the_same_state_on_another_day(host_time: str) -> None:
    trial = await played(*SCRIPT)
    with freeze_time(host_time, real_asyncio=True):
        assert folded_effects(domain, domain.snapshot, trial.records) == trial.effects


@pytest.mark.anyio
async def test_row_20_a_fold_needs_no_tool() -> None:
    without_tools = Toolset("probe")
    without_tools.tables, without_tools.handlers = probe.tables, probe.handlers
    bare = Domain("probe", without_tools, package="domains.probe")
    trial = await played(*SCRIPT)
    assert not bare.tools
    assert effects_of(bare.snapshot, fold(bare, bare.snapshot, trial.records)) == trial.effects


async def agent_texts() -> list[str]:
    """All that an agent gets to read in a trial of the script."""
    async with journal_of(Store.in_memory()) as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            answers = await follow(session, SCRIPT)
    tools = [f"{tool.name} {tool.description} {msgspec.json.encode(tool.schema).decode()}" for tool in session.tools]
    return [TASK.goal, session.instructions, *tools, *(answer.text for answer in answers)]


@pytest.mark.anyio
async def test_row_21_an_agent_reads_no_year_but_the_worlds() -> None:
    with freeze_time("2041-06-01 12:00:00", real_asyncio=True):
        texts = await agent_texts()
    assert len(texts) == 2 + len(domain.tools) + len(SCRIPT)
    assert [text for text in texts if "2023-05-18" in text]
    assert not [text for text in texts if "2041" in text or "2040" in text or "2042" in text]


@pytest.mark.anyio
async def test_row_21_every_tool_writes_the_date_of_the_world() -> None:
    trial = await played_at("2041-06-01 12:00:00")
    rows = {effect.table: effect.row or {} for effect in trial.effects if effect.op == "inserted"}
    assert rows["probe_refunds"]["day"] == "2023-05-18"
    assert rows["probe_notes"]["written"] == "2023-05-18T09:00:03Z"
    assert rows["probe_outbox"]["sent"] == "2023-05-18T09:00:05Z"
    assert {record.time[:10] for record in trial.records} == {"2023-05-18"}


def fingerprint() -> str:
    """Digest of all that a trial of the script puts down."""
    return digest(msgspec.msgpack.encode(anyio.run(_bodies))).hex()


async def _bodies() -> object:
    return (await played(*SCRIPT)).bodies


def fingerprint_of_another_process(hash_seed: str) -> str:
    code = "from tests.hard_cases.test_clock_and_ids import fingerprint; print(fingerprint())"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Pacific/Apia", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def test_row_22_processes_with_other_hash_seeds_put_down_the_same_bytes() -> None:
    assert fingerprint_of_another_process("1") == fingerprint_of_another_process("4242") == fingerprint()


@pytest.mark.anyio
async def test_row_22_ids_of_new_rows_do_not_depend_on_campaign_repetition_or_attempt() -> None:
    store = Store.in_memory()
    states = []
    async with journal_of(store) as journal:
        for key in OTHER_KEYS:
            trial = await opened(journal, key=key)
            async with connected(trial) as session:
                await follow(session, SCRIPT)
            states.append((await trial.end("done")).effects)
    assert states == [(await played(*SCRIPT)).effects] * len(OTHER_KEYS)
