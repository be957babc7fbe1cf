"""A sealed campaign is verified by anybody; whatever is changed in it is found and named."""

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

import trialbox
from judges.campaigns import run_judged, scores_of
from replay.fork import fork_judged
from replay.redact import TEXTS, Redaction
from replay.seal import seal, unseal
from replay.sealed_file import MANIFEST, ROOT, Manifest, SealBroken, open_sealed, write_sealed
from replay.sealed_store import KINDS, SealedRecord, decode_records, encode_records, index_part, trial_part
from replay.verify import Verification, verified
from sandbox.agents import Plan, PlannedCall, Scripted
from sandbox.contents import content_stream, index_stream
from sandbox.lineage import forks
from sandbox.mcp_session import Session
from sandbox.records import OWN_TOPICS, Said, ToolReturned, TrialKey, chained, decoded, encode_payload, genesis
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.values import plain
from tests.replay.runs import COMMENT, GOLDEN, RETAIL, SOLVE, TASK, TASKS

KEYS = [TrialKey("test", TASK, repetition, 1) for repetition in range(3)]
SECRET = "Nobody may read this comment."
PLANS = [GOLDEN, [*GOLDEN[:9], SOLVE, COMMENT], GOLDEN[:9]]


def first_plan() -> list[PlannedCall]:
    item = {**COMMENT.arguments["item"], "body": SECRET}
    return [*GOLDEN[:10], PlannedCall(COMMENT.tool, {"table": "comments", "item": item})]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a trial that passes, two that fail, and a fork that passes."""
    path = tmp_path_factory.mktemp("sealed") / "c.db"

    def chosen(plan: Plan, session: Session, repetition: int) -> Plan:
        return [first_plan(), *PLANS[1:]][repetition]

    agent = Scripted("tester", {TASK: GOLDEN}, chosen)
    run_judged(path, RETAIL, [TASKS[TASK]], agent, 3, name="test")
    fork_judged(path, f"{TASK}/1", 21, "oracle")
    return path


@pytest.fixture(scope="module")
def sealed(path: Path) -> Path:
    """That campaign, sealed."""
    output = path.with_name("c.sealed")
    with Store.open(path, read_only=True) as store:
        seal(store, output)
    return output


@pytest.fixture(scope="module")
def redacted(path: Path) -> Path:
    """That campaign, sealed without its texts."""
    output = path.with_name("r.sealed")
    with Store.open(path, read_only=True) as store:
        seal(store, output, redact_texts=True)
    return output


def test_an_untouched_file_is_verified_and_gives_the_score_of_the_store(path: Path, sealed: Path) -> None:
    found = verified(sealed)
    assert (found.faults, found.notes, found.trials, found.is_verified) == ((), (), 4, True)
    [score] = found.counts
    assert (score.agent, score.trials, score.passed) == ("tester", 3, 1)
    assert [score.trials for score in scores_of(path)] == [3]


def test_the_same_store_gives_the_same_bytes(path: Path, sealed: Path, tmp_path: Path) -> None:
    with Store.open(path, read_only=True) as store:
        again = seal(store, tmp_path / "again.sealed")
    assert (tmp_path / "again.sealed").read_bytes() == sealed.read_bytes()
    assert again.root == verified(sealed).root


def test_a_store_that_is_sealed_and_unsealed_is_the_same_in_every_record(
    path: Path, sealed: Path, tmp_path: Path
) -> None:
    assert unseal(sealed, tmp_path / "u.db") == 4
    with Store.open(path, read_only=True) as one, Store.open(tmp_path / "u.db", read_only=True) as other:
        streams = [key.id for key in (*KEYS, *(fork.key for fork in forks(one)))]
        streams += [index_stream(kind) for kind in KINDS if one.names(kind)]
        streams += [content_stream(kind, name) for kind in KINDS for name in one.names(kind)]
        for stream in streams:
            records = one.read(stream)
            assert records
            assert other.read(stream) == records
    assert scores_of(tmp_path / "u.db") == scores_of(path)


def test_what_is_there_is_never_overwritten(path: Path, sealed: Path) -> None:
    with Store.open(path, read_only=True) as store, pytest.raises(UserFault, match="is there already"):
        seal(store, sealed)
    with pytest.raises(UserFault, match="is there already"):
        unseal(sealed, path)


def places(path: Path) -> Iterator[tuple[str, int]]:
    """Bytes of every kind: of headers and directory each one of some part, of every part and gap a few."""
    with zipfile.ZipFile(path) as archive:
        entries, directory = archive.infolist(), archive.start_dir
    size = path.stat().st_size
    for entry in entries:
        data = entry.header_offset + 30 + len(entry.filename)
        yield f"header of {entry.filename}", entry.header_offset + 14
        yield f"name of {entry.filename}", entry.header_offset + 31
        yield from ((f"content of {entry.filename}", data + entry.file_size * i // 3) for i in range(3))
    yield from ((f"header, byte {byte}", entries[0].header_offset + byte) for byte in range(30))
    yield from ((f"directory, byte {byte}", directory + byte) for byte in range(46))
    yield from ((f"end, byte {byte}", size - 22 + byte) for byte in range(22))


def is_found(path: Path) -> bool:
    try:
        with open_sealed(path) as file:
            return any(file.faults())
    except SealBroken:
        return True


def test_every_changed_byte_is_found_wherever_it_is(sealed: Path, tmp_path: Path) -> None:
    content, changed = bytearray(sealed.read_bytes()), tmp_path / "changed.sealed"
    missed = []
    for name, place in places(sealed):
        for bit in (1, 128):
            content[place] ^= bit
            changed.write_bytes(content)
            content[place] ^= bit
            if not is_found(changed):
                missed.append((name, place, bit))
    assert missed == []


@pytest.mark.parametrize(
    "change", [lambda c: b"x" + c, lambda c: c + b"\n", lambda c: c[:-1], lambda c: c[: len(c) // 2]]
)
def test_bytes_put_before_or_behind_or_cut_off_are_found(
    sealed: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "changed.sealed").write_bytes(change(sealed.read_bytes()))
    assert is_found(tmp_path / "changed.sealed")


def repacked(sealed: Path, output: Path, change: Callable[[dict[str, bytes]], object]) -> Verification:
    """The parts changed and packed anew, manifest and root digest left as they are."""
    with zipfile.ZipFile(sealed) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return verified(output)


def rewritten(sealed: Path, output: Path, change: Callable[[dict[str, bytes]], object]) -> Verification:
    """The parts changed, with a manifest and a root digest that fit them."""
    with zipfile.ZipFile(sealed) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = msgspec.json.decode(parts.pop(MANIFEST), type=Manifest)
    del parts[ROOT]
    change(parts)
    write_sealed(output, manifest.about, sorted(parts.items()))
    return verified(output)


Change = Callable[[dict[str, bytes]], object]
ONE, TWO, THREE = (trial_part(key.id) for key in KEYS)
STRANGER = trial_part(UUID(int=7))


def swapped(parts: dict[str, bytes]) -> None:
    parts[ONE], parts[TWO] = parts[TWO], parts[ONE]


def reordered(parts: dict[str, bytes]) -> None:
    records = decode_records(parts[ONE])
    records[3], records[4] = records[4], records[3]
    parts[ONE] = encode_records(records)


def cut_short(parts: dict[str, bytes]) -> None:
    parts[ONE] = encode_records(decode_records(parts[ONE])[:-1])


def made_to_pass(parts: dict[str, bytes]) -> None:
    name = next(name for name in parts if name.startswith(f"judgement/{KEYS[1].id.hex}"))
    parts[name] = parts[name].replace(b'"result":"fail"', b'"result":"pass"', 1)


def made_of_another(parts: dict[str, bytes]) -> None:
    """The failed trial's records replaced by those of the one that passed, chained anew as its own."""
    parts[TWO] = encode_records(rechained(KEYS[1], decode_records(parts[ONE])))


def rechained(key: TrialKey, records: list[SealedRecord]) -> list[SealedRecord]:
    last, made = genesis(key.id), []
    for r in records:
        last = chained(last, r.position, r.topic, r.time, r.cause, r.payload, r.telemetry)
        made.append(msgspec.structs.replace(r, digest=last))
    return made


def reworded(parts: dict[str, bytes]) -> None:
    """Another answer than was given, chained anew: the rows are the same, the judgement's evidence is too."""
    records = decode_records(parts[ONE])
    place = next(i for i, r in enumerate(records) if isinstance(decoded(r.record), Said) and i > 2)
    records[place] = msgspec.structs.replace(records[place], payload=encode_payload(Said("assistant", "Bye.")))
    parts[ONE] = encode_records(rechained(KEYS[0], records))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda parts: parts.pop(THREE), rf"trial {TASK}/2.*missing"),
        (lambda parts: parts.update({STRANGER: parts[ONE]}), rf"{STRANGER} was added"),
        (swapped, rf"trial {TASK}/0.*was changed"),
        (reordered, rf"trial {TASK}/0.*was changed"),
        (made_to_pass, rf"trial {TASK}/1.*judgement/.*was changed"),
        (lambda parts: parts.update({ROOT: b"0" * 64 + b"\n"}), rf"{MANIFEST} was changed"),
        (lambda parts: parts.pop(ROOT), f"{ROOT} is missing"),
    ],
)
def test_what_is_dropped_added_swapped_or_changed_is_named(
    sealed: Path, tmp_path: Path, change: Change, told: str
) -> None:
    assert any(re.search(told, fault) for fault in repacked(sealed, tmp_path / "x", change).faults)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda parts: parts.pop(THREE), f"trial {TASK}/2 is missing, and was there when it was sealed"),
        (lambda parts: parts.update({STRANGER: parts[ONE]}), f"{STRANGER} belongs to nothing in this campaign"),
        (swapped, f"trial {TASK}/0: {ONE}: .* record 1 .* breaks the digest chain"),
        (reordered, f"trial {TASK}/0: {ONE}: .* record 4 .* is missing"),
        (cut_short, f"trial {TASK}/0 is missing"),
        (made_to_pass, f"trial {TASK}/1: {TWO}: sealed pass, computed fail"),
        (made_of_another, f"trial {TASK}/1: {TWO} holds the records of another trial"),
        (lambda parts: parts.pop(index_part("judgement")), "belongs to nothing in this campaign"),
        (lambda parts: parts.update({index_part("judgement"): b"[]"}), f"trial {TASK}/0: {ONE} has no judgement"),
    ],
)
def test_a_manifest_that_is_rewritten_to_fit_does_not_hide_it(
    sealed: Path, tmp_path: Path, change: Change, told: str
) -> None:
    found = rewritten(sealed, tmp_path / "x", change)
    assert not found.is_verified
    assert any(re.search(told, fault) for fault in found.faults), found.faults


@pytest.mark.parametrize("place", [0, 3], ids=["trial", "fork"])
@pytest.mark.parametrize("kept", [0, 21], ids=["the stream", "the end"])
def test_a_judgement_on_a_trial_without_its_end_is_a_fault_though_the_manifest_says_it_is_missing(
    path: Path, sealed: Path, tmp_path: Path, kept: int, place: int
) -> None:
    with Store.open(path, read_only=True) as store:
        part = [ONE, TWO, THREE, *(trial_part(fork.key.id) for fork in forks(store))][place]
    with zipfile.ZipFile(sealed) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = msgspec.json.decode(parts.pop(MANIFEST), type=Manifest).about
    left = decode_records(parts.pop(part))[:kept][:-1]
    parts |= {part: encode_records(left)} if kept else {}
    del parts[ROOT]
    write_sealed(tmp_path / "x", replace(about, missing=(f"{TASK}/0",) if part == ONE else ()), sorted(parts.items()))
    told = [
        fault for fault in verified(tmp_path / "x").faults if "records are gone" in fault or "does not hold" in fault
    ]
    assert len(told) == 1
    assert part.removeprefix("trials/") in told[0]


def resealed(field: str, value: str) -> Change:
    """The campaign's own seal with another value."""

    def change(parts: dict[str, bytes]) -> None:
        parts["campaign/seal"] = msgspec.json.encode(msgspec.json.decode(parts["campaign/seal"]) | {field: value})

    return change


def test_where_the_domain_is_not_installed_nothing_is_verified_and_that_is_said(sealed: Path, tmp_path: Path) -> None:
    found = rewritten(sealed, tmp_path / "x", resealed("domain", "retial"))
    assert [fault.partition(";")[0] for fault in found.faults] == ["it cannot be computed again: no domain 'retial'"]
    assert (found.is_verified, found.counts) == (False, ())


def test_domain_code_of_another_version_is_told(sealed: Path, tmp_path: Path) -> None:
    found = rewritten(sealed, tmp_path / "x", resealed("domain_digest", "0" * 64))
    assert found.is_verified
    [note] = found.notes
    assert note.startswith("domain retail has other code today")


def test_a_file_with_a_stranger_in_it_makes_no_store_though_its_manifest_fits(sealed: Path, tmp_path: Path) -> None:
    rewritten(sealed, tmp_path / "x", lambda parts: parts.update({"trials/somebody": parts[ONE]}))
    with pytest.raises(SealBroken, match="trials/somebody belongs to nothing"):
        unseal(tmp_path / "x", tmp_path / "u.db")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_who_rewrites_everything_is_found_by_a_root_digest_that_is_known(sealed: Path, tmp_path: Path) -> None:
    root = verified(sealed).root
    forged = rewritten(sealed, tmp_path / "x", reworded)
    assert forged.is_verified
    [fault] = verified(tmp_path / "x", root).faults
    assert "another file than was sealed" in fault
    assert verified(sealed, root).is_verified


def test_redaction_leaves_no_words_and_every_chain_verified(sealed: Path, redacted: Path) -> None:
    assert SECRET.encode() in sealed.read_bytes()
    assert b"taken care of everything" in sealed.read_bytes()
    assert SECRET.encode() not in redacted.read_bytes()
    assert b"taken care of everything" not in redacted.read_bytes()
    found = verified(redacted)
    assert found.faults == ()
    assert (found.is_verified, found.counts) == (True, verified(sealed).counts)


def test_words_that_a_row_had_from_the_start_stay_so_that_putting_them_back_stays_no_change(tmp_path: Path) -> None:
    seed = plain(RETAIL.snapshot.get("zendesk_tickets", "8"))["subject"]
    worded = [
        PlannedCall("zendesk_update_item", {"table": "tickets", "id": "8", "item": {"subject": subject}})
        for subject in (SECRET, seed)
    ]
    run_judged(tmp_path / "b.db", RETAIL, [TASKS[TASK]], Scripted("b", {TASK: [*GOLDEN, *worded]}), 1, name="b")
    with Store.open(tmp_path / "b.db", read_only=True) as store:
        seal(store, tmp_path / "b.sealed", redact_texts=True)
    assert SECRET.encode() not in (tmp_path / "b.sealed").read_bytes()
    found = verified(tmp_path / "b.sealed")
    assert (found.faults, found.counts[0].passed) == ((), 1)


def test_texts_of_a_trial_are_redacted_in_what_is_said_of_it_too(path: Path) -> None:
    redaction = Redaction(RETAIL, RETAIL.snapshot)
    with Store.open(path, read_only=True) as store:
        for record in store.records(KEYS[0].id):
            redaction.redacted(record)
    mark, redaction.marks["Ok"] = redaction.marks[SECRET], "redacted:7"
    same = {"list": ["Okay"], "field": "body", "key": 7}
    told = {"word": "Ok", "found": SECRET, "reason": f"found {SECRET!r}", **same}
    changed = msgspec.json.decode(redaction.in_json(msgspec.json.encode(told)))
    assert changed == {"word": "redacted:7", "found": mark, "reason": f"found '{mark}'", **same}


def test_it_is_settled_for_every_kind_of_record_which_of_its_fields_are_texts() -> None:
    assert set(TEXTS) == set(OWN_TOPICS.values())
    for kind, names in TEXTS.items():
        assert set(names) <= {field.name for field in msgspec.structs.fields(kind) if field.type is str}


def test_an_answer_that_was_redacted_cannot_be_replaced(redacted: Path, tmp_path: Path) -> None:
    def change(parts: dict[str, bytes]) -> None:
        records = decode_records(parts[ONE])
        place = next(i for i, r in enumerate(records) if isinstance(decoded(r.record), ToolReturned))
        records[place] = msgspec.structs.replace(records[place], original=bytes(32))
        parts[ONE] = encode_records(records)

    assert any("breaks the digest chain" in fault for fault in rewritten(redacted, tmp_path / "x", change).faults)


def test_a_redacted_file_makes_no_store(redacted: Path, tmp_path: Path) -> None:
    with pytest.raises(SealBroken, match="its texts were redacted"):
        unseal(redacted, tmp_path / "u.db")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_makes_no_store(sealed: Path, tmp_path: Path) -> None:
    content = bytearray(sealed.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(SealBroken, match="nothing is imported"):
        unseal(tmp_path / "x", tmp_path / "u.db")
    assert not (tmp_path / "u.db").exists()


@pytest.mark.parametrize("content", [b"", b"Dear all", b"PK\x05\x06" + bytes(18), b"PK\x03\x04" * 20])
def test_what_is_no_sealed_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "letter").write_bytes(content)
    with pytest.raises(SealBroken, match="letter: "):
        verified(tmp_path / "letter")


def test_a_trial_that_is_not_judged_is_not_sealed(path: Path, tmp_path: Path) -> None:
    with Store.open(path, read_only=True) as store, Store.in_memory() as copy:
        for kind in (kind for kind in KINDS if kind != "judgement"):
            for name in store.names(kind):
                copy.keep(kind, name, store.kept(kind, name) or b"")
        copy.append([(KEYS[0].id, store.read(KEYS[0].id))])
        with pytest.raises(UserFault, match="has not been judged"):
            seal(copy, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_repetitions_without_a_trial_are_told_when_sealed_and_when_verified(path: Path, tmp_path: Path) -> None:
    with Store.open(path, read_only=True) as store, Store.in_memory() as copy:
        for kind in (kind for kind in KINDS if kind != "fork"):
            for name in store.names(kind):
                if kind != "judgement" or name.startswith(KEYS[0].id.hex):
                    copy.keep(kind, name, store.kept(kind, name) or b"")
        copy.append([(KEYS[0].id, store.read(KEYS[0].id))])
        assert seal(copy, tmp_path / "x").missing == (f"{TASK}/1", f"{TASK}/2")
    found = verified(tmp_path / "x")
    assert (found.faults, found.trials) == ((), 1)
    assert found.notes == (f"2 repetitions have no trial that counts: {TASK}/1, {TASK}/2",)


def test_the_commands_seal_verify_and_unseal(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "c.sealed", tmp_path / "u.db"
    assert trialbox.main(["seal", str(path), "-o", str(file)]) == 0
    root = capsys.readouterr().out.split()[-1]
    assert trialbox.main(["verify", str(file), "--root", root]) == 0
    assert f"verified: 4 trials folded and judged again, root digest {root}" in capsys.readouterr().out
    assert trialbox.main(["unseal", str(file), "-o", str(store)]) == 0
    assert trialbox.main(["stats", str(store)]) == 0
    capsys.readouterr()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert trialbox.main(["verify", str(file)]) == 1
    assert "NOT verified" in capsys.readouterr().out
    assert trialbox.main(["verify", str(store)]) == 2
