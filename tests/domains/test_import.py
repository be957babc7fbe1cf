"""Importing a checkout of the public benchmark: what is taken over, what is left out, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from domains.importers.checkout import BUSINESSES, RELEASE
from domains.importers.thinkingbox import merged, read_checkout
from judges.importing import checked, written_to
from judges.packs import open_pack
from sandbox import Imported, ImportFault, UserFault
from tests.domains.checkout import put, write_business
from trialbox import main

SCENARIO = "sandbox_external_retail"
FILE = f"{SCENARIO}_group1.py"
TEST = f"dataset/test_case/{SCENARIO}/{FILE}"
ABOUT = f"dataset/scenario/{SCENARIO}.yaml"
SEED = "servers/company/company/toolslib/external_retail_toolset"
USER = {
    "id": "10",
    "name": "Ida Lund",
    "email": "ida.lund@example.org",
    "role": "end-user",
    "created_at": "2025-01-01T00:00:00Z",
    "updated_at": "2025-01-01T00:00:00Z",
}
MADE = {"tool": "zendesk_create_item", "parameters": {"table": "users", "item": {"name": "Bo", "email": "bo@b.org"}}}


def task(name: str, **changed: Any) -> dict[str, Any]:
    """A case as `write_business` wants it."""
    return {
        "file": FILE,
        "name": name,
        "query": "Please add my colleague Bo.",
        "user_context": "You are Ida.",
        "data_patch": {"zendesk_users": [USER]},
        "golden": [MADE],
        "rubrics": None,
        "rubrics_yesno": None,
        "validators": ["validate_database"],
        **changed,
    }


CONTENT: dict[str, Any] = {
    "sources": [{"name": "Users.md", "snippets": ["## Users\n", "Ask first."]}],
    "world_state_other": {"data_patch": None, "golden_test_case": None, "rubrics": None},
    "tools": ["zendesk_create_item", "zendesk_get_items"],
    "bot_instructions": "Be kind.",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout with two cases of one scenario, one of them released."""
    home = tmp_path / "checkout"
    put(home / "LICENSE.txt", "Use it well.\n")
    put(home / RELEASE, yaml.safe_dump([f"{FILE}:test_one"]))
    write_business(home, SCENARIO, CONTENT, [task("test_one"), task("test_twin")], {})
    for toolset in BUSINESSES[SCENARIO].toolsets:
        (home / "servers/company/company/toolslib" / toolset / "initial_data").mkdir(parents=True)
    put(home / SEED / "promo/initial_data/active_promotions.json", "[]")
    return home


def change(checkout: Path, file: str, old: str, new: str) -> None:
    text = (checkout / file).read_text(encoding="utf-8")
    assert old in text
    put(checkout / file, text.replace(old, new, 1))


def reasons(imported: Imported) -> dict[str, str]:
    return {item.task: item.reason for item in imported.left_out}


def test_a_released_case_is_taken_over_and_another_is_left_out(checkout: Path, tmp_path: Path) -> None:
    imported = read_checkout(checkout)
    assert reasons(imported) == {f"{FILE}:test_twin": "it is not in the release's list"}
    [path] = written_to(tmp_path / "packs", [checked(pack).pack for pack in imported.packs])
    pack = open_pack(path)
    [item] = pack.tasks
    assert (item.task.id, item.task.goal, item.user.text) == (
        f"{FILE}:test_one",
        "Please add my colleague Bo.",
        "You are Ida.",
    )
    assert (pack.licence, pack.evaluation_only, pack.domain.instructions) == ("Use it well.\n", True, "Be kind.")
    assert item.task.tools == ("zendesk_create_item", "zendesk_get_items")


def test_snippets_are_documents_in_their_order(checkout: Path) -> None:
    [pack] = read_checkout(checkout).packs
    assert [(item.name, item.text) for item in pack.documents] == [
        ("Users.md", "## Users\n"),
        ("Users.md (2)", "Ask first."),
    ]


def test_golden_calls_that_change_nothing_are_marked(checkout: Path) -> None:
    change(checkout, TEST, "tool: zendesk_create_item", "tool: zendesk_get_items")
    change(checkout, TEST, "item:\n            name: Bo\n            email: bo@b.org", "$top: 1")
    found = checked(read_checkout(checkout).packs[0])
    assert (found.no_change, found.left_out, found.unchecked) == ((f"{FILE}:test_one",), (), "")
    assert found.pack.tasks[0]["expect"]["no_change"] is True


def test_golden_calls_that_are_refused_leave_the_task_out(checkout: Path) -> None:
    change(checkout, TEST, "table: users", "table: usrs")
    found = checked(read_checkout(checkout).packs[0])
    assert found.pack.tasks == ()
    assert "call 1 zendesk_create_item is refused" in found.left_out[0].reason


def test_a_pack_for_a_domain_that_is_not_installed_is_written_unchecked(checkout: Path) -> None:
    [pack] = read_checkout(checkout).packs
    elsewhere = checked(type(pack)(**{**{f: getattr(pack, f) for f in pack.__struct_fields__}, "domain": "bakery"}))
    assert elsewhere.unchecked.startswith("domain not installed: no public mount of a domain 'bakery'")
    assert len(elsewhere.pack.tasks) == 1


CALL = "    validate_database(x)\n"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (CALL, "    assert x.response\n    validate_database(x)\n", "its body has assertions of its own (line "),
        (CALL, "    validate_database(judge)\n", "its body has assertions of its own (line "),
        (CALL, "    pass\n", "its body does not check the database"),
        (CALL, f"{CALL}    validate_rubrics_yesno(x, judge)\n", "its body asks yes/no questions, but it has none"),
        ("query:", "history: a:0:1\nquery:", "a task has no place for its history"),
        ("query:", "max_user_sim_turns: 3\nquery:", "a task has no place for its max_user_sim_turns, which is not 10"),
        ("query:", "metadata: {}\nquery:", "its settings have an unknown key 'metadata'"),
        ("query: Please add my colleague Bo.", "query: 5", "its query is no text"),
        ("query: Please add my colleague Bo.", "query: ''", "it has no query"),
        ("    rubrics: null", "    rubrics: [be kind]", "its rubrics are no questions to be answered yes or no"),
        ("    rubrics: null", "    orders: [1]", "a task has no place for 'orders' in its init"),
        ("tool_interactions:", "interactions:", "it has no golden calls, or more than these"),
        ("- tool: zendesk_create_item", "- tol: zendesk_create_item", "a golden call is more or less than tool and"),
        ("zendesk_users:\n      - id:", "zendesk_users:\n        id:", "its data_patch of zendesk_users is no list of"),
        ("scenario: sandbox_external_retail", "scenario: banking", "nothing is known of the tables of scenario 'bank"),
        (f"  {SCENARIO}:\n", "  elsewhere:\n", "it starts a further server 'elsewhere'"),
    ],
)
def test_what_no_task_can_say_is_left_out_with_the_reason(checkout: Path, old: str, new: str, reason: str) -> None:
    change(checkout, TEST, old, new)
    imported = read_checkout(checkout)
    assert imported.packs == ()
    assert reason in reasons(imported)[f"{FILE}:test_one"]


def test_a_scenario_that_changes_tools_leaves_its_tasks_out(checkout: Path) -> None:
    change(checkout, ABOUT, "- name: zendesk_get_items", "- name: zendesk_get_items\n  is_end_turn: true")
    reason = reasons(read_checkout(checkout))[f"{FILE}:test_one"]
    assert reason == "its scenario changes how tools are shown or end a turn: zendesk_get_items"


def test_a_seed_file_that_holds_no_list_gives_no_rows(checkout: Path) -> None:
    put(checkout / SEED / "promo/initial_data/discount_applications.json", '{"articles": []}')
    [pack] = read_checkout(checkout).packs
    assert pack.seed == {"external_retail_toolset_promo_models_active_promotions": []}


def bomb() -> str:
    lines = ["l0: &l0 x", *(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10))]
    return "\n".join(lines)


SHARED = f"scenario: {SCENARIO}\nmax_user_sim_turns: 10"
Harm = Callable[[Path], object]
HARMS: list[tuple[str, Harm, str]] = [
    ("no folder", lambda c: c.rename(c.with_name("moved")), "there is no folder"),
    ("no licence", lambda c: (c / "LICENSE.txt").unlink(), "LICENSE.txt is not there"),
    ("no list", lambda c: (c / RELEASE).unlink(), "testlist_thinkingbox_bench_v1.yaml is not there"),
    ("no tests", lambda c: (c / "dataset/test_case").rename(c / "tests"), "has no folder dataset/test_case"),
    ("no servers", lambda c: (c / "servers").rename(c / "s"), "has no folder servers"),
    ("no scenario", lambda c: (c / ABOUT).unlink(), f"{SCENARIO}.yaml is not there"),
    ("no rows", lambda c: (c / SEED / "oms").rename(c / SEED / "omz"), "lacks external_retail_toolset/oms/initial_da"),
    ("unknown uid", lambda c: put(c / RELEASE, f"['{FILE}:test_two']"), "but no such test case is in dataset"),
    ("uid twice", lambda c: put(c / RELEASE, f"['{FILE}:a', '{FILE}:a']"), "twice; every task must be told apart"),
    ("uid leads out", lambda c: put(c / RELEASE, "['../a.py:b']"), "does not begin with the name of a Python file"),
    ("list of numbers", lambda c: put(c / RELEASE, "[1, 2]"), "is no list of `FILE:FUNCTION`"),
    ("list is a bomb", lambda c: put(c / RELEASE, bomb()), "its aliases stand for more than 1000000 values"),
    ("syntax", lambda c: change(c, TEST, "def test_one(", "def test one("), f"{FILE}:14 is no Python that can be read"),
    ("null byte", lambda c: change(c, TEST, "def test_one(", "\0"), "is no Python that can be read"),
    ("deep", lambda c: put(c / TEST, "x = " + "(" * 100_000), "is no Python that can be read"),
    ("one name", lambda c: change(c, TEST, "def test_twin(", "def test_one("), "two functions are named 'test_one'"),
    ("two files", lambda c: put(c / "dataset/test_case" / FILE, ""), f"two test files are named {FILE}"),
    ("tag", lambda c: change(c, TEST, "query: ", "query: !!python/name:os.system "), "could not determine a con"),
    ("no yaml", lambda c: change(c, TEST, "query: ", "query: ["), "is no YAML that can be read"),
    ("a list", lambda c: change(c, TEST, SHARED, "- a"), "settings are a mapping, not list"),
    ("key twice", lambda c: change(c, TEST, "query: ", "query: a\nquery: "), "key 'query' stands twice"),
    ("row", lambda c: put(c / SEED / "oms/initial_data/orders.json", "[1]"), "a row is an object"),
    ("number", lambda c: put(c / SEED / "oms/initial_data/orders.json", "[{\"a\": NaN}]"), "NaN is no number that can"),
    ("latin", lambda c: (c / ABOUT).write_bytes(b"\xff"), "cannot be read"),
    ("tools", lambda c: change(c, ABOUT, "- name: zendesk_get_items", "- 5"), "tools is a list of mappings with a"),
    ("state", lambda c: change(c, ABOUT, f"  {SCENARIO}:", "  other:"), "world_state has no settings for"),
    ("snippets", lambda c: change(c, ABOUT, "snippets:", "contents:"), "a source is a mapping with name and a list of"),
]  # fmt: skip


@pytest.mark.parametrize(("harm", "message"), [case[1:] for case in HARMS], ids=[case[0] for case in HARMS])
def test_a_damaged_checkout_is_told_in_a_line_and_nothing_is_written(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], harm: Harm, message: str
) -> None:
    harm(checkout)
    assert main(["import", "thinkingbox", str(checkout), "-o", str(tmp_path / "packs")]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert (told.startswith("trialbox import: "), told.count("\n")) == (True, 1)
    assert not any("packs" in path.name for path in tmp_path.iterdir())


def test_a_huge_file_is_not_read(checkout: Path) -> None:
    with (checkout / SEED / "oms/initial_data/orders.json").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(ImportFault, match=r"orders.json has more than 67108864 bytes; nothing that large is read"):
        read_checkout(checkout)


def test_nothing_of_a_checkout_is_executed(checkout: Path, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    put(checkout / TEST, f"open({str(mark)!r}, 'w')\n" + (checkout / TEST).read_text(encoding="utf-8"))
    read_checkout(checkout)
    assert not mark.exists()


def test_what_stands_at_the_output_is_left_alone(checkout: Path, tmp_path: Path) -> None:
    put(tmp_path / "packs" / "mine.txt", "mine")
    with pytest.raises(UserFault, match="is there already; choose another folder"):
        written_to(tmp_path / "packs", read_checkout(checkout).packs)
    assert [path.name for path in (tmp_path / "packs").iterdir()] == ["mine.txt"]


def test_the_command_says_what_it_made_and_left_out(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packs = tmp_path / "packs"
    assert main(["import", "thinkingbox", str(checkout), "-o", str(packs)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{packs / 'retail'}: 1 tasks; every golden call run and accepted",
        "left out, it is not in the release's list:",
        f"  {FILE}:test_twin",
        "1 tasks in 1 packs, 1 left out",
    ]


def test_settings_are_merged_with_the_cases_own_over_the_scenarios() -> None:
    under = {"a": {"rows": [1], "name": "x"}, "b": 1}
    assert merged(under, {"a": {"rows": [2], "name": None}, "c": 3}) == {
        "a": {"rows": [1, 2], "name": None},
        "b": 1,
        "c": 3,
    }
