"""No spelling of a key that JSON knows gets past the censor, and nothing else is touched."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sandbox.censor import NO_KEY, SHORTEST, Censor
from tests.sandbox.asking import KEY
from tests.sandbox.spellings import is_in, spelt

SIGNS = st.characters(min_codepoint=33, max_codepoint=126)
KEYS = (
    st.text(SIGNS, min_size=SHORTEST, max_size=24)
    | st.text(st.sampled_from('/\\"<&u05cCaA-'), min_size=SHORTEST, max_size=24)
    | st.text(st.sampled_from("0123456789"), min_size=SHORTEST, max_size=24)
).filter(lambda key: Censor(key).is_watching)
AROUND = st.text(max_size=8) | st.text(st.sampled_from('\\/"u05c{[ n'), max_size=8)
HERE = "@HERE@"
PLACES: list[Any] = [
    {"choices": [{"message": {"content": f"hi {HERE} there"}}]},
    {"choices": [{"message": {"content": [{"type": "text", "text": HERE}]}, "finish_reason": HERE}]},
    {"choices": [{"message": {"tool_calls": [{"id": HERE, "function": {"name": HERE, "arguments": HERE}}]}}]},
    {"model": HERE, "id": HERE, "usage": {"prompt_tokens": HERE, HERE: 1}},
    {"error": {"message": f"no key '{HERE}'", "code": HERE}},
    [HERE, {HERE: [HERE]}],
    HERE,
]


@given(st.data(), KEYS, AROUND, AROUND, st.integers(0, 3))
def test_no_text_keeps_a_key_however_it_is_spelt(
    data: st.DataObject, key: str, before: str, after: str, depth: int
) -> None:
    text = before + data.draw(spelt(key, depth)) + after
    made = Censor(key).text(text)
    assert not is_in(key, made)
    assert NO_KEY in made


@given(st.data(), KEYS, st.sampled_from(PLACES), st.integers(1, 3))
def test_json_with_a_key_anywhere_stays_json_without_it(data: st.DataObject, key: str, place: Any, depth: int) -> None:
    wire = json.dumps(place).replace(HERE, data.draw(spelt(key, depth)))
    json.loads(wire)
    made = Censor(key).text(wire)
    assert not is_in(key, made)
    assume(made != NO_KEY)
    assert json.dumps(json.loads(made)).count(NO_KEY) >= 1
    assert shape(json.loads(made)) == shape(place)


@given(st.data(), KEYS, st.integers(1, 2), st.integers(1, 2))
def test_arguments_stay_arguments_without_the_key(data: st.DataObject, key: str, inner: int, outer: int) -> None:
    arguments = '{"table":"' + data.draw(spelt(key, inner)) + '","n":[1.5,null]}'
    wire = '{"arguments":"' + data.draw(spelt(arguments, 1)) + '"}'
    made = Censor(key).text(wire)
    assert not is_in(key, made)
    assume(made != NO_KEY and json.loads(made)["arguments"] != NO_KEY)
    assert json.loads(json.loads(made)["arguments"]) == {"table": NO_KEY, "n": [1.5, None]}


@given(KEYS, st.integers(0, 6))
def test_a_key_that_stands_as_a_number_or_a_name_is_found(key: str, place: int) -> None:
    if key.isdecimal() and not key.startswith("0"):
        made = Censor(key).text(f'{{"n": [{key}, -{key}, {key}.5, true]}}')
        assert not is_in(key, made)
        assert json.loads(made)["n"][3] is True


@given(st.text(), st.sampled_from([KEY, "0123456789ab", "sk/PLANTED/0123456789", '"u00"0123456789']))
def test_a_text_without_the_key_is_not_touched(text: str, key: str) -> None:
    for one in (text, json.dumps(text), json.dumps({"a": json.dumps([text])})):
        assert Censor(key).text(one) == one


@pytest.mark.parametrize("key", ["", "none", "test", "solve", "ticket", "sk-01234567", "\\" * 40])
def test_a_short_key_is_a_word_like_any_other_in_what_models_say(key: str) -> None:
    censor = Censor(key)
    text = json.dumps({"name": f"desk_{key}_ticket", "arguments": f'{{"to": "{key}"}}'})
    assert censor.text(text) == text


def test_a_short_key_stands_in_no_message() -> None:
    assert Censor("solve").message("401: no such key: solve; solved") == f"401: no such key: {NO_KEY}; solved"
    assert Censor("").message("401: no such key: ") == "401: no such key: "


MILLION = 1_000_000
LARGE = {
    "prose": "The quick brown fox sk- says hello to you. " * (MILLION // 43),
    "lines": json.dumps({"content": 'A line, and\n"another".\n' * (MILLION // 30)}),
    "unicode": json.dumps({"content": "\u4e2d\u6587é" * (MILLION // 18)}),
    "escapes": json.dumps({"content": "it's <b> " * (MILLION // 24)}).replace("'", "\\u0027").replace("<", "\\u003c"),
    "backslashes": "\\" * MILLION,
    "key at the end": json.dumps({"content": "s" * MILLION + KEY.replace("-", "\\u002d")}),
    "backslashes and key": "s" + "\\" * MILLION + KEY.replace("-", "\\u002d"),
    "chains": "\\" + "u005c" * (MILLION // 5) + "s",
    "numbers": json.dumps({"key": KEY, "logprobs": [{"token": "ab", "logprob": -0.1, "bytes": [1]}] * 20_000}),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_work_grows_with_the_text_and_no_faster(name: str) -> None:
    censor, text = Censor(KEY), LARGE[name]
    started = process_time()
    censor.text(text)
    assert process_time() - started < 2, "a megabyte takes some hundredths of a second"


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(part) for part in value.values()]
    return [shape(part) for part in value] if isinstance(value, list) else type(value)
