"""Agents on trial in somebody's own suite: what pytest prints, keeps, loads and leaves alone."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from judges.campaigns import scores_of
from tests.judges.modelled import home, right, variables
from tests.stub import Asked, Outcome, failing, serving
from trialbox import main

ROOT = Path(__file__).resolve().parent.parent
CALL = "trialbox.run('retail', 'stuck-warranty', agent={agent}, k={k})"

Run = Callable[..., pytest.RunResult]


def one_test(*lines: str, before: str = "") -> str:
    """A suite of one test."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{before}\n\ndef test_it(trialbox):\n{body}"


def tried(agent: str, k: int, ask: str = "must_pass()", before: str = "") -> str:
    """A suite that tries one retail task."""
    return one_test(f"{CALL.format(agent=agent, k=k)}.{ask}", before=before)


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Runs a suite in this process, as strictly as ours is run."""

    def ran(suite: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=suite)
        return pytester.runpytest("-p", "no:cacheprovider", "--strict-markers", "-W", "error", *options)

    return ran


def printed(result: pytest.RunResult) -> str:
    """Standard output."""
    return "\n".join(result.outlines)


def block(result: pytest.RunResult) -> list[str]:
    """What stands between the first failed test's header and the next one."""
    start = next(place for place, line in enumerate(result.outlines) if line.startswith("__")) + 1
    end = next(
        place for place in range(start, len(result.outlines)) if result.outlines[place][:2] in ("__", "==", "--")
    )
    return result.outlines[start:end]


def test_the_oracle_passes_and_the_summary_has_a_line_of_it(run: Run, pytester: pytest.Pytester) -> None:
    result = run(tried("'oracle'", 2))
    result.assert_outcomes(passed=1)
    head, line = result.outlines[-3:-1]
    assert head.split() == ["task", "agent", "passed", "store"]
    assert line.split()[:5] == ["stuck-warranty", "oracle", "2", "of", "2"]
    [score] = scores_of(pytester.path / line.split()[-1])
    assert (score.trials, score.passed) == (2, 2)


def test_a_failing_agent_is_told_by_the_record_and_the_event_and_without_a_traceback(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tried("'careless'", 3))
    result.assert_outcomes(failed=1)
    first, _, how_often, wrong, command, *_ = block(result)
    assert first == "stuck-warranty: careless passed 1 of 3, required: every one"
    assert how_often == "in 1 of 3, repetition 0:"
    assert wrong.startswith(
        "  wrong: shop_warranty_claims WCL-20000004 · contract_id: required WAR-2016, found WAR-2017"
    )
    assert "written by event 20 (shop.claim-filed.1), call 19 file_warranty_claim" in wrong
    assert "Traceback" not in printed(result)
    assert "def test_it" not in printed(result)
    assert main(command.split()[1:]) == 0
    assert wrong in capsys.readouterr().out


def test_repetitions_that_left_the_same_are_told_together_and_most_first(run: Run) -> None:
    told = [line for line in block(run(tried("'careless'", 20))) if line.startswith("in ")]
    assert told[:2] == ["in 3 of 20, repetitions 6, 11, 17:", "in 2 of 20, repetitions 0, 19:"]
    assert sum(int(line.split()[1]) for line in told) == 14


@pytest.mark.parametrize(
    ("ask", "options", "outcome", "told"),
    [
        ("must_pass(at_least=1)", [], "passed", ""),
        ("must_pass(at_least=2)", [], "failed", "passed 1 of 3, required: at least 2"),
        ("must_pass(rule='pass^2 >= 0.5')", [], "failed", "required: pass^2 >= 0.5, found 0.0000 (every one of 2"),
        ("must_pass(rule='pass@1 > 0.3')", [], "passed", ""),
        (
            "must_pass(at_least=2)",
            ["--trialbox-k", "6"],
            "failed",
            "passed 2 of 6, required: at least 4 (2 of 3 in the",
        ),
        (
            "must_pass(rule='pass^2 > 0')",
            ["--trialbox-k", "1", "-rs"],
            "skipped",
            "needs 2 repetitions, and --trialbox-k",
        ),
    ],
)
def test_what_is_required_can_be_said_and_keeps_its_share_where_k_is_overridden(
    run: Run, ask: str, options: list[str], outcome: str, told: str
) -> None:
    result = run(tried("'careless'", 3, ask), *options)
    result.assert_outcomes(**{outcome: 1})
    assert told in printed(result)


def test_the_whole_suite_can_be_tried_with_another_agent(run: Run) -> None:
    run(tried("'careless'", 3)).assert_outcomes(failed=1)
    run(tried("'careless'", 3), "--trialbox-agent", "oracle").assert_outcomes(passed=1)


def stores(folder: Path) -> list[str]:
    """The stores anywhere in a folder."""
    found = (path for path in folder.rglob("*.db") if not path.name.endswith(".views.db"))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def test_stores_are_kept_where_it_is_said_and_no_run_goes_on_with_those_of_another(
    run: Run, pytester: pytest.Pytester
) -> None:
    suite = one_test(*[CALL.format(agent=agent, k=1) for agent in ("'null'", "'null'")])
    for _ in range(2):
        run(suite, "--trialbox-store", "kept").assert_outcomes(passed=1)
    names = ("stuck-warranty-null-2.db", "stuck-warranty-null.db")
    folders = ("test_it.py-test_it", "test_it.py-test_it-2")
    assert stores(pytester.path / "kept") == sorted(f"{folder}/{name}" for folder in folders for name in names)


def test_two_processes_that_keep_stores_in_one_place_do_not_meet(run: Run, pytester: pytest.Pytester) -> None:
    suite = tried("'oracle'", 2)
    pytester.makepyfile(test_it=suite)
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(alone, pytester.path, "--trialbox-store", "kept")
        run(suite, "--trialbox-store", "kept").assert_outcomes(passed=1)
    assert other.result().returncode == 0, other.result()
    assert len(stores(pytester.path / "kept")) == 2


OWN = """
import asyncio
from domains.retail import domain
from judges.court import plans_of
from judges.pack import tasks_of

class Clerk:
    name = "clerk"
    is_open = False

    async def __aenter__(self):
        self.is_open = True

    async def __aexit__(self, *error):
        self.is_open = False

    async def attempt(self, session, repetition):
        await session.say("All done!" if self.is_open else "I cannot be reached.")
        return "done" if self.is_open else "agent_error"

async def talker(session):
    await session.say("All done!")

async def broken(session):
    raise RuntimeError("no line to the model")

class Leaving:
    name = "leaving"

    def __init__(self, error):
        self.error = error

    async def attempt(self, session, repetition):
        if repetition == 1:
            raise self.error
        for call in plans_of(tasks_of(domain))[session.task.id]:
            await session.call(call.tool, call.arguments)
        return "done"

async def hanging(session):
    await asyncio.Event().wait()

async def stubborn(session):
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("how dare you") from None

class Sometimes:
    name = "sometimes"

    async def attempt(self, session, repetition):
        if repetition == 1:
            raise RuntimeError("no line to the model")
        for call in plans_of(tasks_of(domain))[session.task.id]:
            await session.call(call.tool, call.arguments)
        return "done"
"""


@pytest.mark.parametrize("agent", ["Clerk()", "talker"])
def test_an_agent_of_ones_own_is_an_object_or_an_async_function(run: Run, agent: str) -> None:
    result = run(tried(agent, 2, before=OWN))
    result.assert_outcomes(failed=1)
    name = agent.lower().removesuffix("()")
    assert block(result)[:3] == [
        f"stuck-warranty: {name} passed 0 of 2, required: every one",
        "",
        "in 2 of 2, repetitions 0, 1:",
    ]


def test_what_breaks_is_never_the_agents_failure_and_is_told_with_its_traceback(run: Run) -> None:
    result = run(tried("broken", 2, before=OWN))
    result.assert_outcomes(failed=1)
    first, _, second, third, *_ = block(result)
    assert first.startswith(
        "stuck-warranty: undecided, which is no failure of broken: passed 0 of 2, 2 without a verdict"
    )
    assert second == "no verdict on 2 of 2, which counts neither way:"
    assert third == "  repetition 0, attempt 3, trial: RuntimeError: no line to the model"
    assert printed(result).count("Traceback") == 1
    assert 'raise RuntimeError("no line to the model")' in printed(result)
    assert "0 of 2, 2 without a verdict" in printed(result).rpartition("= trialbox =")[2]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("asyncio.CancelledError()", "CancelledError: raised in the code itself, nobody had cancelled the trial"),
        ("SystemExit(3)", "SystemExit: 3"),
        ("KeyboardInterrupt()", "KeyboardInterrupt: KeyboardInterrupt"),
        ("GeneratorExit()", "GeneratorExit: GeneratorExit"),
    ],
)
def test_whatever_an_agent_raises_the_other_repetitions_keep_their_verdicts(run: Run, error: str, told: str) -> None:
    suite = tried(f"Leaving({error})", 3, before=OWN)
    result = run(suite)
    result.assert_outcomes(failed=1)
    assert "no failure of leaving: passed 2 of 3, 1 without a verdict" in block(result)[0]
    assert f"  repetition 1, attempt 3, trial: {told}" in printed(result)
    assert "2 of 3, 1 without a verdict" in printed(result).rpartition("= trialbox =")[2]


@pytest.mark.parametrize("agent", ["hanging", "stubborn"])
def test_an_agent_that_hangs_is_ended_at_its_limit_and_that_counts(run: Run, agent: str) -> None:
    call = f"trialbox.run('retail', 'stuck-warranty', agent={agent}, k=2, trial_s=0.05)"
    result = run(one_test(f"{call}.must_pass()", before=OWN))
    result.assert_outcomes(failed=1)
    assert block(result)[0] == f"stuck-warranty: {agent} passed 0 of 2, required: every one"
    assert "  ended: deadline (the agent had not ended after 0.05 s)" in printed(result)


@pytest.mark.parametrize("seconds", ["0", "-1", "float('nan')", "float('inf')"])
def test_a_limit_that_is_no_time_is_told_in_a_line(run: Run, seconds: str) -> None:
    result = run(one_test(f"trialbox.run('retail', 'stuck-warranty', agent='oracle', trial_s={seconds})"))
    result.assert_outcomes(failed=1)
    assert "give the seconds that an attempt may take, above 0" in printed(result)


def test_a_repetition_without_a_verdict_leaves_open_only_what_depends_on_it(run: Run) -> None:
    enough = run(tried("Sometimes()", 3, "must_pass(at_least=2)", before=OWN))
    enough.assert_outcomes(passed=1)
    assert "2 of 3, 1 without a verdict" in enough.outlines[-2]
    told = block(run(tried("Sometimes()", 3, before=OWN)))[0]
    assert told.startswith("stuck-warranty: undecided, which is no failure of sometimes: passed 2 of 3, 1 without a")


def test_a_verdict_that_cannot_be_given_is_told_as_such(run: Run, pytester: pytest.Pytester) -> None:
    home(pytester.path)
    result = run(one_test("trialbox.run('pack', 'late-espresso', agent='oracle', k=1).must_pass()"))
    result.assert_outcomes(failed=1)
    assert "undecided, which is no failure of oracle" in block(result)[0]
    assert (
        "repetition 0, judge: ungradeable: rubric Did the agent say that all is done?: nobody answered it"
        in printed(result)
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("run('retial', 't', agent='oracle')", "no domain 'retial'; did you mean 'retail'?"),
        ("run('packs/shop', 't', agent='oracle')", "no pack 'packs/shop' in "),
        (
            "run('retail', 'stuck-waranty', agent='oracle')",
            "no task 'stuck-waranty' in retail; did you mean 'stuck-warranty'",
        ),
        ("run('retail', 'stuck-warranty', agent='orcale')", "no agent 'orcale', and no such file in "),
        ("run('retail', 'stuck-warranty', agent='orcale')", "did you mean 'oracle'?"),
        ("run('retail', 'stuck-warranty', agent='agent.yaml')", "did you mean 'agent'?"),
        ("run('retail', 'stuck-warranty', agent=print)", "print is no agent; give an object with a `name` and"),
        ("run('retail', 'stuck-warranty', agent='null', k=0)", "1 tasks × 0 repetitions; nothing would run"),
        ("run('retail', 'stuck-warranty', agent='null', concurrency=0)", "concurrency=0; give the number of trials"),
        ("run('retail', 'stuck-warranty', agent='null', k=1).must_pass(at_least=2)", "give a number from 1 to 1"),
        (
            "run('retail', 'stuck-warranty', agent='null', k=1).must_pass(rule='pass')",
            "rule 'pass' is not understood; write",
        ),
        (
            "run('retail', 'stuck-warranty', agent='null', k=1).must_pass(rule='pass^2 > 0')",
            "needs 2 repetitions, there are 1",
        ),
        (
            "run('retail', 'stuck-warranty', agent='null', k=1).must_pass(rule='regression p < 0.1')",
            "compares two campaigns",
        ),
    ],
)
def test_a_wrong_name_or_number_is_told_in_one_line(run: Run, pytester: pytest.Pytester, call: str, told: str) -> None:
    (pytester.path / "agent.yaml").write_text("agnt: {scripted: oracle}\n", encoding="utf-8")
    result = run(one_test(f"trialbox.{call}"))
    result.assert_outcomes(failed=1)
    [line] = block(result)
    assert line.startswith("trialbox: ")
    assert told in line


@pytest.mark.parametrize("k", ["0", "ten", "10001"])
def test_a_k_that_is_no_count_is_a_usage_error(run: Run, k: str) -> None:
    result = run(tried("'oracle'", 2), "--trialbox-k", k)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "is no whole number from 1 to 10,000" in "\n".join(result.errlines)


def test_every_task_of_a_pack_can_be_a_test(run: Run) -> None:
    suite = """
        import pytest
        from pytest_trialbox import task_names

        @pytest.mark.parametrize("task", task_names("{}"))
        def test_task(trialbox, task):
            trialbox.run("retail", task, agent="oracle", k=1).must_pass()
    """
    run(suite.format("retail"), "-k", "late-espresso or lost-grinder").assert_outcomes(passed=2, deselected=11)
    result = run(suite.format("retial"))
    result.assert_outcomes(errors=1)
    assert block(result) == ["trialbox: no domain 'retial'; did you mean 'retail'? List them with: trialbox domains"]


def test_trials_can_be_left_out_of_a_quick_run(run: Run) -> None:
    suite = tried("'null'", 1) + "\n\ndef test_quick():\n    pass\n"
    run(suite, "-m", "not trialbox").assert_outcomes(passed=1, deselected=1)


def test_a_test_that_runs_in_an_event_loop_can_try_agents(run: Run) -> None:
    suite = f"""
        import pytest

        @pytest.mark.anyio
        async def test_it(trialbox):
            {CALL.format(agent="'oracle'", k=2)}.must_pass()

        @pytest.fixture
        def anyio_backend():
            return "asyncio"
    """
    run(suite).assert_outcomes(passed=1)


async def run_at(script: Callable[[Asked], Outcome], run: Run, folder: Path) -> pytest.RunResult:
    """A suite of one test that tries a configured agent twice, at a stub."""
    home(folder)
    suite = one_test("trialbox.run('pack', 'late-espresso', agent='agent.yaml', k=2).must_pass()")
    with pytest.MonkeyPatch.context() as patch, anyio.fail_after(60):
        async with serving(script) as stub:
            for name, value in variables(stub.url).items():
                patch.setenv(name, value)
            return await to_thread.run_sync(run, suite)


@pytest.mark.anyio
async def test_a_configured_agent_is_tried_and_its_cost_is_told(run: Run, pytester: pytest.Pytester) -> None:
    result = await run_at(right, run, pytester.path)
    result.assert_outcomes(passed=1)
    head, line = result.outlines[-3:-1]
    assert head.split() == ["task", "agent", "passed", "cost", "store"]
    assert line.split()[:6] == ["late-espresso", "clerk", "2", "of", "2", "≥"]


@pytest.mark.anyio
async def test_an_endpoint_that_is_out_of_order_is_no_failure_of_the_agent(run: Run, pytester: pytest.Pytester) -> None:
    result = await run_at(lambda asked: failing(500), run, pytester.path)
    result.assert_outcomes(failed=1)
    assert "undecided, which is no failure of clerk" in block(result)[0]
    assert "repetition 0, attempt 3, agent: server: " in printed(result)


LOADED = """
import sys

def pytest_unconfigure(config):
    ours = ("sandbox", "judges", "domains", "replay", "trialbox", "msgspec", "sqlalchemy", "openai")
    print("loaded:", [name for name in ours if name in sys.modules])
"""


def alone(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A suite in a process of its own, whose folder comes first on the import path."""
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_suite_that_tries_nobody_loads_prints_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(LOADED, encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    result = alone(tmp_path)
    without = alone(tmp_path, "-p", "no:trialbox")
    assert "loaded: []" in result.stdout
    assert [line.split(" in ")[0] for line in result.stdout.splitlines()] == [
        line.split(" in ")[0] for line in without.stdout.splitlines()
    ]
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"conftest.py", "test_it.py"}


def test_a_suite_may_have_a_package_that_is_named_like_one_of_ours_until_it_tries_agents(tmp_path: Path) -> None:
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "__init__.py").write_text("MINE = True\n", encoding="utf-8")
    quiet = "from judges import MINE\n\ndef test_mine():\n    assert MINE\n"
    (tmp_path / "test_it.py").write_text(quiet, encoding="utf-8")
    assert alone(tmp_path).returncode == 0
    (tmp_path / "test_it.py").write_text(quiet + "\n" + tried("'oracle'", 1), encoding="utf-8")
    result = alone(tmp_path)
    assert "trialbox: package 'judges' was imported from" in result.stdout
    assert "Traceback" not in result.stdout
    (tmp_path / "test_it.py").write_text(f"{quiet}\nfrom pytest_trialbox import task_names\ntask_names('retail')\n")
    assert "\ntrialbox: package 'judges' was imported from" in alone(tmp_path).stdout
