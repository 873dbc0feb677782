"""The count of a vendor: nothing is sent unasked, and where no count comes, the one made here decides."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import LONG, ROOT, environment, run
from stub_vendor import CASES, CLAUDE, KEY, TALK, Case, Stub, serving, setting, told

from session_migrator import decide, migrate, online, tools, web
from session_migrator.errors import Unavailable
from session_migrator.model import Message, Session, ToolCall

# --- nothing is sent unasked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.counter)
def test_without_a_key_nothing_is_sent_and_the_missing_variable_is_named(
    case: Case, stub: Stub, here: dict[str, Any]
) -> None:
    with told(f"{case.variable} is not set"):
        decided = decide(TALK, case.model, count_online=True)
    assert decided == decide(TALK, case.model)
    done = migrate(TALK, **{**here, "model": case.model}, window=200_000, count_online=True)
    assert sum(f"{case.variable} is not set" in warning for warning in done.warnings) == 1
    assert stub.seen == []


def test_a_model_of_no_known_vendor_is_counted_here(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    for model in ("deepseek-v4-pro", "gpt-oss-120b"):
        with told(f"tokens of {model} are counted here, not online: no vendor's endpoint is known for it"):
            decide(TALK, model, count_online=True)
    assert stub.seen == []


def test_without_the_option_nothing_is_sent_even_with_keys(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    stub.will_answer({"input_tokens": 10})
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    for case in CASES:
        decide(TALK, case.model)
    migrate(TALK, **here)
    assert stub.seen == []
    decide(TALK, "claude-opus-5", count_online=True)
    assert len(stub.seen) == 1


def test_without_the_option_and_a_key_no_socket_is_opened(
    monkeypatch: pytest.MonkeyPatch, here: dict[str, Any]
) -> None:
    def no_socket(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setattr(socket, "getaddrinfo", no_socket)
    for case in CASES:
        decide(TALK, case.model)
    migrate(TALK, **here)
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY)
    tools.handoff(str(LONG), "claude-code", "claude-opus-5", str(here["into"]), dry_run=True)
    with pytest.raises(AssertionError, match="a socket was opened"):
        online.count(TALK, "claude-opus-5")


def test_without_a_key_what_speaks_http_is_not_even_loaded(project: Path) -> None:
    code = (
        "import sys; from session_migrator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name in ('session_migrator.web', 'urllib.request', 'http.client')])"
    )
    command = [sys.executable, "-c", code, "migrate", LONG, "--to", "claude-code", "--into", project, "--dry-run"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(), check=True)
    assert done.stdout.splitlines()[-2:] == ["dry run: nothing was written", "[]"]


# --- failures


def gone() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


REFUSALS: list[tuple[int, dict[str, str], Any, str]] = [
    (400, {}, {"error": "List the files"}, "Anthropic answered 400 Bad Request"),
    (401, {}, {}, "Anthropic answered 401 Unauthorized"),
    (404, {}, {}, "Anthropic answered 404 Not Found"),
    (429, {"Retry_After": "0"}, {}, "Anthropic answered 429 Too Many Requests"),
    (503, {"Retry_After": "0"}, {}, "Anthropic answered 503 Service Unavailable"),
    (529, {"Retry_After": "0"}, {}, "Anthropic answered 529"),
    (302, {"Location": "/elsewhere"}, {}, "Anthropic answered 302 Found, and redirects are not followed"),
    (200, {}, b"<html>List the files</html>", "Anthropic did not answer with JSON"),
    (200, {}, b"", "Anthropic did not answer with JSON"),
    (200, {}, [10], "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": "10"}, "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": True}, "Anthropic did not answer with a number of tokens"),
    (200, {}, {"input_tokens": 0}, "Anthropic did not answer with a number of tokens"),
    (200, {"Content_Encoding": "gzip"}, b"\x1f\x8b", "Anthropic did not answer with JSON"),
]


@pytest.mark.parametrize(("status", "headers", "body", "said"), REFUSALS)
def test_an_answer_without_a_number_is_told_in_one_line_and_the_count_made_here_decides(
    status: int, headers: dict[str, str], body: Any, said: str, stub: Stub
) -> None:
    stub.will_answer(body, status, **headers)
    options = ["decide", LONG, "--model", "claude-opus-5", "--json"]
    here = run(*options)
    done = run(*options, "--count-online", **CLAUDE)
    assert (done.returncode, done.stdout) == (0, here.stdout)
    assert done.stderr == f"note: tokens of claude-opus-5 are counted here, not online: {said}\n"
    assert len(stub.seen) == (2 if "Retry_After" in headers else 1)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (gone, r"Anthropic cannot be reached (Connection refused)"),
        (lambda: "http://127.0.0.1:port", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: "127.0.0.1", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: "http://127.0.0.1/a b", "Anthropic cannot be asked: its key or its base URL is malformed"),
        (lambda: f"file://{ROOT}", "Anthropic cannot be reached"),
    ],
)
def test_a_vendor_that_is_not_there_is_told_in_one_line(
    url: Callable[[], str], said: str, here: dict[str, Any]
) -> None:
    paths = [option for name in ("into", "home") for option in (f"--{name}", here[name])]
    migrating = ["migrate", LONG, "--to", "claude-code", "--model", "claude-opus-5", *paths, "--json"]
    done = run(*migrating, "--count-online", **CLAUDE, ANTHROPIC_BASE_URL=url(), NO_PROXY="127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    result = json.loads(done.stdout)
    (warning,) = [warning for warning in result["warnings"] if "online" in warning]
    assert warning.startswith(f"tokens of claude-opus-5 are counted here, not online: {said}")
    assert Path(result["target"]["paths"][0]).exists()
    assert result["decision"]["counter"]["method"] == "bound"


def test_a_session_that_is_no_json_is_counted_here(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, **CLAUDE)
    call = ToolCall(id="call_1", name="shell", arguments={"path": ROOT})
    with told("not online: the session holds what is no JSON data"):
        decide(
            Session(id="s", agent="codex", messages=(Message(role="assistant", parts=(call,)),)),
            "claude-opus-5",
            count_online=True,
        )
    assert stub.seen == []


@pytest.mark.parametrize("key", ["zeile17\nbruch18", "ключ"])
def test_a_key_that_no_header_can_hold_is_not_shown(key: str, stub: Stub) -> None:
    done = run("decide", LONG, "--model", "claude-opus-5", "--count-online", ANTHROPIC_API_KEY=key)
    assert done.returncode == 0
    assert done.stderr.endswith("Anthropic cannot be asked: its key or its base URL is malformed\n")
    assert not any(word in done.stdout + done.stderr for word in key.split())
    assert stub.seen == []


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"]
    try:
        subprocess.run([*made, *names], cwd=tmp_path, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("openssl is not here to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    with serving(context) as served:
        served.will_answer({"input_tokens": 10})
        setting(monkeypatch, **CLAUDE, ANTHROPIC_BASE_URL=served.url, NO_PROXY="127.0.0.1")
        with pytest.raises(Unavailable, match=r"Anthropic cannot be reached \(\[SSL: CERTIFICATE_VERIFY_FAILED\]"):
            online.count(TALK, "claude-opus-5")
        assert served.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert online.count(TALK, "claude-opus-5").count.tokens == 10


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_key_nowhere(status: int, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, OPENAI_API_KEY=KEY)
    with serving() as other:
        other.will_answer({"input_tokens": 10, "totalTokens": 10})
        stub.will_answer({}, status, Location=other.url)
        for case in CASES:
            with told(f"answered {status} .*redirects are not followed"):
                decide(TALK, case.model, count_online=True)
        assert len(stub.seen) == len(CASES)
        assert other.seen == []


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_vendor_that_is_busy_is_asked_once_more(status: int, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.will_answer({}, status, Retry_After="0")
    stub.will_answer({"input_tokens": 77})
    setting(monkeypatch, **CLAUDE)
    assert decide(TALK, "claude-opus-5", count_online=True).tokens == 77
    assert stub.seen[0] == stub.seen[1]


@pytest.mark.parametrize(
    ("headers", "pauses"),
    [({}, [1]), ({"Retry_After": "3"}, [3]), ({"Retry_After": "6"}, []), ({"Retry_After": "Wed, 21 Oct 2026"}, [])],
)
def test_the_pause_is_the_one_the_vendor_names_if_it_is_short(
    headers: dict[str, str], pauses: list[int], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(web.time, "sleep", slept.append)
    stub.will_answer({}, 429, **headers)
    setting(monkeypatch, **CLAUDE)
    with pytest.raises(Unavailable, match="429"):
        online.count(TALK, "claude-opus-5")
    assert [pause for pause in slept if pause] == pauses
    assert len(stub.seen) == 1 + len(pauses)


def test_a_vendor_that_is_late_is_asked_once_more_and_not_waited_for(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert online._PATIENCE == 20
    monkeypatch.setattr(online, "_PATIENCE", 0.2)
    monkeypatch.setattr(web, "_PAUSE", 0)
    stub.will_answer({"input_tokens": 10})
    stub.delay = 0.6
    setting(monkeypatch, **CLAUDE)
    with told(r"Anthropic did not answer within 0\.2 seconds"):
        decide(TALK, "claude-opus-5", count_online=True)
    assert len(stub.seen) == 2
