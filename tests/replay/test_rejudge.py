"""Stored trials under other expectations and judges: which verdicts flip, why, and what stays."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from domains.probe import domain
from domains.probe.messages import NoteAdded, added
from domains.probe.orders import Note
from domains.probe.refunds import RefundIssued, refund
from judges.campaigns import MixedBundles, ensure_one_bundle, mixed_tasks, rebuilt_views, scores_of
from judges.court import judgements, keep_bundle, keep_judgements
from judges.expectation import Accepted, AtMostOnce, GoldenCall, Never
from judges.pack import PackTask
from judges.read_models import views_path
from judges.record import Judgement
from judges.verdict import Check, Evidence, Judge, Opinion, RubricAnswer, judged
from replay.ledger import ledger_of
from replay.rejudge import Again, Docket, Filed, Rehearing, rejudged
from replay.rejudge_command import heard_again, today_for
from sandbox import Call, Rows
from sandbox.archive import Archive
from sandbox.effects import effects_digest
from sandbox.fold import end_of
from sandbox.stream import Store
from sandbox.view_rows import EffectsRow
from sandbox.views import Views
from tests.replay.other_probe import TASKS, VASE, altered, expectations, expecting, follower, planned, ran
from trialbox import main

PAID = "one vase paid back"
PAY = planned("refund", order_id="ORD-9", amount=25, reason="damaged")


def outcome(*calls: GoldenCall) -> tuple[Accepted, ...]:
    return (Accepted(PAID, calls),)


def paying(amount: float, reason: str = "damaged") -> tuple[Accepted, ...]:
    return outcome(GoldenCall("refund", {"order_id": "ORD-9", "amount": amount, "reason": reason}))


def again(path: Path, *tasks: PackTask, **options: Any) -> list[Again]:
    """A store judged again with these tasks as today's."""
    with Store.open(path) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, options.pop("domain", domain))
        return list(rejudged(Rehearing(archive, expectations(*tasks)), Docket(archive, views), **options))


def flips(trials: Sequence[Again]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(one.key.task, one.before, one.after, one.causes) for one in trials if one.is_flip]


def kept(path: Path) -> list[Judgement]:
    with Store.open(path, read_only=True) as store:
        return list(judgements(store))


def test_row_09_a_corrected_golden_flips_exactly_the_verdicts_that_hang_on_it(tmp_path: Path) -> None:
    wrong = [item if item.task.id != VASE else expecting(VASE, outcomes=paying(20)) for item in TASKS.values()]
    path = ran(tmp_path / "a.db", wrong)
    found = heard_again(path, today_for(path))
    assert len(found.trials) == 2 * len(TASKS)
    assert flips(found.trials) == [(VASE, "fail", "pass", (f"golden: outcome {PAID!r} changed",))] * 2
    (flip, _) = ledger_of([found]).flips
    assert flip.trial.fields == ("probe_payments.balance", "probe_refunds.amount")
    assert flip.trial.reason == "every check says yes"
    assert [score.passed for score in scores_of(path)] == [2] * len(TASKS)
    assert flips(heard_again(path, today_for(path)).trials) == []


def test_verdicts_flip_back_with_the_expectation_and_the_last_one_counts(tmp_path: Path) -> None:
    path = ran(tmp_path / "b.db", [TASKS[VASE]])
    other = expecting(VASE, outcomes=paying(20))
    for item, result in ((other, "fail"), (TASKS[VASE], "pass"), (other, "fail"), (TASKS[VASE], "pass")):
        assert [one.after for one in again(path, item)] == [result] * 2
        assert [score.passed for score in scores_of(path)] == [2 if result == "pass" else 0]
    before = scores_of(path)
    assert rebuilt_views(path) == 2
    assert scores_of(path) == before


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ran(tmp_path / "c.db", [expecting(VASE, outcomes=paying(20))])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert main(["rejudge", str(path), "--dry-run"]) == 0
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert "2 of 2 verdicts flip; 2 fail → pass\nnothing was written" in capsys.readouterr().out
    views_path(path).unlink()
    assert main(["rejudge", str(path), "--dry-run"]) == 0
    assert not views_path(path).exists()


def test_old_judgements_stay_beside_the_new_ones(tmp_path: Path) -> None:
    path = ran(tmp_path / "d.db", [expecting(VASE, outcomes=paying(20))])
    old = kept(path)
    again(path, TASKS[VASE])
    assert kept(path)[:2] == old
    assert [one.verdict.result for one in kept(path)] == ["fail", "fail", "pass", "pass"]
    assert len({one.bundle for one in kept(path)}) == 2


def test_row_56_verdicts_of_two_judges_are_not_summed_up_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ran(tmp_path / "e.db", [expecting(VASE, outcomes=paying(20))], repetitions=10)
    names = [item for number in range(3) for item in ("--trial", f"{VASE}/{number}")]
    assert main(["rejudge", str(path), *names]) == 0
    assert f"mixed bundles now: verdicts of different judges on {VASE}" in capsys.readouterr().out
    assert mixed_tasks(scores_of(path)) == [VASE]
    with pytest.raises(MixedBundles, match=VASE):
        ensure_one_bundle(scores_of(path))
    assert main(["stats", str(path)]) == 2
    assert "mixed bundles" in capsys.readouterr().err
    assert main(["stats", str(path), "--mixed"]) == 0
    told = capsys.readouterr()
    assert "30.0%" in told.out
    assert "mixed bundles" in told.err
    assert main(["rejudge", str(path)]) == 0
    assert main(["stats", str(path)]) == 0


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], tuple[str, str], str]] = [
    ("a rule", {}, {"rules": (Never("refund-issued"),)}, ("pass", "fail"), "rule added: never refund-issued"),
    ("no rule", {"rules": (Never("refund-issued"),)}, {}, ("fail", "pass"), "rule removed: never refund-issued"),
    (
        "another bound",
        {"rules": (Never("refund-issued", {"amount": {">": 10}}),)},
        {"rules": (Never("refund-issued", {"amount": {">": 100}}),)},
        ("fail", "pass"),
        "rule changed: never refund-issued where amount > 10, now never refund-issued where amount > 100",
    ),
    (
        "a field ignored",
        {"outcomes": paying(25, "late")},
        {"outcomes": paying(25, "late"), "compare": {"probe_refunds": {"reason": "ignore"}}},
        ("fail", "pass"),
        "comparison of probe_refunds.reason: by its type, now ignore",
    ),
    ("a rubric", {}, {"rubrics": ("Was it kind?",)}, ("pass", "ungradeable"), "rubric added: Was it kind?"),
    ("no rubric", {"rubrics": ("Was it kind?",)}, {}, ("ungradeable", "pass"), "rubric removed: Was it kind?"),
    (
        "a refusal",
        {},
        {"outcomes": (), "refusal": True},
        ("pass", "fail"),
        f"golden: outcome {PAID!r} removed; refusal: False, now True",
    ),
]


@pytest.mark.parametrize(("what", "old", "new", "results", "cause"), CHANGES, ids=[change[0] for change in CHANGES])
def test_a_flip_names_the_part_that_brought_it_about(
    tmp_path: Path, what: str, old: dict[str, Any], new: dict[str, Any], results: tuple[str, str], cause: str
) -> None:
    bare: dict[str, Any] = {"outcomes": paying(25), "rules": ()}
    path = ran(tmp_path / "f.db", [expecting(VASE, **bare)], follower(PAY), repetitions=1)
    again(path, expecting(VASE, **{**bare, **old}))
    (trial,) = again(path, expecting(VASE, **{**bare, **new}))
    assert (trial.before, trial.after) == results
    assert "; ".join(trial.causes) == cause


def test_of_several_changed_parts_only_those_that_flip_alone_are_named(tmp_path: Path) -> None:
    path = ran(tmp_path / "g.db", [expecting(VASE, outcomes=paying(25), rules=())], follower(PAY), repetitions=1)
    rules = (AtMostOnce("refund-issued"), Never("refund-voided"), Never("refund-issued", {"amount": 25}))
    (trial,) = again(path, expecting(VASE, outcomes=paying(25), rules=rules))
    assert trial.causes == ("rule added: never refund-issued where amount = 25",)
    assert trial.reason == "rule never refund-issued where amount = 25: no"


def test_a_flip_by_judge_code_alone_is_put_down_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr("judges.verdict.code_digest", lambda: "0" * 64)
        then.setattr("judges.verdict.outcome_judge", lambda required: credulous())
        path = ran(tmp_path / "h.db", [TASKS[VASE]], follower())
    assert flips(again(path, TASKS[VASE])) == [(VASE, "pass", "fail", ("judge code changed",))] * 2


def credulous() -> Judge:
    """An outcome judge that believes everything."""

    def opinion(effects: object) -> Opinion:
        return Opinion(Check("outcome", PAID, "yes"), PAID)

    return Judge("outcome", PAID, ("effects",), opinion)


def stingy(call: Call, order_id: str, amount: float, reason: Any = "returned") -> object:
    """The refund tool of another day: it pays a dollar less."""
    return refund(call, order_id, amount - 1, reason)


def test_a_flip_by_domain_code_is_put_down_to_the_domain(tmp_path: Path) -> None:
    path = ran(tmp_path / "i.db", [TASKS[VASE]], follower(PAY), domain=altered({"refund": stingy}))
    cause = "domain changed: the golden calls have other effects"
    assert flips(again(path, TASKS[VASE])) == [(VASE, "pass", "fail", (cause,))] * 2


def shouted(rows: Rows, e: NoteAdded) -> Note:
    """The note handler of another day."""
    return replace(added(rows, e), text=e.text.upper())


NOTE = planned("add_note", order_id="ORD-9", text="broken")


def test_a_fold_that_differs_leaves_the_trial_ungradeable_with_the_reason(tmp_path: Path) -> None:
    path = ran(tmp_path / "j.db", [TASKS[VASE]], follower(PAY, NOTE), domain=altered(handlers={NoteAdded: shouted}))
    trials = again(path, TASKS[VASE])
    assert [(one.before, one.after) for one in trials] == [("fail", "ungradeable")] * 2
    for one in trials:
        assert "the handlers of domain probe have changed since" in one.reason
        assert one.causes[0].startswith("domain changed: the fold of ")
    assert {one.verdict.findings for one in kept(path)[2:]} == {()}


def test_row_59_a_stream_with_an_unknown_event_leaves_its_trial_ungradeable_with_the_reason(tmp_path: Path) -> None:
    path = ran(tmp_path / "k.db", [TASKS[VASE]], follower(PAY))
    golden = outcome(GoldenCall("add_note", {"order_id": "ORD-9", "text": "x"}))
    trials = again(path, expecting(VASE, outcomes=golden, rules=()), domain=altered(without=[RefundIssued]))
    assert [(one.before, one.after) for one in trials] == [("pass", "ungradeable")] * 2
    assert "record 4 has topic 'probe.refund-issued.1'" in trials[0].reason


def test_a_handler_that_breaks_on_an_old_event_leaves_its_trial_ungradeable(tmp_path: Path) -> None:
    def broken(rows: Rows, e: RefundIssued) -> Note:
        raise KeyError(e.id)

    path = ran(tmp_path / "l.db", [TASKS[VASE]], follower(PAY))
    golden = outcome(GoldenCall("add_note", {"order_id": "ORD-9", "text": "x"}))
    today = altered(handlers={RefundIssued: broken, NoteAdded: lambda rows, e: added(rows, e)})
    trials = again(path, expecting(VASE, outcomes=golden, compare={"probe_notes": {"text": "text"}}), domain=today)
    assert [one.after for one in trials] == ["ungradeable"] * 2
    assert "a handler of domain probe broke on an event of this trial: KeyError" in trials[0].reason


def test_read_models_are_rebuilt_around_trials_that_cannot_be_read(tmp_path: Path) -> None:
    path = ran(tmp_path / "m.db", [TASKS[VASE]], follower(NOTE), domain=altered(handlers={NoteAdded: shouted}))
    assert rebuilt_views(path) == 2
    assert [(score.trials, score.failed) for score in scores_of(path)] == [(2, 2)]


def test_effects_of_other_domain_code_are_folded_again_and_then_kept(tmp_path: Path) -> None:
    before = altered({"pop_next_ticket": lambda call, queue="general": None})
    path = ran(tmp_path / "n.db", [TASKS[VASE]], follower(PAY), domain=before)
    assert before.digest != domain.digest
    assert flips(again(path, TASKS[VASE])) == []
    with closing(Views(views_path(path))) as views:
        assert {row.domain_digest for row in views.trials()} == {domain.digest}
        assert views.contents([views.trials()[0].effects], domain.digest)


def test_read_models_that_somebody_changed_are_not_believed(tmp_path: Path) -> None:
    path = ran(tmp_path / "o.db", [TASKS[VASE]], follower(PAY))
    with closing(Views(views_path(path))) as views:
        (digest,) = {row.effects for row in views.trials()}
        views.add([EffectsRow(digest, domain.digest, b"\x90")])
    assert [one.after for one in again(path, expecting(VASE, rules=()))] == ["pass", "pass"]


def test_equal_evidence_is_judged_once(tmp_path: Path) -> None:
    path = ran(tmp_path / "p.db", [expecting(VASE, rules=())], follower(PAY), repetitions=4)
    with Store.open(path, read_only=True) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, domain)
        rehearing = Rehearing(archive, expectations(expecting(VASE, rules=())))
        bundle = rehearing.bundles[VASE]
        seen: list[str] = []
        judge = replace(bundle.judges[0], opinion=noting(bundle.judges[0].opinion, seen))
        rehearing.bundles[VASE] = replace(bundle, judges=(judge,))
        trials = list(rejudged(rehearing, Docket(archive, views), is_dry=True))
    assert [one.after for one in trials] == ["pass"] * 4
    assert len(seen) == 1


def noting(opinion: Callable[..., Opinion], seen: list[str]) -> Callable[..., Opinion]:
    def noted(effects: Any) -> Opinion:
        seen.append(effects_digest(effects))
        return opinion(effects)

    return noted


KIND, SHORT = "Was it kind?", "Was it short?"


def answered(path: Path, item: PackTask, answers: dict[str, RubricAnswer]) -> None:
    """Keep verdicts in which somebody has answered the rubrics."""
    with Store.open(path) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, domain)
        rehearing = Rehearing(archive, expectations(item))
        bundle = rehearing.bundles[VASE]
        keep_bundle(store, bundle)
        docket, made = Docket(archive, views), []
        for key, records in archive.closed():
            end = end_of(records)
            assert end is not None
            filed = rehearing.filed(key, end, None)
            verdict = judged(bundle, filed.evidence, answers)
            made.append(Judgement(key.id.hex, domain.digest, filed.inputs, verdict))
        keep_judgements(store, made, docket.kept)
    rebuilt_views(path)


def test_answers_to_rubrics_are_used_again_while_question_and_dialogue_are_the_same(tmp_path: Path) -> None:
    path = ran(tmp_path / "q.db", [expecting(VASE, rubrics=(KIND,))], follower(PAY), repetitions=1)
    answered(path, expecting(VASE, rubrics=(KIND,)), {KIND: RubricAnswer("yes", "it said thank you")})
    wrong = expecting(VASE, rubrics=(KIND,), outcomes=paying(20))
    assert [(one.before, one.after) for one in again(path, wrong)] == [("pass", "fail")]
    assert kept(path)[-1].verdict.checks[-1].reason == "it said thank you"
    (right,) = again(path, expecting(VASE, rubrics=(KIND,)))
    assert (right.before, right.after) == ("fail", "pass")
    (two,) = again(path, expecting(VASE, rubrics=(KIND, SHORT)))
    assert (two.after, two.causes) == ("ungradeable", (f"rubric added: {SHORT}",))


def test_an_answer_to_another_dialogue_is_not_used(tmp_path: Path) -> None:
    path = ran(tmp_path / "r.db", [expecting(VASE, rubrics=(KIND,))], follower(PAY), repetitions=1)
    answered(path, expecting(VASE, rubrics=(KIND,)), {KIND: RubricAnswer("yes")})
    with Store.open(path, read_only=True) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, domain)
        docket = Docket(archive, views)
        rehearing = Rehearing(archive, expectations(expecting(VASE, rubrics=(KIND,))))
        rehearing.filed = lambda key, ended, content: Filed({"dialogue": "another"}, Evidence(()))  # type: ignore[method-assign]
        (trial,) = rejudged(rehearing, docket, is_dry=True)
    assert trial.after == "fail"
    assert "nobody answered it" in trial.reason


def test_a_trial_that_was_never_judged_counts_as_ungradeable_before(tmp_path: Path) -> None:
    path = ran(tmp_path / "s.db", [TASKS[VASE]], follower(PAY))
    with closing(Views(views_path(path))) as views:
        rows = views.trials()
        views.clear()
        views.add(rows)
    with Store.open(path) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, domain)
        docket = Docket(archive, views)
        docket.names.clear()
        found = list(rejudged(Rehearing(archive, expectations(TASKS[VASE])), docket, is_dry=True))
    assert flips(found) == [(VASE, "ungradeable", "pass", ("not judged before",))] * 2


def test_trials_without_an_expectation_today_keep_their_verdicts_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    content = {
        "id": VASE,
        "instant": TASKS[VASE].task.instant,
        "goal": "Another goal.",
        "expect": {"outcomes": [{"name": PAID, "calls": [{"refund": {"order_id": "ORD-9", "amount": 20}}]}]},
    }
    (folder / "vase.yaml").write_text(yaml.safe_dump(content))
    path = ran(tmp_path / "t.db", [TASKS[VASE], TASKS["three-tickets"]])
    assert main(["rejudge", str(path), "--task-folder", str(folder), "--markdown"]) == 0
    told = capsys.readouterr().out
    assert "| pass | fail | 2 | golden: outcome 'one vase paid back' changed | probe_payments.balance," in told
    assert "- 2 of 4 verdicts flip; 2 pass → fail\n" in told
    assert f"{path}: no expectation today for three-tickets; those trials keep their verdicts" in told
    assert f"{path}: the public part of {VASE} has changed; judged on what was sealed" in told


def test_a_pack_brings_expectations_and_json_tells_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "pack"
    (pack / "tasks").mkdir(parents=True)
    (pack / "pack.yaml").write_text("name: corrected\nformat: 1\ndomain: probe\n")
    content = {
        "id": VASE,
        "instant": TASKS[VASE].task.instant,
        "goal": TASKS[VASE].task.goal,
        "expect": {"rubrics": [KIND]},
    }
    (pack / "tasks" / "vase.yaml").write_text(yaml.safe_dump(content))
    path = ran(tmp_path / "u.db", [TASKS[VASE]], follower(PAY))
    assert main(["rejudge", str(path), "--pack", str(pack), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["trials"], told["ungradeable"], told["k"], len(told["flips"])) == (2, 2, 2, 2)
    assert told["flips"][0]["after"] == "ungradeable"
    assert told["flips"][0]["reason"] == f"rubric {KIND}: could not check; nobody answered it"
    assert (told["before"][0]["pass_k"], told["after"][0]["pass_k"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--trial", "one-broken-vase/9"], "no closed trial 'one-broken-vase/9'"),
        (["--task", "one-vase"], "no task 'one-vase'"),
        (["--pack", "retail"], "not 'retail'"),
        (["--pack", "retial"], "did you mean 'retail'"),
        (["--task-folder", "nowhere"], "is no folder"),
        (["--pack", "probe", "--task-folder", "."], "give one of them"),
    ],
)
def test_what_cannot_be_judged_is_said_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    path = ran(tmp_path / "v.db", [TASKS[VASE]], follower(PAY), repetitions=1)
    before = path.read_bytes()
    assert main(["rejudge", str(path), *options]) == 2
    assert told in capsys.readouterr().err
    assert path.read_bytes() == before
