"""Packs: what may be in one, and how a mistake in one is told."""

import re
import stat
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from judges import pack_files
from judges.lint.pack import opened
from judges.pack import TaskFile
from judges.pack_files import PackFault
from judges.packs import PackFile, open_pack, open_packs
from judges.verdict import Evidence, bundle_of, judged
from sandbox import World
from sandbox.task import snapshot_of
from trialbox import main

PAGE = (Path(__file__).parents[2] / "docs" / "packs.md").read_text(encoding="utf-8")
JSON_TASK = (
    '{"id": "b", "instant": "2026-01-05T09:00:00Z", "goal": "Move it.", "expect": {"outcomes": [{"name": "moved",'
    ' "calls": [{"tool": "move", "arguments": {"ticket_id": "TIC-2", "queue": "billing"}}]}]}}'
)


def shown() -> dict[str, str]:
    """The files that the page shows."""
    return dict(re.findall(r"<!-- (\S+) -->\n```yaml\n(.*?)```\n<!-- /\1 -->", PAGE, re.DOTALL))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The pack of the page."""
    home = tmp_path / "queues"
    for name, text in shown().items():
        put(home, name, text)
    return home


def put(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text, encoding="utf-8")


def zipped(home: Path, prefix: str = "") -> Path:
    archive = home.with_suffix(".zip")
    with ZipFile(archive, "w", ZIP_DEFLATED) as out:
        for path in sorted(home.rglob("*")):
            out.write(path, prefix + path.relative_to(home).as_posix())
    return archive


def test_the_pack_of_the_page_opens_and_its_golden_calls_pass(pack: Path) -> None:
    opened = open_pack(pack)
    [item] = opened.tasks
    assert (opened.name, opened.domain.name, opened.domain.mounting) == ("queues", "probe", "own")
    world = World(opened.domain, snapshot_of(opened.domain, item.task), item.task.instant, item.task.tools)
    assert [row.id for row in world.rows["probe_tickets"]] == ["TIC-1", "TIC-2", "TIC-3"]
    for call in item.expectation.outcomes[0].calls:
        world.call(call.tool, **call.arguments)
    verdict = judged(bundle_of(opened.domain, item.task, item.expectation), Evidence(world.effects, ()))
    assert [check.result for check in verdict.checks] == ["yes", "yes", "could not check"]


def test_the_command_of_the_page_ends_as_the_page_says(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(pack.parent)
    [command] = re.findall(r"^\$ trialbox (run .*)$", PAGE, re.MULTILINE)
    assert main(command.split()) == 1
    told = "1 task has a rubric and there is no judge: its trials can only fail or be ungradeable; give --agent"
    assert capsys.readouterr().err.startswith(told)
    put(pack.parent, "agent.yaml", "agent: {name: it, scripted: oracle}")
    assert main(["check", "agent.yaml", "--pack", "queues"]) == 0
    assert told in capsys.readouterr().out
    put(pack, "tasks/charged-twice.yaml", re.sub(r" +rubrics:.*\n", "", shown()["tasks/charged-twice.yaml"]))
    assert main([*command.split(), "-o", "without.db"]) == 0
    assert "rubric" not in capsys.readouterr().err


def test_the_page_names_every_key_that_a_pack_and_a_task_may_have() -> None:
    for name in (*PackFile.__struct_fields__, *TaskFile.__struct_fields__):
        assert re.search(rf"^{name}:|`{name}`", PAGE, re.MULTILINE), name


@pytest.mark.parametrize("prefix", ["", "queues/"])
def test_an_archive_of_a_pack_is_that_pack(pack: Path, prefix: str) -> None:
    one, other = open_pack(pack), open_pack(zipped(pack, prefix))
    assert one.tasks == other.tasks
    assert one.domain.seed.digest == other.domain.seed.digest


def test_lines_of_json_are_tasks_too(pack: Path) -> None:
    put(pack, "tasks.jsonl", f"{JSON_TASK}\n\n")
    opened = open_pack(pack)
    assert [(item.task.id, item.task.tools) for item in opened.tasks] == [
        ("charged-twice", ("list_tickets", "move")),
        ("b", ("list_tickets", "move")),
    ]


def test_a_pack_without_rows_and_instructions_uses_the_domains_own(pack: Path) -> None:
    (pack / "seed" / "probe_tickets.yaml").unlink()
    (pack / "tasks" / "charged-twice.yaml").unlink()
    put(pack, "tasks.jsonl", JSON_TASK)
    own = open_pack(pack).domain
    assert own.seed.tables["probe_orders"]
    assert own.instructions
    put(pack, "instructions.md", "Be brief.\n")
    assert open_pack(pack).domain.instructions == "Be brief.\n"


TASK = "tasks/charged-twice.yaml"
ROWS = "seed/probe_tickets.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("pack.yaml", "format: 1", "format: 2", "pack queues is of format 2, this Trialbox reads up to 1; install"),
        ("pack.yaml", "format: 1", "format: true", "True is no format of packs; write `format: 1` - at `$.format`"),
        ("pack.yaml", "domain: probe", "domain: prob", "domain 'prob', which is not installed: no domain 'prob'; did"),
        ("pack.yaml", "mount: own ", "mount: public ", "no public mount of a domain 'probe'"),
        ("pack.yaml", "mount: own ", "mount: wn ", "Invalid enum value 'wn' - at `$.mount`: 'wn'"),
        ("pack.yaml", "title:", "titel:", "unknown key 'titel'; did you mean 'title'?"),
        ("pack.yaml", "name: queues", "name: ../queues", "'../queues' cannot name a pack; use letters, digits, -"),
        ("pack.yaml", "move]", "mve]", "no tool 'mve'; did you mean 'move'? - at `$.tools`"),
        ("pack.yaml", "title: Tickets", "licence: LICENCE.txt\ntitle: Tickets", "there is no file 'LICENCE.txt'"),
        ("pack.yaml", "title: Tickets", "title: [Tickets]\nx: ", "unknown key 'x'"),
        (ROWS, "queue: general", "queue: genral", "Invalid enum value 'genral' - at `$[0].queue`: 'genral'; did you"),
        (ROWS, "subject: Open", "subjet: Open", "unknown field `subjet`; did you mean 'subject'? - at `$[1]`"),
        (ROWS, "id: TIC-2", "id: 2", "Expected `str`, got `int` - at `$[1].id`: 2"),
        (ROWS, "- {id: TIC-1", "x: {id: TIC-1", "is no YAML that can be read"),
        (TASK, "queue: billing, subj", "queue: bills, subj", "- at `$.patch.probe_tickets[0].queue`: 'bills'; did"),
        (TASK, "probe_tickets:\n    - {id", "probe_tickts:\n    - {id", "no table 'probe_tickts' in domain probe; did"),
        (TASK, "goal: Somebody", "goal: 5 #", "Expected `str`, got `int` - at `$.goal`: 5"),
        (TASK, "- move:", "- mve:", "call 2: no tool 'mve'; did you mean 'move'?"),
        (TASK, "[list_tickets, move]", "[list_tickets]", "the task hides move from the agent"),
        (TASK, "rules:", "ruls:", "unknown key 'ruls'; did you mean 'rules'? - at `$.expect`"),
        (TASK, "goal: ", "goal: !!python/object/apply:os.getcwd []\nx: ", "could not determine a constructor"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_place_value_and_nearest(pack: Path, file: str, old: str, new: str, message: str) -> None:
    text = (pack / file).read_text(encoding="utf-8")
    assert old in text
    put(pack, file, text.replace(old, new, 1))
    with pytest.raises(PackFault) as fault:
        open_pack(pack)
    assert str(fault.value).startswith(str(pack))
    assert file in str(fault.value)
    assert message in str(fault.value)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("task/a.yaml", "id: a", "a pack has no folder 'task'; did you mean 'tasks'?"),
        ("seeds.yaml", "[]", "a pack has no file 'seeds.yaml'"),
        ("tasks/a.yml", "id: a", "tasks/ holds files that end in .yaml"),
        ("seed/deep/a.yaml", "[]", "seed/ holds files that end in .yaml or .json"),
        ("seed/probe_tickets.json", "[]", "has rows in seed/probe_tickets.json already; keep one of the two"),
        ("seed/probe_orders.yaml", "{}", "it holds dict, no list of rows"),
        ("seed/probe_order.yaml", "[]", "no table 'probe_order' in domain probe; did you mean 'probe_orders'?"),
        ("seed/probe_orders.json", '[{"id": NaN}]', "NaN is no number that can be recorded"),
        ("seed/probe_orders.json", '[{"id": 1, "id": 2}]', "key 'id' stands twice"),
        ("policy/a.md", "# A\n", "domain probe keeps no policy documents; put them into instructions.md"),
        ("tasks.jsonl", JSON_TASK.replace('"b"', '"charged-twice"'), "taken by tasks/charged-twice.yaml"),
        ("tasks.jsonl", "{", "tasks.jsonl, line 1 is no JSON that can be read"),
        ("tasks.jsonl", "[" * 100_000, "tasks.jsonl, line 1 is no JSON that can be read: it is nested too deep"),
        ("tasks/b.yaml", "- " * 100_000, "tasks/b.yaml is no YAML that can be read"),
    ],
)
def test_a_file_that_means_nothing_is_refused(pack: Path, file: str, text: str, message: str) -> None:
    put(pack, file, text)
    with pytest.raises(PackFault, match=re.escape(message)):
        open_pack(pack)


def test_aliases_that_stand_for_a_billion_values_are_refused(pack: Path) -> None:
    lines = ["l0: &l0 x", *(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10))]
    put(pack, "tasks/bomb.yaml", "\n".join(lines))
    with pytest.raises(PackFault, match="its aliases stand for more than 1000000 values"):
        open_pack(pack)


def test_a_link_in_a_folder_is_refused(pack: Path) -> None:
    (pack / "instructions.md").symlink_to("/etc/hostname")
    with pytest.raises(PackFault, match=r"instructions.md is a link"):
        open_pack(pack)


def link(name: str) -> ZipInfo:
    made = ZipInfo(name)
    made.external_attr = (stat.S_IFLNK | 0o777) << 16
    return made


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ZipInfo("../pack.yaml"), "leads out of the archive"),
        (ZipInfo("/etc/pack.yaml"), "leads out of the archive"),
        (ZipInfo("seed/../../a.yaml"), "leads out of the archive"),
        (link("instructions.md"), "is a link; a pack holds its files itself"),
        (ZipInfo("pack.yaml"), "is in the archive twice"),
    ],
)
def test_an_archive_that_reaches_out_is_refused(pack: Path, entry: ZipInfo, message: str) -> None:
    archive = zipped(pack)
    with ZipFile(archive, "a") as out:
        if entry.filename == "pack.yaml":
            with pytest.warns(UserWarning, match="Duplicate"):
                out.writestr(entry, "x")
        else:
            out.writestr(entry, "/etc/hostname")
    with pytest.raises(PackFault, match=message):
        open_pack(archive)


def test_a_huge_entry_is_refused_before_it_is_unpacked(pack: Path) -> None:
    archive = zipped(pack)
    with ZipFile(archive, "a", ZIP_DEFLATED) as out, out.open("tasks.jsonl", "w") as entry:
        for _ in range(65):
            entry.write(b" " * 1024 * 1024)
    assert archive.stat().st_size < 1024 * 1024
    with pytest.raises(PackFault, match=f"has {65 * 1024 * 1024} bytes; a file of a pack has at most"):
        open_pack(archive)


def test_too_many_files_are_refused(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_files, "MOST_FILES", 2)
    with pytest.raises(PackFault, match="is one file too many; a pack has at most 2"):
        open_pack(pack)


def damaged(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[60] ^= 0xFF
    archive.write_bytes(content)


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-40])


@pytest.mark.parametrize("harm", [damaged, cut, lambda archive: archive.write_text("no archive")])
def test_a_damaged_archive_is_told_in_a_line(pack: Path, harm: Callable[[Path], object]) -> None:
    archive = zipped(pack)
    harm(archive)
    with pytest.raises(PackFault, match="is no ZIP archive that can be read"):
        open_pack(archive)


def test_a_path_without_a_pack_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackFault, match="there is no pack"):
        open_pack(tmp_path / "nothing")
    with pytest.raises(PackFault, match=r"holds no pack.yaml, so it is no pack"):
        open_pack(tmp_path)


def test_a_folder_without_a_pack_is_told_whatever_else_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\xfe")
    (tmp_path / "link").symlink_to(tmp_path)
    for look in (open_pack, lambda path: opened(str(path))):
        with pytest.raises(PackFault, match=r"holds no pack\.yaml, so it is no pack"):
            look(tmp_path)
    with pytest.raises(PackFault, match=r"there is no pack .*none; name a folder with a pack\.yaml"):
        opened(str(tmp_path / "none"))


def test_two_rows_with_one_key_are_told_with_their_file(pack: Path) -> None:
    [table] = (pack / "seed").iterdir()
    text = table.read_text(encoding="utf-8")
    table.write_text(text + text, encoding="utf-8")
    with pytest.raises(
        PackFault, match=r"seed/\w+\.yaml: \w+\[\d+\]: \w+\[0\] has the key '[\w-]+' already.* - at `\$`"
    ):
        open_pack(pack)


def test_two_packs_of_one_name_or_with_one_task_id_are_not_opened_together(pack: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for name, text in shown().items():
        put(other, name, text)
    with pytest.raises(PackFault, match="a pack 'queues' is loaded already"):
        open_packs([pack, other])
    put(other, "pack.yaml", shown()["pack.yaml"].replace("name: queues", "name: others"))
    with pytest.raises(PackFault, match="task id 'charged-twice' of pack others is taken by pack queues"):
        open_packs([pack, other])
    put(other, TASK, shown()[TASK].replace("id: charged-twice", "id: charged-once"))
    assert [opened.name for opened in open_packs([pack, other])] == ["queues", "others"]
