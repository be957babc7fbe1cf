"""What packs, agents and models write is shown in printable lines: none of it draws on a terminal or forges a line."""

import json
from pathlib import Path

import pytest

from trialbox import main

FORGED = "\nverdict: forged\r\nverdict: forged\x1b[31m\u202e\u2028verdict: forged"
TASK = {
    "id": "moved",
    "instant": "2026-01-05T09:00:00Z",
    "goal": f"Somebody waits in the wrong queue.{FORGED}",
    "tools": ["list_tickets", "move"],
    "expect": {
        "outcomes": [
            {
                "name": f"billing{FORGED}",
                "calls": [{"move": {"ticket_id": f"TIC-1{FORGED}", "queue": "billing"}}],
            }
        ],
        "rules": [{"never": {"event": "ticket-moved", "where": {"id": f"TIC-2{FORGED}"}}}],
        "rubrics": [f"Was it moved?{FORGED}"],
    },
}
TICKET = {
    "id": f"TIC-1{FORGED}",
    "queue": "general",
    "subject": f"Charged twice{FORGED}",
    "customer_id": f"CUS-1{FORGED}",
    "opened": "2026-01-05T08:00:00Z",
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack that writes what it should not wherever a pack may write a text."""
    folder = tmp_path / "queues"
    for part in ("seed", "tasks"):
        (folder / part).mkdir(parents=True)
    about = {"name": "queues", "format": 1, "domain": "probe", "mount": "own", "title": f"Queues{FORGED}"}
    (folder / "pack.yaml").write_text(json.dumps(about))
    (folder / "seed" / "probe_tickets.json").write_text(json.dumps([TICKET]))
    (folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    return folder


def ensure_printable(text: str) -> None:
    assert {c for c in text if not c.isprintable()} <= {"\n"}
    assert not [line for line in text.splitlines() if line.strip().startswith("verdict: forged")]


def test_no_command_prints_what_a_pack_forged(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.yaml").write_text(json.dumps({"agent": {"name": f"it{FORGED}", "scripted": "oracle"}}))
    commands = [
        ["run", "--pack", str(pack), "--agent", "null", "-k", "1", "-o", "null.db"],
        ["run", "--pack", str(pack), "--agent", "oracle", "-k", "1", "-o", "oracle.db"],
        ["check", "agent.yaml", "--pack", str(pack)],
        *(["explain", f"{name}.db", "moved/0", *extra] for name in ("null", "oracle") for extra in ([], ["--all"])),
        ["lint", str(pack)],
        ["lint", str(pack), "--floor"],
        ["mutate", str(pack)],
        ["mutate", str(pack), "--full"],
        *([name, "null.db"] for name in ("stats", "failures", "reliability", "power")),
        ["stats", "null.db", "--tasks"],
        ["gate", "null.db", "--rule", "pass@1 >= 0.5"],
        ["report", "null.db", "-o", "report"],
    ]
    told = {}
    for command in commands:
        main(command)
        printed = capsys.readouterr()
        told[" ".join(command[:1])] = printed.out
        ensure_printable(printed.out + printed.err)
    assert "verdict: fail" in told["explain"] or "verdict: ungradeable" in told["explain"]
    ensure_printable(Path("oracle.errors.jsonl").read_text(encoding="utf-8"))
    ensure_report_printable(Path("report"))


def test_a_report_prints_no_forged_name_of_a_store(pack: Path, tmp_path: Path) -> None:
    store = tmp_path / f"a{FORGED}.db"
    assert main(["run", "--pack", str(pack), "--agent", "null", "-k", "1", "-o", str(store)]) == 0
    assert main(["report", str(store), "-o", str(tmp_path / "report"), "--title", f"It{FORGED}"]) == 0
    ensure_report_printable(tmp_path / "report")


def ensure_report_printable(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.suffix in (".html", ".md", ".csv", ".json")]
    assert len(files) > 10
    for file in files:
        # Markdown of a report joins words by a character that is not seen, so that names are no markup.
        ensure_printable(file.read_bytes().decode().replace("\r\n", "\n").replace("\u2060", ""))
