"""Files from elsewhere: broken, hostile or large ones are refused by name, and nothing is written."""

import gzip
import hashlib
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from judges.results import files, thinkingbox
from judges.results import tau2 as tau2_results
from judges.results.commands import read
from judges.results.files import json_in, lines_of
from judges.results.foreign import ForeignResults
from judges.results.kept import TRIALS_IN_A_PART, file_name, results_in, rows_of, seal_of, write
from judges.results.numbering import campaigns
from sandbox.archive import keep_seal, sealed_in
from sandbox.foreign import ImportFault
from sandbox.refusals import UserFault
from sandbox.registry import OnlyResults, domain_mounted
from sandbox.stream import Store
from tests.judges.results import imported, row, simulation, stored, tau2, tau2_imported, written
from trialbox import main

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def bent(good: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value that may have anything in the place of any of its parts."""
    whole: st.SearchStrategy[Any]
    if isinstance(good, dict):
        whole = st.fixed_dictionaries({}, optional={name: bent(item, values) for name, item in good.items()})
    elif isinstance(good, list):
        whole = st.tuples(*(bent(item, values) for item in good))
    else:
        whole = st.just(good)
    return st.one_of(whole, whole, whole, values)


MESSAGES = [
    {"T": "ParallelToolCall", "tool_calls": [{}], "role": "assistant", "usage": {"prompt_tokens": 1}},
    {"T": "ToolResponse", "content": '{"error": 1}', "metadata": {"error": "x"}, "role": "tool", "error": True},
    {"role": "tool", "tool_messages": [{"role": "tool", "requestor": "assistant"}]},
]
ROW = row(messages=MESSAGES, usage=[{"input_tokens": 3, "output_tokens": 1}], test_tags={"category": ["refusal"]})
OURS = row(metadata={"repetition": 0, "trial": "t", "end": "done", "flags": ["no_user"], "agent": "a", "domain": "d"})
TAU2 = tau2(simulation(messages=MESSAGES), simulation("1", reward=0.5), max_steps=5)


def is_kept_or_refused(format: str, path: Path) -> bool:
    """Whether a file becomes campaigns that are read back as they were, or one clear fault; anything else is raised."""
    try:
        found = campaigns(read(format, [path], "clerk"))
    except UserFault as fault:
        return bool(str(fault)) and "\n" not in str(fault)
    for campaign in found:
        keep_seal(Store.in_memory(), seal_of(campaign))
    kept = [msgspec.json.encode(campaign.results) for campaign in found]
    return [msgspec.json.decode(one, type=ForeignResults) for one in kept] == [one.results for one in found]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(bent(ROW, VALUES) | bent(OURS, VALUES), min_size=1, max_size=3))
def test_rows_of_any_json_are_taken_or_refused(tmp_path: Path, rows: list[Any]) -> None:
    assert is_kept_or_refused("thinkingbox", written(tmp_path / "r.jsonl", *rows))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bent(TAU2, VALUES))
def test_a_document_of_any_json_is_taken_or_refused(tmp_path: Path, document: Any) -> None:
    assert is_kept_or_refused("tau2", written(tmp_path / "r.json", document))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["thinkingbox", "tau2"]), st.binary(max_size=40), st.booleans())
def test_any_bytes_are_taken_or_refused(tmp_path: Path, format: str, content: bytes, is_packed: bool) -> None:
    path = tmp_path / "r"
    path.write_bytes((b"\x1f\x8b" if is_packed else b"") + content)
    assert is_kept_or_refused(format, path)


@pytest.mark.parametrize("format", ["thinkingbox", "tau2"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", " is empty; there is nothing to import"),
        (b"\n \n", " is empty; there is nothing to import"),
        (b'{"uid": "\xff"}', "is not UTF-8: byte 10; save it as UTF-8"),
        (b'{"uid": "a", "uid": "b"}', "is no JSON that can be read: key 'uid' stands twice"),
        (b'{"uid": ', "is no JSON that can be read: Expecting value"),
        (b"[" * 100_000, "is no JSON that can be read: it is nested too deep"),
        (b"9" * 5000, "is no JSON that can be read"),
        (gzip.compress(b"{}" * 1000)[:20], "is packed with gzip and damaged"),
        (b"\x1f\x8b and no more", "is packed with gzip and damaged"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, format: str, content: bytes, told: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(ImportFault, match=told):
        read(format, [path], "clerk")


def test_a_broken_line_is_named_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"{json.dumps(row())}\n\n{json.dumps(row(1))[:-5]}\n", encoding="utf-8")
    arguments = ["import-results", "thinkingbox", str(path), "--agent", "clerk", "-o", str(tmp_path / "stores")]
    assert main(arguments) == 2
    assert f"{path}, line 3 is no JSON that can be read: " in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["r.jsonl"]


def test_packed_files_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(row()).encode() + b"\r\n"))
    [campaign] = imported(path)
    [source] = campaign.results.sources
    assert (source.name, source.sha256) == ("r.jsonl.gz", hashlib.sha256(path.read_bytes()).hexdigest())


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    path, line = tmp_path / "r.jsonl", json.dumps(row(raw="x" * 100_000))
    path.write_text(f"{line}\n" * 200, encoding="utf-8")
    tracemalloc.start()
    try:
        assert sum(1 for _ in lines_of(path)) == 200
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_line_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(ImportFault, match="line 1 has more than 1,000 bytes; no row is that long"):
        imported(path)


def test_a_document_that_unpacks_to_too_much_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_DOCUMENT", 1000)
    path = tmp_path / "r.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(ImportFault, match="has more than 1,000 bytes; split it by tasks"):
        read("tau2", [path])


def test_large_texts_are_dropped_while_a_document_is_read() -> None:
    assert json_in(b'[{"content": "long", "role": "user"}]', "r.json", drops=True) == [{"role": "user"}]


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    files = [written(tmp_path / name, tau2(simulation())) for name in ("a.json", "b.json")]
    with pytest.raises(ImportFault, match=r"b\.json holds what .*a\.json holds; give each file once"):
        read("tau2", files)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImportFault, match="is no file; name the files"):
        read("tau2", [tmp_path / name])


@pytest.mark.parametrize(
    ("agent", "domain", "name"),
    [
        ("../../etc/passwd", "x", "etc-passwd-x.db"),
        ("/", "..", "results.db"),
        (".hidden", "x", "hidden-x.db"),
        ("a\\b:c", "d e", "a-b-c-d-e.db"),
        ("модель", "x", "x.db"),
        ("m", "x.Views", "m-x-views.db"),
        ("m" * 900, "x", "m" * 160 + ".db"),
    ],
)
def test_the_name_of_a_store_leads_nowhere_else(agent: str, domain: str, name: str) -> None:
    assert file_name(agent, domain) == name


def test_agents_that_would_share_a_file_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    made = [
        *tau2_imported(tmp_path / "a.json", tau2(simulation(), agent_info={"llm": "Org/model"})),
        *tau2_imported(tmp_path / "b.json", tau2(simulation(), agent_info={"llm": "org-model"})),
    ]
    with pytest.raises(
        ImportFault, match="'Org/model' in 'airline' and agent 'org-model' in 'airline' would both be in"
    ):
        stored(tmp_path / "stores", made)
    assert not (tmp_path / "stores").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    made = tau2_imported(tmp_path / "a.json", tau2(simulation()))
    (tmp_path / "empty").mkdir()
    assert [path.exists() for path in stored(tmp_path / "empty", made)] == [True]
    before = {path.name: path.read_bytes() for path in (tmp_path / "empty").iterdir()}
    for taken in ("empty", "a.json"):
        with pytest.raises(UserFault, match="is there already; choose another folder"):
            stored(tmp_path / taken, made)
    assert {path.name: path.read_bytes() for path in (tmp_path / "empty").iterdir()} == before


@pytest.mark.parametrize("other", [{"settings": "\ud800"}, {"domain": "\ud800"}])
def test_a_store_that_cannot_be_written_leaves_none_of_the_others(tmp_path: Path, other: dict[str, str]) -> None:
    made = [
        *tau2_imported(tmp_path / "a.json", tau2(simulation())),
        *tau2_imported(tmp_path / "b.json", tau2(simulation(), environment_info={"domain_name": "retail"})),
    ]
    with pytest.raises(UnicodeEncodeError):
        stored(tmp_path / "stores", [made[0], replace(made[1], **other)])
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.json"]


def test_a_campaign_has_a_name_that_can_stand_in_records(tmp_path: Path) -> None:
    made = tau2_imported(tmp_path / "a.json", tau2(simulation()))
    with pytest.raises(ImportFault, match=r"--name: campaign 'a\\x1fb' cannot be a name"):
        write(tmp_path / "stores", made, "a\x1fb")
    [path] = write(tmp_path / "stores", made, "mine")
    with Store.open(path, read_only=True) as store:
        assert sealed_in(store).name == "mine"


def test_the_same_files_give_the_same_campaign_and_other_content_another(tmp_path: Path) -> None:
    document = tau2(simulation(), simulation("1"))
    first, again = (tau2_imported(tmp_path / "r.json", document) for _ in range(2))
    other = tau2_imported(tmp_path / "r.json", tau2(simulation(reward=0.0), simulation("1")))
    seals = [seal_of(one) for [one] in (first, again, other)]
    assert (first, seals[0]) == (again, seals[1])
    assert seals[0].name != seals[2].name
    assert seals[0].tasks == seals[2].tasks


def test_many_trials_are_kept_in_parts_and_read_as_one(tmp_path: Path) -> None:
    number = TRIALS_IN_A_PART + 1
    [campaign] = imported(written(tmp_path / "r.jsonl", *(row(place) for place in range(number))))
    [path] = stored(tmp_path / "stores", [campaign])
    with Store.open(path, read_only=True) as store:
        assert results_in(store) == campaign.results
        assert len(list(rows_of(campaign.results, sealed_in(store)))) == 2 * number


def test_a_store_without_results_has_none() -> None:
    assert results_in(Store.in_memory()) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "STORE", "0/0"],
        ["explain", "STORE", "0/0"],
        ["diff", "STORE", "0/0", "0/0"],
        ["tree", "STORE", "0"],
        ["replay", "STORE"],
        ["rejudge", "STORE"],
        ["rows", "STORE", "-o", "rows.jsonl"],
        ["seal", "STORE", "-o", "sealed"],
        ["fork", "STORE", "0/0@1", "--agent", "oracle"],
    ],
)
def test_commands_that_need_streams_say_that_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [path] = stored(tmp_path / "stores", tau2_imported(tmp_path / "r.json", tau2(simulation())))
    assert main([str(path) if word == "STORE" else word for word in arguments]) == 2
    told = f"{path} holds results imported from tau2, of which there are no streams to look at; it can be given to: "
    assert told in capsys.readouterr().err
    assert os.listdir(tmp_path / "stores") == [path.name]


def test_no_domain_stands_behind_imported_results() -> None:
    with pytest.raises(OnlyResults, match="results about 'retail' were imported"):
        domain_mounted("retail", "imported")


def test_the_command_tells_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tau2(simulation(), simulation(trial=1, reward=0.0), simulation("1", end="infrastructure_error"))
    path = written(tmp_path / "r.json", document)
    assert main(["import-results", "tau2", str(path), "-o", str(tmp_path / "stores"), "-k", "5"]) == 0
    told = capsys.readouterr()
    heads, cells = (line.split() for line in told.out.splitlines())
    assert heads[1:] == [
        *("agent", "domain", "tasks", "repetitions"),
        *("pass", "fail", "ungradeable", "infrastructure"),
    ]
    assert cells[1:] == ["house/model-1", "airline", "2", "5", "1", "1", "0", "1"]
    assert told.err == "house-model-1-airline.db: 1 × infrastructure: terminated by infrastructure_error\n"


def test_a_file_of_too_many_trials_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinkingbox, "MOST_TRIALS", 2)
    monkeypatch.setattr(tau2_results, "MOST_TRIALS", 2)
    with pytest.raises(ImportFault, match="line 3 is one row too many; import no more than 2 from a file"):
        imported(written(tmp_path / "r.jsonl", *(row(place) for place in range(3))))
    with pytest.raises(ImportFault, match="holds more than 2 simulations"):
        tau2_imported(tmp_path / "r.json", tau2(*(simulation(trial=place) for place in range(3))))
