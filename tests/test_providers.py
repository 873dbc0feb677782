"""The reader of providers' lists, on a server of our own in each provider's shape."""

from __future__ import annotations

import socket
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from provider_shapes import SHAPES, Limits
from stub_provider import Stub, document, serving, status

from session_migrator import __version__, providers
from session_migrator.context_windows import Window
from session_migrator.errors import Unavailable
from session_migrator.providers import Provider

# No key of anybody's.
KEY = "-".join(["kept", "between", "us"])
LISTED = "GET /v1/models"


def provider(name: str) -> Provider:
    return next(row for row in providers.providers() if row.id == name)


def set_up(monkeypatch: pytest.MonkeyPatch, name: str, url: str, key: str = KEY) -> Provider:
    row = provider(name)
    monkeypatch.setenv(row.base_variables[0], url)
    for variable in row.keys[:1]:
        monkeypatch.setenv(variable, key)
    return row


def limits(windows: dict[str, Window]) -> dict[str, Limits]:
    assert {window.source for window in windows.values()} <= {"live"}
    return {name: (window.context, window.max_input, window.max_output) for name, window in windows.items()}


def failure(row: Provider) -> str:
    """The error of a provider that cannot be read: one line, without the key and the query."""
    with pytest.raises(Unavailable) as caught:
        providers.fetch(row)
    words = f"{caught.value} {caught.value.remedy}"
    chained = f"{caught.value.__cause__} {caught.value.__context__}"
    assert "\n" not in words
    assert "?" not in words
    assert KEY not in words + chained
    return words


@pytest.mark.parametrize("name", SHAPES)
def test_the_windows_are_read_from_the_shape_of_each_provider(
    name: str, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.answers, expected = dict(SHAPES[name][0]), SHAPES[name][1]
    row = set_up(monkeypatch, name, stub.url)
    assert limits(providers.fetch(row)) == expected
    assert sorted(stub.asked) == sorted(stub.answers)
    for headers in stub.headers:
        carried = [header for header, value in headers.items() if KEY in value]
        assert carried == [header.lower() for header, value in row.headers.items() if "{key}" in value and row.keys]
        assert headers["user-agent"] == f"session-migrator/{__version__}"


def test_every_provider_that_has_a_list_has_a_shape_here_and_the_others_give_no_windows() -> None:
    assert {row.id for row in providers.providers() if row.path} == set(SHAPES)
    assert {"openai", "deepseek"} <= {row.id for row in providers.providers() if not row.path}
    assert len({row.id for row in providers.providers()}) == len(providers.providers())


def test_a_server_of_the_users_own_needs_an_address_and_no_key(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not provider("vllm").reachable
    stub.answers = dict(SHAPES["vllm"][0])
    monkeypatch.setenv("VLLM_BASE_URL", stub.url)
    assert limits(providers.fetch(provider("vllm"))) == SHAPES["vllm"][1]
    assert "authorization" not in stub.headers[0]


@pytest.mark.parametrize("name", [name for name in SHAPES if provider(name).base])
def test_without_a_key_nobody_is_asked(name: str, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    row = provider(name)
    monkeypatch.setenv(row.base_variables[0], stub.url)
    assert not row.reachable
    assert row.keys[0] in failure(row)
    assert stub.asked == []


@pytest.mark.parametrize("junk", [None, 0, -1, "131072", 1.5, True, [], {}, [5], {"tokens": 5}])
def test_what_is_no_number_of_tokens_is_unknown(junk: Any, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"id": "none", "context_window": junk, "max_completion_tokens": 5},
        {"id": "some", "context_window": 7, "max_completion_tokens": junk},
    ]
    stub.answers = {"GET /openai/v1/models": {"data": rows}}
    assert limits(providers.fetch(set_up(monkeypatch, "groq", stub.url))) == {"some": (7, None, None)}


def test_rows_and_ids_that_are_none_are_passed_over(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [None, 5, "", "a\nb", "\x1b[31m", "x" * 300, ["list"], {"id": 1}, "good"]
    rows = [1, None, "text", [], {}, *({"id": name, "max_model_len": 9} for name in ids)]
    stub.answers = {LISTED: {"data": rows}}
    assert limits(providers.fetch(set_up(monkeypatch, "vllm", stub.url))) == {"good": (9, None, None)}


@pytest.mark.parametrize("shape", [[], {}, {"data": {}}, {"data": None}, {"models": []}, "text", None, 3])
def test_another_shape_is_no_list_of_models(shape: Any, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.answers = {LISTED: document(shape)}
    assert "no list of models" in failure(set_up(monkeypatch, "vllm", stub.url))


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data": [', b"\xff\xfe", b"[" * 200_000, b"9" * 10_000])
def test_what_is_no_json_is_told(body: bytes, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.answers = {LISTED: status(200, body)}
    assert "did not answer with JSON" in failure(set_up(monkeypatch, "vllm", stub.url))


def test_a_refused_key_is_told_in_our_own_words_after_one_request(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "GET /v1/models?limit=1000"
    stub.answers = {listed: status(401, KEY.encode(), f"no such key {KEY}")}
    assert f"{stub.url}/v1/models answered 401 Unauthorized" in failure(set_up(monkeypatch, "anthropic", stub.url))
    assert stub.asked == [listed]


@pytest.mark.parametrize("code", [429, 500, 503, 599])
def test_what_may_pass_is_tried_once_more(code: int, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    row = set_up(monkeypatch, "vllm", stub.url)
    stub.answers = {LISTED: [status(code), document(SHAPES["vllm"][0][LISTED])]}
    assert limits(providers.fetch(row)) == SHAPES["vllm"][1]
    stub.answers = {LISTED: status(code)}
    assert f"answered {code}" in failure(row)
    assert stub.asked == [LISTED] * 4


def test_a_server_that_does_not_answer_is_given_up_after_the_second_time(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "_PATIENCE", 0.2)
    stub.answers = {LISTED: lambda _: stub.closing.wait(5) and None}
    assert "did not answer within" in failure(set_up(monkeypatch, "vllm", stub.url))
    assert stub.asked == [LISTED] * 2


def test_an_answer_that_trickles_is_given_up_too(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not stub.closing.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    monkeypatch.setattr(providers, "_PATIENCE", 0.3)
    stub.answers = {LISTED: trickle}
    assert "did not answer within" in failure(set_up(monkeypatch, "vllm", stub.url))


def test_no_more_than_5_mb_are_read(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    row = set_up(monkeypatch, "vllm", stub.url)
    listing = b'{"data": [{"id": "m", "max_model_len": 9}]}'
    stub.answers = {LISTED: status(200, listing.ljust(5_000_000))}
    assert limits(providers.fetch(row)) == {"m": (9, None, None)}
    stub.answers = {LISTED: status(200, listing.ljust(5_000_001))}
    assert "more than 5,000,000 bytes" in failure(row)


def test_a_connection_that_breaks_or_is_refused_is_told(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.close_connection = True

    row = set_up(monkeypatch, "vllm", stub.url)
    for broken in (cut, lambda handler: handler.connection.close()):
        stub.answers = {LISTED: broken}
        failure(row)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        monkeypatch.setenv("VLLM_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert "refused" in failure(row)


@pytest.mark.parametrize("name", [name for name in SHAPES if provider(name).keys])
def test_a_redirect_is_not_followed(name: str, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = min(SHAPES[name][0], key=len)
    with serving() as other:
        stub.answers = {first: status(302, Location=f"{other.url}/taken")}
        assert "answered 302 Found, and redirects are not followed" in failure(set_up(monkeypatch, name, stub.url))
        assert KEY in str(stub.headers)
        assert other.asked == []


@pytest.mark.parametrize("end", ["\nX-Injected: 1", "\u00fc", "\x00"])
def test_a_key_that_no_header_can_carry_is_not_sent(end: str, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    row = set_up(monkeypatch, "anthropic", stub.url)
    monkeypatch.setattr(providers.os, "environ", {"ANTHROPIC_API_KEY": KEY + end, "ANTHROPIC_BASE_URL": stub.url})
    assert "no header can carry" in failure(row)
    assert stub.asked == []


def test_a_list_without_an_end_is_left(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"models": [{"name": "m", "inputTokenLimit": 9}], "nextPageToken": "again"}
    first = "GET /v1beta/models?pageSize=1000"
    stub.answers = {first: page, f"{first}&pageToken=again": page}
    assert limits(providers.fetch(set_up(monkeypatch, "gemini", stub.url))) == {"m": (9, None, None)}
    assert len(stub.asked) == 50


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("anthropic", "/"), ("anthropic", "/v1"), ("openrouter", "/api/v1"), ("groq", "/openai/v1"), ("vllm", "/v1/"),
        ("deepinfra", "/v1/openai"), ("lmstudio", "/v1"), ("litellm", "/v1"), ("ollama", "/api"),
    ],
)  # fmt: skip
def test_an_address_may_end_as_other_programs_want_it(
    name: str, end: str, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.answers = dict(SHAPES[name][0])
    assert limits(providers.fetch(set_up(monkeypatch, name, stub.url + end))) == SHAPES[name][1]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("box:9000", "http://box:9000"),
        ("https://box", "https://box"),
        ("http://box/ollama/", "http://box/ollama"),
        ("[::1]", "http://[::1]:11434"),
        ("http://me:word@box:1/x?token=word#y", "http://box:1/x"),
    ],
)
def test_an_address_is_made_whole_and_holds_nothing_secret(
    given: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert providers.address(provider("ollama")) == address


@pytest.mark.parametrize(
    "given", ["file:///etc", "ftp://box", "http://", "http://me:word@box:port", "http://b ox", "http://böx", "[::1"]
)
def test_what_is_no_address_is_named_by_its_variable(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    error = failure(provider("ollama"))
    assert error.startswith("OLLAMA_HOST holds no address")
    assert "word" not in error


@pytest.mark.parametrize(
    ("model", "expected", "own"),
    [
        ("openrouter/anthropic/claude-opus-4.7", "openrouter", "anthropic/claude-opus-4.7"),
        (" Groq/llama-3.3-70b-versatile ", "groq", "llama-3.3-70b-versatile"),
        ("groq:llama-3.3-70b", "groq", "llama-3.3-70b"),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b"),
        ("accounts/fireworks/models/glm-4p6", "fireworks", "accounts/fireworks/models/glm-4p6"),
        ("bedrock/anthropic.claude-opus-4-7", "bedrock", "anthropic.claude-opus-4-7"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", None),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1:0", "bedrock", None),
        ("publishers/google/models/gemini-2.5-pro", "vertex", None),
        ("models/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("anthropic/claude-opus-4.7", "anthropic", "claude-opus-4.7"),
        ("claude-opus-5[1m]", "anthropic", "claude-opus-5[1m]"),
        ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("devstral-2512", "mistral", "devstral-2512"),
        ("kimi-k2.6", "moonshot", "kimi-k2.6"),
        ("grok-4.5", "xai", "grok-4.5"),
        ("command-a-03-2025", "cohere", "command-a-03-2025"),
        ("gpt-5.5", "openai", "gpt-5.5"),
        ("deepseek-v4-pro", "deepseek", "deepseek-v4-pro"),
        ("glm-4.6", "zai", "glm-4.6"),
        ("qwen3-max", None, None),
        ("somebody/something", None, None),
        ("", None, None),
    ],
)
def test_who_serves_a_model_is_told_by_its_id_else_its_vendor(
    model: str, expected: str | None, own: str | None
) -> None:
    found = providers.serving(model)
    assert (found and found.id) == expected
    if found and own:
        assert providers.own_id(found, model) == own
