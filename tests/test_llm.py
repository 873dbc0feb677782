"""A model behind /chat/completions, asked through the real SDK, of a server that behaves like the real ones."""

from __future__ import annotations

import gzip
import json
import secrets
import socket
import time
import zlib
from collections.abc import Iterator

import pytest
from stub_llm import Reply, StubLLM, in_turn, refused, serving

from session_migrator import llm, llm_answers
from session_migrator.errors import Unavailable, UsageError
from session_migrator.llm import Connection, Endpoint, configured

KEY = "sk-" + secrets.token_hex(12)
OWN = {"SESSION_MIGRATOR_LLM_BASE_URL": "https://llm.example/v1", "SESSION_MIGRATOR_LLM_MODEL": "kimi-k2"}
SECRET = "the words of the user"


@pytest.fixture(params=[True, False], ids=["in pieces", "at once"])
def stub(request: pytest.FixtureRequest) -> Iterator[StubLLM]:
    with serving(key=KEY) as running:
        running.streams = request.param
        yield running


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "_RETRIES", 1)


def ask(stub: StubLLM, key: str = KEY, model: str = "gpt-5.4-mini", url: str | None = None) -> str:
    connection = Connection(Endpoint(base_url=url or stub.url, model=model, key=key), 1_000)
    try:
        return connection.ask("Answer.", SECRET, lambda _: None)
    finally:
        connection.close()


def failure(stub: StubLLM, key: str = KEY, model: str = "gpt-5.4-mini", url: str | None = None) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        ask(stub, key, model, url)
    chain, error = [], raised.value
    while error:
        chain += [str(error), getattr(error, "remedy", "")]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert not [said for said in chain if key in said or SECRET in said or "\n" in said]
    assert raised.value.remedy
    return raised.value


def test_without_a_key_it_is_said_what_to_set() -> None:
    with pytest.raises(UsageError) as raised:
        configured({})
    assert raised.value.exit_code == 2
    for name in ("DEEPSEEK_API_KEY", "OPENAI_API_KEY", "SESSION_MIGRATOR_LLM_BASE_URL"):
        assert name in raised.value.remedy


def test_a_key_goes_to_its_own_vendor() -> None:
    deepseek, openai = configured({"DEEPSEEK_API_KEY": "a", "OPENAI_API_KEY": "b"}), configured({"OPENAI_API_KEY": "b"})
    assert (deepseek.host, deepseek.key) == ("api.deepseek.com", "a")
    assert (openai.host, openai.key) == ("api.openai.com", "b")
    own = configured({**OWN, "SESSION_MIGRATOR_LLM_API_KEY": "c", "DEEPSEEK_API_KEY": "a"})
    assert (own.host, own.key, own.model) == ("llm.example", "c", "kimi-k2")
    with pytest.raises(UsageError, match=r"no key for llm\.example"):
        configured({**OWN, "DEEPSEEK_API_KEY": "a", "OPENAI_API_KEY": "b"})


def test_a_model_of_the_vendors_can_be_named_with_the_key_alone() -> None:
    assert configured({"OPENAI_API_KEY": "b", "SESSION_MIGRATOR_LLM_MODEL": "gpt-6-sol"}).model == "gpt-6-sol"


@pytest.mark.parametrize(
    "address", ["http://localhost:11434/v1", "http://127.0.0.1:8000/v1/", "http://[::1]:1234/v1", "http://10.0.0.5/v1",
                "http://ollama:11434/v1", "http://host.docker.internal:1/v1"],
)  # fmt: skip
def test_a_local_address_needs_no_key(address: str) -> None:
    found = configured({**OWN, "SESSION_MIGRATOR_LLM_BASE_URL": address, "OPENAI_API_KEY": "b"})
    assert found.key == ""
    assert found.is_local


@pytest.mark.parametrize("missing", ["SESSION_MIGRATOR_LLM_BASE_URL", "SESSION_MIGRATOR_LLM_MODEL"])
def test_a_key_of_ones_own_goes_nowhere_unless_it_is_said_where(missing: str) -> None:
    given = {**OWN, "SESSION_MIGRATOR_LLM_API_KEY": "c"}
    with pytest.raises(UsageError, match=f"{missing} is not set"):
        configured({name: value for name, value in given.items() if name != missing})


@pytest.mark.parametrize("address", ["llm.example/v1", "ftp://llm.example", "http://", "http://[", "http://a:99999/v1"])
def test_what_is_no_address_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="holds no address"):
        configured({**OWN, "SESSION_MIGRATOR_LLM_BASE_URL": address, "SESSION_MIGRATOR_LLM_API_KEY": KEY})


@pytest.mark.parametrize("key", ["sk-ä", "sk a", "sk\na"])
def test_what_is_no_key_is_not_sent_or_shown(key: str) -> None:
    with pytest.raises(UsageError) as raised:
        configured({"OPENAI_API_KEY": key})
    assert key not in str(raised.value)


def test_an_endpoint_does_not_show_its_key() -> None:
    assert KEY not in repr(configured({"OPENAI_API_KEY": KEY}))


@pytest.mark.parametrize(
    ("address", "is_openai", "limit"),
    [
        ("https://api.openai.com/v1", True, "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", True, "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", False, "max_completion_tokens"),
        ("https://api.deepseek.com", False, "max_tokens"), ("http://localhost:1/api.openai.com", False, "max_tokens"),
    ],
)  # fmt: skip
def test_the_limit_has_the_name_that_is_known_there(address: str, is_openai: bool, limit: str) -> None:
    endpoint = Endpoint(base_url=address, model="m")
    assert (endpoint.is_openai, endpoint.limit) == (is_openai, limit)


def test_an_answer_comes_back_with_what_it_took(stub: StubLLM) -> None:
    stub.answers = lambda _: Reply(
        "## Goal", reasoning="Let me think.", usage={"prompt_tokens": 9, "completion_tokens": 4}
    )
    connection = Connection(Endpoint(base_url=stub.url, model="gpt-5.4-mini", key=KEY), 1_000)
    assert connection.ask("Answer.", SECRET, lambda _: None) == "## Goal"
    assert (connection.requests, connection.read, connection.written) == (1, 9, 4)
    connection.close()
    (request,) = stub.seen
    assert [(message["role"], message["content"]) for message in request["messages"]] == [
        ("system", "Answer."), ("user", SECRET)
    ]  # fmt: skip
    assert request["max_tokens"] == 1_000


@pytest.mark.parametrize("unknown", ["stream_options", "stream", "max_tokens"])
def test_an_option_that_a_server_refuses_is_left_out(stub: StubLLM, unknown: str) -> None:
    stub.unknown, stub.streams = unknown, unknown != "stream"
    assert ask(stub).startswith("## Goal")
    assert [unknown in request for request in stub.seen] == [True, False]


@pytest.mark.parametrize("reply", [Reply("## Goal\n" * 40, breaks=True), Reply("## Goal\n" * 40, error="overloaded")])
def test_a_stream_that_breaks_off_is_asked_for_again(reply: Reply) -> None:
    with serving(key=KEY) as stub:
        stub.answers = in_turn(reply, reply, "## Goal")
        assert ask(stub) == "## Goal"
        stub.answers, stub.seen = in_turn(reply), []
        assert "it broke off" in str(failure(stub))
        assert len(stub.seen) == 3


@pytest.mark.parametrize(
    "piece", ["5", "[1]", '"text"', "null", "nothing", "{}", '{"choices": 5}', '{"choices": [null]}', '{"error": 5}',
              '{"choices": [{"delta": 5, "finish_reason": 7}], "usage": 3}',
              "\xff", '{"choices": [{"delta": {"content": 4}}]}', '{"choices": ' + "[" * 100_000,
              '{"choices": ' + "[" * 900 + "]" * 900 + "}"],
    ids=lambda piece: piece[:40],
)  # fmt: skip
def test_pieces_that_are_none_are_no_answer(stub: StubLLM, piece: str) -> None:
    body = f"data: {piece}\n\ndata: [DONE]\n\n".encode("latin-1")
    stub.answers = lambda _: Reply(body=body, headers={"Content-Type": "text/event-stream"})
    assert "it broke off" in str(failure(stub))


def test_an_address_may_have_the_endpoint_in_it(stub: StubLLM) -> None:
    given = {**OWN, "SESSION_MIGRATOR_LLM_BASE_URL": f"{stub.url}/chat/completions"}
    assert configured(given).base_url == stub.url


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nHm, a loop?\n</think>\n\n## Goal",
        [{"type": "thinking", "thinking": []}, {"type": "text", "text": "## Goal"}],
    ],
)
def test_reasoning_in_the_answer_is_no_part_of_it(stub: StubLLM, text: object) -> None:
    stub.answers = lambda _: Reply(text)
    assert ask(stub) == "## Goal"


def test_a_local_server_is_asked_without_a_key_and_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HTTP_PROXY": "http://127.0.0.1:9", "OPENAI_API_KEY": KEY, "OPENAI_ORG_ID": "org-mine",
                        "OPENAI_CUSTOM_HEADERS": "X-Gateway: secret"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with serving() as stub:
        assert ask(stub, key="").startswith("## Goal")
        (headers,) = stub.headers
    assert not {"authorization", "openai-organization", "x-gateway"} & set(headers)
    assert KEY not in str(headers)


def test_a_wrong_key_is_one_line(stub: StubLLM) -> None:
    assert "401: it does not accept the key" in str(failure(stub, key="sk-" + "wrong" * 4))


def test_an_unknown_model_is_named(stub: StubLLM) -> None:
    assert "it has no model 'gpt-9'" in str(failure(stub, model="gpt-9"))
    for said in (
        refused(400, "Model Not Exist", "invalid_request_error"),
        refused(404, "model 'x' not found, try pulling it first"),
    ):
        stub.answers = lambda _, said=said: said
        assert "it has no model" in str(failure(stub))


def test_a_busy_service_is_asked_again_when_it_says(stub: StubLLM) -> None:
    stub.answers = in_turn(refused(429, "slow down", Retry_After="1"), "## Goal")
    started = time.monotonic()
    assert ask(stub) == "## Goal"
    assert time.monotonic() - started > 0.9


def test_a_service_that_is_busy_for_long_says_for_how_long(stub: StubLLM) -> None:
    stub.answers = lambda _: refused(429, "slow down", Retry_After="3600")
    error = failure(stub)
    assert "429: it is asked too often" in str(error)
    assert "in 3,600 seconds" in error.remedy
    assert len(stub.seen) == 1


def test_a_date_to_retry_after_is_understood(stub: StubLLM) -> None:
    stub.answers = lambda _: refused(429, "slow down", Retry_After="Fri, 31 Dec 2100 23:59:59 GMT")
    assert "seconds" in failure(stub).remedy


@pytest.mark.parametrize(
    "date", ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 9999 00:00:00 -9999", "9" * 400, "1e400",
             "Mon, 01 Jan 2027 00:00:00 +99999999999999999", "Mon, 01 Jan 0001 00:00:00 +2300", "Mon, 99 Jan 2027"],
)  # fmt: skip
def test_a_date_that_is_none_is_no_date(stub: StubLLM, date: str) -> None:
    stub.answers = lambda _: refused(429, "slow down", Retry_After=date, x_should_retry="false")
    assert "429: it is asked too often" in str(failure(stub))


@pytest.mark.parametrize("reply", [refused(402, "Insufficient Balance"), refused(429, "no", "insufficient_quota")])
def test_an_account_without_credit_is_told_from_a_busy_service(stub: StubLLM, reply: Reply) -> None:
    stub.answers = lambda _: reply
    assert "no credit" in str(failure(stub))


def test_a_service_out_of_order_is_asked_again(stub: StubLLM) -> None:
    stub.answers = in_turn(Reply(status=503, body=b"<html>"), "## Goal")
    assert ask(stub) == "## Goal"
    stub.answers = lambda _: Reply(status=500, body=b"<html>")
    assert "500: it is out of order" in str(failure(stub))


def test_a_late_answer_is_a_time_out(stub: StubLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "_PATIENCE", 1.0)
    stub.answers = lambda _: Reply("## Goal", delay=20)
    assert "did not answer within 1 seconds" in str(failure(stub))
    assert len(stub.seen) == 2


def test_a_refused_connection_is_one_line(stub: StubLLM) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    error = failure(stub, url=url)
    assert "cannot be reached" in str(error)
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[1]", b'"text"', b"", b'{"a": NaN}', b"\xff"])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_what_is_no_json_object_is_no_answer(stub: StubLLM, body: bytes, kind: str) -> None:
    stub.answers = lambda _: Reply(body=body, headers={"Content-Type": kind})
    assert "did not answer with JSON" in str(failure(stub))


@pytest.mark.parametrize(
    "body", [{}, {"choices": []}, {"choices": [{}]}, {"choices": None}, {"choices": [{"message": 1}]}]
)
def test_json_that_is_no_completion_is_no_answer(stub: StubLLM, body: object) -> None:
    stub.answers = lambda _: Reply(body=json.dumps(body).encode())
    assert "something else than a completion" in str(failure(stub))


@pytest.mark.parametrize("finish", [[], ["stop"], {}, 5, None])
def test_an_end_that_is_none_does_no_harm(stub: StubLLM, finish: object) -> None:
    choice = {"message": {"role": "assistant", "content": "## Goal"}, "finish_reason": finish}
    usage = {"prompt_tokens": 10**400, "completion_tokens": -1}
    stub.answers = lambda _: Reply(body=json.dumps({"choices": [choice], "usage": usage}).encode())
    assert ask(stub) == "## Goal"


@pytest.mark.parametrize("status", [200, 302, 400, 429, 500])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_without_an_end_is_left(
    stub: StubLLM, monkeypatch: pytest.MonkeyPatch, status: int, kind: str
) -> None:
    piece = b'data: {"choices": [{"index": 0, "delta": {"content": "more "}}]}\n\n'
    headers = {"Content-Type": kind, "Location": "/"}
    stub.answers = lambda _: Reply(body=piece * 4_000, status=status, headers=headers)
    monkeypatch.setattr(llm, "_MOST_BYTES", 200_000)
    assert "answered with more than 200,000 bytes" in str(failure(stub))
    monkeypatch.setattr(llm, "_LONGEST", 0.0)
    assert "came to no end within 0 seconds" in str(failure(stub))
    assert len(stub.seen) == 2 or status in (429, 500)  # which the SDK asks again before it reads a stream


def test_an_answer_that_is_packed_is_limited_unpacked(stub: StubLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "_MOST_BYTES", 200_000)
    packed = gzip.compress(b" " * 5_000_000)
    assert len(packed) < 200_000
    stub.answers = lambda _: Reply(body=packed, headers={"Content-Encoding": "gzip"})
    assert "answered with more than 200,000 bytes" in str(failure(stub))
    nothing = zlib.compressobj(wbits=31).flush(zlib.Z_SYNC_FLUSH) + b"\0\0\0\xff\xff" * 50_000
    stub.answers = lambda _: Reply(body=nothing, headers={"Content-Encoding": "gzip"})
    assert "answered with more than 200,000 bytes" in str(failure(stub))


def test_an_answer_that_is_far_too_long_is_no_answer(stub: StubLLM) -> None:
    stub.answers = lambda _: Reply(" ".join(map(str, range(100_000))))
    assert "it is far too long" in str(failure(stub))


def test_a_wrong_address_is_told_from_an_unknown_model(stub: StubLLM) -> None:
    assert "it has no /chat/completions there" in str(failure(stub, url=stub.url + "/v2"))


def test_a_redirect_is_not_followed(stub: StubLLM) -> None:
    stub.answers = lambda _: Reply(status=307, body=b"", headers={"Location": stub.url + "/chat/completions"})
    assert "redirects are not followed" in str(failure(stub))
    assert len(stub.seen) == 1


def test_a_request_over_the_window_says_what_to_do(stub: StubLLM) -> None:
    stub.answers = lambda _: refused(400, "maximum context length is 8192 tokens", "context_length_exceeded")
    assert "models.json" in failure(stub).remedy


def test_a_server_that_cuts_what_it_is_sent_is_found_out(stub: StubLLM) -> None:
    stub.answers = lambda _: Reply("## Goal", usage={"prompt_tokens": 4_096, "completion_tokens": 4})
    connection = Connection(Endpoint(base_url=stub.url, model="gpt-5.4-mini", key=KEY), 1_000)
    assert connection.ask("", SECRET, lambda _: None, least=4_000) == "## Goal"
    with pytest.raises(Unavailable, match="read 4,096 tokens of at least 20,000") as raised:
        connection.ask("", SECRET, lambda _: None, least=20_000)
    assert "OLLAMA_CONTEXT_LENGTH" in raised.value.remedy
    stub.answers = lambda _: Reply("## Goal", usage={"prompt_tokens": 0, "completion_tokens": 0})
    assert connection.ask("", SECRET, lambda _: None, least=20_000) == "## Goal"
    connection.close()


def test_blank_lines_that_keep_a_connection_open_do_no_harm(stub: StubLLM) -> None:
    choice = {"message": {"role": "assistant", "content": "## Goal"}, "finish_reason": "stop"}
    stub.answers = lambda _: Reply(body=b"\n\n\n" + json.dumps({"choices": [choice]}).encode())
    assert ask(stub) == "## Goal"


LOOPS = [
    "## Goal\n\n" + "and then it ran the tests again, " * 20,
    "## Goal\n\n" + "\n".join(f"{n}. The user asked for the parser to be fixed." for n in range(9)) + "\n\nDone.",
]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(""), "it is empty"), (Reply(None), "it is empty"), (Reply("<think>only that</think>"), "it is empty"),
        (Reply(None, refusal="I can't help with that."), "it refuses"),
        (Reply("## Goal", finish="content_filter"), "it refuses"),
        (Reply("## Goal", finish="length"), "it was cut off at its longest"),
        (Reply("## Goal", finish="insufficient_system_resource"), "it broke off"),
        *((Reply(loop), "it repeats itself") for loop in LOOPS),
    ],
)  # fmt: skip
def test_an_answer_of_no_use_is_asked_for_again(stub: StubLLM, reply: Reply, problem: str) -> None:
    stub.answers = in_turn(reply, reply, "## Goal")
    assert ask(stub) == "## Goal"
    stub.answers, stub.seen = in_turn(reply), []
    assert problem in str(failure(stub))
    assert len(stub.seen) == 3


def test_an_answer_that_the_caller_rejects_is_asked_for_again(stub: StubLLM) -> None:
    stub.answers = in_turn("no heading", "## Goal")
    connection = Connection(Endpoint(base_url=stub.url, model="gpt-5.4-mini", key=KEY), 1_000)
    assert connection.ask("", SECRET, lambda text: None if "#" in text else "it has no headings") == "## Goal"
    assert connection.requests == 2
    connection.close()


def test_a_list_or_a_table_is_no_loop() -> None:
    table = "| file | edits |\n| --- | --- |\n" + "".join(
        f"| src/{name}.py | {n} |\n" for n, name in enumerate("abcdefgh")
    )
    assert not llm_answers.repeats(table + "-" * 80)
    assert not llm_answers.repeats("- done\n- done\n- done\n- done")
    assert not llm_answers.repeats("\n".join(f"- The row of harbour {n} is right now (turn {n})" for n in range(9)))
