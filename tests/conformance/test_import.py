"""The recorded tasks, written out as a checkout, imported and run, are the same tasks."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from domains.importers.thinkingbox import START
from judges.packs import Pack, open_pack
from judges.verdict import Evidence, JudgeBundle, bundle_of, judged
from sandbox import Refused, Request, World
from sandbox.archive import Archive, CampaignDiffers
from sandbox.registry import domain_named
from sandbox.stream import Store
from sandbox.task import Task, snapshot_of
from tests.conformance.records import ABSENT, BENCH, Records, Step
from tests.domains.checkout import SCENARIOS, scenario_of, seed_of, tasks_of, write_checkout
from trialbox import main

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason=ABSENT)


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packs of all five companies, by the command."""
    folder = tmp_path_factory.mktemp("import")
    checkout = write_checkout(folder / "checkout", SCENARIOS)
    assert main(["import", "thinkingbox", str(checkout), "-o", str(folder / "packs")]) == 0
    return folder / "packs"


@pytest.fixture(scope="module")
def retail(packs: Path) -> Pack:
    return open_pack(packs / "retail")


def test_every_retail_task_comes_back_as_it_was(retail: Pack) -> None:
    recorded = tasks_of("retail")
    assert [item.task.id for item in retail.tasks] == [task["uid"] for task in recorded]
    scenario = scenario_of("retail")
    for item, task in zip(retail.tasks, recorded, strict=True):
        assert (item.task.goal, item.user.text) == (task["query"], task["user_context"])
        assert (item.task.patch, item.task.instant) == (task["data_patch"], START)
        assert list(item.task.tools) == scenario["tools"]
        [outcome] = item.expectation.outcomes
        calls = [{"tool": call.tool, "parameters": call.arguments} for call in outcome.calls]
        assert calls == task["golden"]
        assert (item.expectation.profile, item.expectation.no_change) == ("thinkingbox", False)


def test_rows_documents_instructions_and_licence_come_back_as_they_were(packs: Path, retail: Pack) -> None:
    scenario = scenario_of("retail")
    for table, rows in seed_of("retail").items():
        assert json.loads((packs / "retail" / "seed" / f"{table}.json").read_text(encoding="utf-8")) == rows
    documents = retail.domain.seed.tables["knowledge_policies"].values()
    texts = [{"name": row.name, "text": row.text} for row in documents]  # type: ignore[attr-defined]
    assert texts == [{"name": one["name"], "text": one["snippets"][0]} for one in scenario["sources"]]
    assert retail.domain.instructions == scenario["bot_instructions"]
    assert retail.licence == (BENCH / "LICENSE.txt").read_text(encoding="utf-8")
    assert retail.evaluation_only


@pytest.mark.parametrize("business", SCENARIOS)
def test_every_company_gets_a_pack_with_all_its_tasks(packs: Path, business: str) -> None:
    lines = (packs / business / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = {task["uid"]: task for task in tasks_of(business)}
    imported = {task["id"]: task for task in map(json.loads, lines)}
    assert set(imported) == set(recorded)
    for uid, task in imported.items():
        assert task["expect"].get("rubrics") == recorded[uid]["rubrics_yesno"]
        assert task.get("patch", {}) == recorded[uid]["data_patch"]


def test_the_oracle_passes_every_task_and_the_store_is_read_without_the_pack(
    packs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack, store = Path(shutil.copytree(packs / "retail", tmp_path / "retail")), tmp_path / "retail.db"
    assert main(["run", "--pack", str(pack), "--agent", "oracle", "-k", "1", "-o", str(store)]) == 0
    shutil.rmtree(pack)
    told = capsys.readouterr()
    assert "pack thinkingbox-retail is for evaluation only" in told.err
    assert "68 of 68 tasks" in told.out
    assert main(["rebuild", str(store)]) == 0
    assert main(["stats", str(store)]) == 0
    assert main(["explain", str(store), f"{tasks_of('retail')[0]['uid']}/0", "--all"]) == 0
    told = capsys.readouterr()
    assert "68 of 68" in told.out
    assert "verdict: pass" in told.out
    with Store.open(store, read_only=True) as kept:
        with pytest.raises(CampaignDiffers, match=r"of domain 'retail' \(public\), not 'retail' \(own\)"):
            Archive(kept, domain_named("retail"))
        [name] = kept.names("pack")
        about: dict[str, Any] = json.loads(kept.kept("pack", name) or b"")
    assert (about["evaluation_only"], about["licence"]) == (True, (BENCH / "LICENSE.txt").read_text(encoding="utf-8"))


def test_the_verdict_on_every_recorded_mistake_is_the_recorded_one(retail: Pack) -> None:
    tasks = {item.task.id: item for item in retail.tasks}
    bundles = {name: bundle_of(retail.domain, item.task, item.expectation) for name, item in tasks.items()}
    wrong = []
    results = set()
    for trajectory in Records("retail").trajectories("perturbed"):
        found = verdict_on(bundles[trajectory.task], retail, tasks[trajectory.task].task, trajectory.steps)
        results.add(found)
        if (found == "pass") != trajectory.equal:
            wrong.append(trajectory.name)
    assert wrong == []
    assert results == {"pass", "fail"}


def verdict_on(bundle: JudgeBundle, pack: Pack, task: Task, steps: list[Step]) -> str:
    """What a task's judges say of these calls."""
    world = World(pack.domain, snapshot_of(pack.domain, task), task.instant)
    for step in steps:
        with suppress(Refused):
            world.ask(Request(step.tool, json.dumps(step.arguments)))
    return judged(bundle, Evidence(world.effects)).result
