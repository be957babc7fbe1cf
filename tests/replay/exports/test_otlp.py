"""Traces as the protocol has them: decoded by its own messages, from the file and from what a receiver gets."""

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from replay.exports.commands import headers_in, traces_url
from replay.exports.otlp_file import export_file
from replay.exports.source import opened_sources
from replay.exports.spans import LONGEST, spans_of
from sandbox.refusals import UserFault
from tests.replay.exports.campaigns import HUGE, NO_JSON, PRIVATE, SOUP, exported
from trialbox import main

SECRET = "sk-planted-0123456789"


class Receiver:
    """Takes traces on loopback, and keeps what it got."""

    def __init__(self, status: int = 200) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: set[str] = set()
        self.status = status

    def handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(ExportTraceServiceRequest.FromString(body))
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                receiver.paths.add(self.path)
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler


@contextmanager
def receiving(receiver: Receiver) -> Iterator[str]:
    """The endpoint of a receiver, while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), receiver.handler())
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def lines_of(path: Path, *stores: Path, with_content: bool = True) -> list[dict[str, Any]]:
    """The requests in a file."""
    with opened_sources(stores) as sources:
        export_file(sources, path, with_content=with_content)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def as_message(request: dict[str, Any]) -> ExportTraceServiceRequest:
    """A request in JSON by the rules of the protocol: ids are hexadecimal where protobuf's own form has base64."""
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    message = ExportTraceServiceRequest()
    ParseDict(request, message)
    return message


def spans_in(request: ExportTraceServiceRequest) -> list[WireSpan]:
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    """Attributes in plain values."""
    return {one.key: plain(one.value) for one in span.attributes}


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [plain(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@pytest.fixture(scope="module")
def traces(odd: Path, modelled: Path, unjudged: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[WireSpan]]:
    """The spans of each trial of three campaigns, from the file."""
    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    assert main(["export", "otel", str(odd), str(modelled), str(unjudged), "-o", str(path)]) == 0
    requests = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [spans_in(as_message(request)) for request in requests]


def test_each_trial_is_a_trace_with_the_agents_span_on_top(traces: list[list[WireSpan]], odd: Path) -> None:
    assert [spans[0].trace_id.hex() for spans in traces][:5] == [trial.key.id.hex for trial in exported(odd)]
    for agent, *steps in traces:
        assert agent.name == f"invoke_agent {attributes(agent)['gen_ai.agent.name']}"
        assert {span.trace_id for span in steps} <= {agent.trace_id}
        assert {span.parent_span_id for span in steps} <= {agent.span_id}
        assert len({span.span_id for span in (agent, *steps)}) == len(steps) + 1
        assert agent.parent_span_id == b""


def test_every_step_lies_within_its_trial(traces: list[list[WireSpan]]) -> None:
    for agent, *steps in traces:
        assert 0 < agent.start_time_unix_nano <= agent.end_time_unix_nano
        for span in steps:
            times = (span.start_time_unix_nano, span.end_time_unix_nano)
            assert agent.start_time_unix_nano <= times[0] <= times[1] <= agent.end_time_unix_nano


def test_a_verdict_is_an_event_of_the_agents_span(traces: list[list[WireSpan]]) -> None:
    events = [attributes(event) for agent, *_ in traces for event in agent.events]
    assert {event.name for agent, *_ in traces for event in agent.events} == {"gen_ai.evaluation.result"}
    score = [(event["gen_ai.evaluation.score.label"], event.get("gen_ai.evaluation.score.value")) for event in events]
    assert score[:5] == [("pass", 1.0), ("fail", 0.0), ("fail", 0.0), ("fail", 0.0), ("pass", 1.0)]
    assert score[-2:] == [("ungradeable", None)] * 2
    assert "status, found solved" in events[1]["gen_ai.evaluation.explanation"]
    assert "hold" not in events[1]["gen_ai.evaluation.explanation"].replace("on hold", "")


def test_a_call_of_a_tool_is_a_span_with_what_was_asked_and_answered(traces: list[list[WireSpan]]) -> None:
    _, *steps = traces[2]
    told = [attributes(span) for span in steps]
    assert [span.name for span in steps] == ["execute_tool search_policy"] * 5 + ["execute_tool no such tool"]
    assert told[0]["gen_ai.tool.call.arguments"] == told[0]["input.value"] == NO_JSON
    assert told[0]["gen_ai.tool.call.result"] == told[0]["output.value"] == steps[0].status.message
    assert [one.get("error.type") for one in told] == ["Invalid"] * 4 + [None, "Unsupported"]
    assert steps[4].status.code == Status.STATUS_CODE_UNSET
    assert steps[5].status.code == Status.STATUS_CODE_ERROR
    assert len({one["gen_ai.tool.call.id"] for one in told}) == 6


def test_a_model_call_is_a_span_with_its_tokens(traces: list[list[WireSpan]]) -> None:
    spans = next(spans for spans in traces if any(span.name == "chat agent-1" for span in spans))
    chats = [attributes(span) for span in spans if span.name.startswith("chat ")]
    assert [one["trialbox.party"] for one in chats] == ["agent", "user", "agent", "agent"]
    assert {span.kind for span in spans if span.name.startswith("chat ")} == {WireSpan.SPAN_KIND_CLIENT}
    first = chats[0]
    assert first["gen_ai.usage.input_tokens"] == 100
    assert first["gen_ai.usage.cache_read.input_tokens"] == 40
    assert first["gen_ai.usage.cache_creation.input_tokens"] == 10
    assert (first["gen_ai.usage.output_tokens"], first["gen_ai.usage.reasoning.output_tokens"]) == (20, 5)
    assert (first["gen_ai.request.model"], first["gen_ai.response.finish_reasons"]) == ("agent-1", ["stop"])
    assert [name for name in chats[1] if name.startswith("gen_ai.usage")] == []
    assert sum(attributes(span).get("trialbox.attempts", 1) - 1 for spans in traces for span in spans) == 1


def test_messages_are_in_the_form_of_the_conventions(traces: list[list[WireSpan]]) -> None:
    spans = next(spans for spans in traces if any(span.name == "chat agent-1" for span in spans))
    asked = [attributes(span)["gen_ai.output.messages"] for span in spans if "agent-1" in span.name]
    [text], [calls] = json.loads(asked[0]), json.loads(asked[1])
    assert text == {
        "role": "assistant",
        "parts": [{"type": "text", "content": "I can see to that. Shall I?"}],
        "finish_reason": "stop",
    }
    assert {part["type"] for part in calls["parts"]} == {"tool_call"}
    assert len(calls["parts"]) == sum(span.name.startswith("execute_tool") for span in spans)


def test_odd_texts_come_through_and_huge_ones_are_cut(traces: list[list[WireSpan]]) -> None:
    agent = attributes(traces[2][0])
    assert agent["output.value"] == f"{HUGE[:LONGEST]}… ({len(HUGE)} characters)"
    spans = [span for spans in traces for span in spans]
    assert (
        max(len(value) for span in spans for value in attributes(span).values() if isinstance(value, str)) < 2 * LONGEST
    )


def test_control_characters_stand_in_the_file_as_escapes(odd: Path, tmp_path: Path) -> None:
    requests = lines_of(tmp_path / "t.jsonl", odd)
    assert len(requests) == 5
    assert (tmp_path / "t.jsonl").read_bytes().count(b"\n") == 5
    assert SOUP not in json.dumps(requests)


def test_integers_are_text_and_ids_hexadecimal_in_the_file(odd: Path, tmp_path: Path) -> None:
    [request, *_] = lines_of(tmp_path / "t.jsonl", odd)
    agent = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert (len(agent["traceId"]), len(agent["spanId"]), agent["kind"]) == (32, 16, 1)
    assert (type(agent["startTimeUnixNano"]), type(agent["endTimeUnixNano"])) == (str, str)
    values = {one["key"]: one["value"] for one in agent["attributes"]}
    assert values["trialbox.repetition"] == {"intValue": "0"}
    assert values["trialbox.flags"] == {"arrayValue": {"values": []}}


def test_the_same_trial_has_the_same_spans_wherever_it_is_exported(odd: Path, tmp_path: Path) -> None:
    lines_of(tmp_path / "one.jsonl", odd)
    lines_of(tmp_path / "other.jsonl", odd)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_what_a_receiver_gets_is_what_the_file_holds(odd: Path, modelled: Path, tmp_path: Path) -> None:
    receiver = Receiver()
    with receiving(receiver) as url:
        code = main(["export", "otel", str(odd), str(modelled), "--endpoint", url, "--header", f"x-key={SECRET}"])
    assert code == 0
    requests = [as_message(request) for request in lines_of(tmp_path / "t.jsonl", odd, modelled)]
    sent = [span for request in receiver.requests for span in spans_in(request)]
    for span in sent:
        span.flags = 0
    assert sent == [span for request in requests for span in spans_in(request)]
    assert receiver.paths == {"/v1/traces"}
    assert {headers["x-key"] for headers in receiver.headers} == {SECRET}


def test_a_header_is_not_written_anywhere(odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with receiving(Receiver(401)) as url:
        assert main(["export", "otel", str(odd), "--endpoint", url, "--header", f"authorization=Bearer {SECRET}"]) == 2
    assert main(["export", "otel", str(odd), "--endpoint", "http://localhost", "--header", f"a={SECRET}\n"]) == 2
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    refused, unsendable = told.err.splitlines()
    assert "/v1/traces: took 0 trials, and not trial " in refused
    assert "401" in refused
    assert unsendable.endswith("--header number 1 cannot be sent; write NAME=VALUE in printable ASCII")


def test_a_receiver_that_is_not_there_is_named(
    odd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0.2")
    with receiving(Receiver()) as url:
        gone = url
    assert main(["export", "otel", str(odd), "--endpoint", gone]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"trialbox export: {gone}/v1/traces: took 0 trials")


def test_content_is_left_out_on_demand(odd: Path, modelled: Path, tmp_path: Path) -> None:
    bare = lines_of(tmp_path / "bare.jsonl", odd, modelled, with_content=False)
    text = json.dumps(bare)
    whole = json.dumps(lines_of(tmp_path / "whole.jsonl", odd, modelled))
    contents = ("Shall I?", "All done.", "input.value", "found solved", "query", "gen_ai.output.messages")
    assert [content for content in contents if content in text] == []
    assert [content for content in contents if content not in whole] == []
    assert "gen_ai.usage.input_tokens" in text


def test_private_context_and_raw_replies_are_in_no_span(modelled: Path, tmp_path: Path) -> None:
    text = json.dumps(lines_of(tmp_path / "t.jsonl", modelled))
    assert PRIVATE not in text
    assert "chatcmpl-1" not in text


def test_a_redacted_campaign_has_no_texts(redacted: Path, tmp_path: Path) -> None:
    text = json.dumps(lines_of(tmp_path / "t.jsonl", redacted))
    assert "All done." not in text
    assert "redacted:" in text


def test_span_ids_depend_on_trial_and_position(odd: Path) -> None:
    spans = [span for trial in exported(odd) for span in spans_of(trial)]
    assert len({(span.trace, span.id) for span in spans}) == len({span.id for span in spans}) == len(spans)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ("https://a.example/", "https://a.example/v1/traces"),
        ("http://localhost/api/otel/v1/traces", "http://localhost/api/otel/v1/traces"),
    ],
)
def test_an_endpoint_without_a_path_gets_the_usual_one(given: str, url: str) -> None:
    assert traces_url(given) == url


@pytest.mark.parametrize("given", ["localhost:4318", "ftp://a", "http://", ""])
def test_what_is_no_url_is_refused(given: str) -> None:
    with pytest.raises(UserFault, match="is no endpoint"):
        traces_url(given)


@pytest.mark.parametrize("given", ["a", "=b", "a=", "a=b\n", "a= b", "a b=c", "a=é"])
def test_what_is_no_header_is_refused(given: str) -> None:
    with pytest.raises(UserFault, match="--header number 2"):
        headers_in(["fine=yes and no", given])


def test_headers_are_taken_as_they_are() -> None:
    assert headers_in(["x-key=a=b", "Authorization=Bearer c"]) == {"x-key": "a=b", "Authorization": "Bearer c"}


@pytest.mark.parametrize("given", [[], ["-o", "{file}", "--endpoint", "http://localhost"]])
def test_traces_go_to_one_place(
    odd: Path, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "otel", str(odd), *(one.format(file=tmp_path / "t") for one in given)]) == 2
    assert "say where the traces go" in capsys.readouterr().err


def test_a_missing_opentelemetry_is_named_in_a_line(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.startswith(("opentelemetry.", "replay.exports.otlp_http"))]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "opentelemetry", None)
        assert main(["export", "otel", str(odd), "--endpoint", "http://localhost"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "opentelemetry, which is not installed; install it with: pip install 'trialbox[otel]'" in line
