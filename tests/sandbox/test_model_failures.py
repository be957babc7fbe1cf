"""What is tried again and what is not, when a call is given up, and that the key never shows."""

import json
import pickle
from collections.abc import AsyncIterator
from typing import Any

import anyio
import msgspec
import pytest
from anyio import fail_after

from sandbox.model import Model
from sandbox.model_faults import (
    ContextOverflow,
    CutOff,
    DeadlinePassed,
    InvalidRequest,
    Malformed,
    ModelFault,
    NotServed,
    RateLimited,
    ServerFault,
    TimedOut,
    Unauthorized,
    Unreachable,
    retry_after_s,
)
from sandbox.model_settings import Backoff, Budgets, ModelSettings, Secret
from sandbox.records import encode_payload
from sandbox.refusals import UserFault
from sandbox.usage import Usage
from tests.sandbox.asking import HELLO, KEY, QUICK, asking
from tests.stub import OVERFLOWS, Answer, Asked, Outcome, Turn, call, failing, serving

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


RETRIED: list[tuple[Answer, type[ModelFault], str]] = [
    (failing(429), RateLimited, "rate_limited"),
    (failing(500), ServerFault, "server"),
    (failing(529, "overloaded"), ServerFault, "server"),
    (failing(408), TimedOut, "timed_out"),
    (Answer(breaks="before"), CutOff, "cut_off"),
    (Answer('{"choices": [' + " " * 100, breaks="midway"), CutOff, "cut_off"),
    (Answer("<html>busy</html>"), Malformed, "malformed"),
    (Answer('{"choices": []}'), Malformed, "malformed"),
    (Answer('{"choices": [{}]}'), Malformed, "malformed"),
    (Answer("[" * 100_000), Malformed, "malformed"),
    (Answer('{"error": {"code": 502, "message": "upstream"}}'), ServerFault, "server"),
    (Answer('{"error": "busy"}'), ServerFault, "server"),
    (Answer('{"error": null, "choices": [{"error": {"code": 502, "message": "upstream"}}]}'), ServerFault, "server"),
]


@pytest.mark.parametrize(("answer", "kind", "name"), RETRIED)
async def test_a_passing_failure_is_tried_again(answer: Answer, kind: type[ModelFault], name: str) -> None:
    async with asking([answer, Turn("hi")]) as ask:
        reply = await ask()
        assert reply.text == "hi"
        assert [attempt.fault for attempt in reply.failed] == [name]


@pytest.mark.parametrize(("answer", "kind", "name"), RETRIED)
async def test_a_lasting_failure_is_given_up_when_its_budget_is_spent(
    answer: Answer, kind: type[ModelFault], name: str
) -> None:
    budgets = msgspec.structs.replace(Budgets(), **{name: 2})
    async with asking(lambda asked: answer, budgets=budgets) as ask:
        fault = await ask.fault()
        assert (type(fault), fault.retryable, fault.attempts, len(ask.stub.asked)) == (kind, True, 3, 3)
        assert fault.__cause__ is None
        assert fault.__context__ is None


async def test_budgets_are_kept_by_class() -> None:
    script: list[Outcome] = [failing(429), failing(500), failing(429), failing(500), Turn("hi")]
    async with asking(script, budgets=Budgets(rate_limited=2, server=2)) as ask:
        assert (await ask()).replied("agent", 1).attempts == 5


async def test_a_server_that_hangs_is_asked_again_after_the_timeout() -> None:
    async with asking([Answer(breaks="hangs"), Turn("hi")], timeout_s=0.1) as ask:
        reply = await ask()
        assert [(attempt.fault, attempt.lost) for attempt in reply.failed] == [("timed_out", True)]


async def test_a_server_that_is_not_there_is_unreachable_and_nothing_is_lost() -> None:
    async with serving([]) as stub:
        url = stub.url
    async with Model(ModelSettings(url, "m", backoff=QUICK, budgets=Budgets(unreachable=1))) as model:
        with pytest.raises(Unreachable) as caught:
            await model.complete(HELLO, deadline=anyio.current_time() + 20, occasion="t/1")
        assert [attempt.lost for attempt in caught.value.failed] == [False, False]


@pytest.mark.parametrize("provider", list(OVERFLOWS))
async def test_row_32_context_overflow_is_a_class_of_its_own_and_never_tried_again(provider: str) -> None:
    async with asking(lambda asked: OVERFLOWS[provider]) as ask:
        fault = await ask.fault()
        assert (type(fault), fault.kind, fault.retryable) == (ContextOverflow, "context_overflow", False)
        assert fault.attempts == len(ask.stub.asked) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failing(400, "temperature is not supported"), InvalidRequest),
        (failing(400, "max_tokens is too large: 9000"), InvalidRequest),
        (failing(413), InvalidRequest),
        (failing(422), InvalidRequest),
        (Answer("", 302), NotServed),
        (failing(404, "no such model"), NotServed),
        (failing(405), NotServed),
        (failing(410), NotServed),
        (failing(415), NotServed),
        (failing(501), NotServed),
        (Answer('{"error": {"code": 404, "message": "no such model"}}'), NotServed),
        (failing(401, "bad key"), Unauthorized),
        (failing(403), Unauthorized),
        (failing(402, "pay first"), Unauthorized),
        (failing(429, "You exceeded your current quota", code="insufficient_quota"), Unauthorized),
        (Answer("", 400), InvalidRequest),
        (Answer('["odd"]', 400), InvalidRequest),
    ],
)
async def test_what_will_not_pass_is_asked_once(answer: Answer, kind: type[ModelFault]) -> None:
    async with asking(lambda asked: answer) as ask:
        fault = await ask.fault()
        assert (type(fault), fault.retryable, fault.attempts) == (kind, False, 1)


async def test_a_rate_limit_in_tokens_is_no_overflow() -> None:
    words = "Request too large on tokens per min (TPM): Limit 10000, Requested 15000. reduce the length of the messages"
    async with asking([failing(429, words, code="rate_limit_exceeded"), Turn("hi")]) as ask:
        assert (await ask()).failed[0].fault == "rate_limited"


async def test_row_33_a_lasting_rate_limit_is_infrastructure_and_keeps_its_class_at_the_deadline() -> None:
    async with asking(lambda asked: failing(429, retry_after="60"), backoff=Backoff()) as ask:
        fault = await ask.fault(within_s=5)
        assert (type(fault), fault.attempts, len(ask.stub.asked)) == (RateLimited, 1, 1)
        record = fault.unanswered("agent", 2)
        assert (record.fault, record.attempts, record.model) == ("rate_limited", 1, "stub-1")


async def test_retry_after_is_waited_for_up_to_its_cap() -> None:
    slow = Backoff(first_s=0, longest_s=0, longest_retry_after_s=0.2)
    async with asking(
        [failing(429, retry_after="3600"), failing(503, retry_after="0"), Turn("hi")], backoff=slow
    ) as ask:
        started = anyio.current_time()
        await ask()
        assert 0.2 <= anyio.current_time() - started < 10


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after": "soon", "date": "today"}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read_without_the_hosts_clock(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


async def test_a_model_that_is_too_slow_for_the_deadline_ends_by_it() -> None:
    async with asking([Answer(breaks="hangs")]) as ask:
        fault = await ask.fault(within_s=0.1)
        assert (type(fault), fault.retryable, fault.attempts) == (DeadlinePassed, False, 1)
        assert fault.failed[0].lost


async def test_when_failures_ate_the_time_the_last_failure_is_the_reason() -> None:
    async with asking([failing(500), Answer(breaks="hangs")]) as ask:
        fault = await ask.fault(within_s=0.3)
        assert (type(fault), [attempt.fault for attempt in fault.failed]) == (ServerFault, ["server", "deadline"])


async def test_a_deadline_that_is_over_asks_nobody() -> None:
    async with asking([]) as ask:
        fault = await ask.fault(within_s=-1)
        assert (type(fault), fault.attempts, ask.stub.asked) == (DeadlinePassed, 0, [])


async def test_waits_depend_on_the_occasion_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits(occasion: str) -> list[float]:
        waited: list[float] = []
        async with asking([*[failing(500)] * 4, Turn("hi")]) as ask:
            real = anyio.sleep

            async def sleep(delay: float) -> None:
                waited.append(delay)
                await real(0)

            monkeypatch.setattr(anyio, "sleep", sleep)
            await ask(occasion=occasion)
            monkeypatch.setattr(anyio, "sleep", real)
        return waited

    first, again, other = await waits("trial/1"), await waits("trial/1"), await waits("trial/2")
    assert first == again != other
    assert all(0 <= wait <= QUICK.longest_s for wait in first)


async def test_usage_of_failed_attempts_is_kept() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 0}
    script: list[Outcome] = [
        failing(500, usage=usage),
        Answer(json.dumps({"choices": [], "usage": usage})),
        failing(429),
        Turn("hi"),
    ]
    async with asking(script) as ask:
        known = Usage(uncached_input=9, output=0)
        assert [attempt.usage for attempt in (await ask()).failed] == [known, known, None]


UNPAID = [failing(500), failing(429), Answer('{"error": "busy"}')]
MAYBE_PAID = [
    Answer('{"choices": []}'),
    Answer('{"choices": [{"error": {"code": 502, "message": "upstream"}}]}'),
    Answer("<html>"),
    Answer(breaks="before"),
]


@pytest.mark.parametrize(("answer", "lost"), [*((one, False) for one in UNPAID), *((one, True) for one in MAYBE_PAID)])
async def test_an_answer_that_may_have_been_paid_for_and_says_nothing_of_it_is_lost(answer: Answer, lost: bool) -> None:
    async with asking([answer, Turn("hi")]) as ask:
        assert [attempt.lost for attempt in (await ask()).failed] == [lost]


async def test_an_address_that_leads_in_a_circle_is_not_served() -> None:
    async with asking(lambda asked: Answer("", 302, {"location": "/v1/chat/completions"})) as ask:
        assert type(await ask.fault()) is NotServed


def echo(asked: Asked) -> Outcome:
    """A server that repeats the key wherever it can."""
    if asked.number == 1:
        return failing(503, f"no key {asked.headers['authorization']}")
    return Turn(f"your key is {asked.headers['authorization']}", [call(KEY, KEY, KEY)], KEY, usage={"note": KEY})


async def test_the_key_is_in_no_reply_record_error_or_repr() -> None:
    async with asking(echo) as ask:
        reply = await ask()
        seen = [repr(reply), encode_payload(reply.replied("agent", 1)).decode("latin-1"), repr(ask.model)]
    async with asking(lambda asked: failing(401, f"Incorrect API key provided: {KEY}")) as ask:
        fault = await ask.fault()
        record = encode_payload(fault.unanswered("agent", 1)).decode("latin-1")
        seen += [
            str(fault),
            repr(fault),
            repr(vars(fault)),
            record,
            repr(ask.model.settings),
            str(ask.model.settings.told),
        ]
    assert "[key]" in seen[0]
    assert [text for text in seen if KEY in text] == []


async def test_a_key_that_json_escapes_is_found_too() -> None:
    key = f'{KEY}/"\\'
    answers = [json.dumps({"error": {"message": key}}), json.dumps({"error": {"message": key}}).replace("/", "\\/")]
    for text in answers:
        async with asking([Answer(text, 401)], key=Secret(key)) as ask:
            assert KEY not in str(await ask.fault())


async def test_a_secret_neither_prints_nor_encodes_nor_pickles_itself() -> None:
    secret = Secret(KEY)
    assert (repr(secret), f"{secret}", repr(Secret())) == ("Secret(…)", "Secret(…)", "Secret()")
    for write in (msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins, pickle.dumps, json.dumps):
        with pytest.raises(TypeError):
            write(secret)
    assert secret == Secret(KEY) != Secret("other")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"base_url": f"https://user:{KEY}@host/v1"}, "holds credentials"),
        ({"base_url": f"https://host/v1?key={KEY}"}, "has a query"),
        ({"base_url": "host/v1"}, "no http"),
        ({"base_url": "http://[::1/v1"}, "no http"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "has a port that is none"),
        ({"base_url": "http://127.0.0.1:0/v1"}, "has a port that is none"),
        ({"base_url": "http://127.0.0.1:80a/v1"}, "has a port that is none"),
        ({"base_url": "http://a..b/v1"}, "a host that cannot be one"),
        ({"base_url": "http://a b/v1"}, "a host that cannot be one"),
        ({"base_url": "http://host/v 1"}, "or a blank"),
        ({"key": Secret(f"{KEY}\n")}, "the key holds a blank"),
        ({"key": Secret(f"{KEY}…")}, "the key holds a blank or a sign"),
        ({"temperature": 3.0}, "not between 0 and 2"),
        ({"temperature": float("nan")}, "not between 0 and 2"),
        ({"max_output_tokens": 0}, "no room"),
        ({"timeout_s": 0}, "timeouts"),
        ({"extra_body": {"stream": True}}, "cannot replace `stream`"),
    ],
)
async def test_settings_that_cannot_work_are_refused_without_showing_a_secret(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserFault, match=words) as caught:
        ModelSettings(**({"base_url": "http://127.0.0.1/v1", "model": "m"} | change))
    assert KEY not in str(caught.value)
