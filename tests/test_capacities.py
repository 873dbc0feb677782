"""Whose word a window is: the user's, the provider's, the client's or the table's; what is kept; who is asked when."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from places import LONG, run
from provider_shapes import SHAPES
from stub_provider import Stub, document, status

from session_migrator import context_windows, decide, migrate, model_report, read_session, tools
from session_migrator.agents import AGENTS
from session_migrator.capacities import Capacities
from session_migrator.context_windows import Window
from session_migrator.errors import ReadError, UnknownModel
from session_migrator.providers import providers
from session_migrator.storage import Store
from session_migrator.target import Candidate, inspect, pick

KEY = "-".join(["kept", "between", "us"])
LISTED = "GET /v1/models?limit=1000"
OPUS = "claude-opus-5-5"
ANTHROPIC = next(provider for provider in providers() if provider.id == "anthropic")


def anthropic(**contexts: int) -> Any:
    """What Anthropic answers: models, with dashes for underscores, and their windows."""
    rows = [{"id": name.replace("_", "-"), "max_input_tokens": context} for name, context in contexts.items()]
    return document({"data": rows, "has_more": False})


@pytest.fixture
def asking(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """A stub of Anthropic, whose key and address are in the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
    stub.answers = {LISTED: anthropic(claude_opus_5_5=150_000)}
    return stub


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses that this process connects to or looks up."""
    made: list[Any] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connecting(self: socket.socket, address: Any) -> None:
        made.append(address)
        connect(self, address)

    def looking_up(host: Any, *rest: Any, **more: Any) -> Any:
        made.append(host)
        return look_up(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    return made


def cache() -> Path:
    return Store().root / "cache" / "capacities.json"


def aged(**by: float) -> str:
    """Make what is kept so much older; the time it then has."""
    kept = json.loads(cache().read_text())
    at = (datetime.now(UTC) - timedelta(**by)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    for reading in kept["readings"].values():
        reading["at"] = at
    cache().write_text(json.dumps(kept))
    return at


def users(content: Any) -> Path:
    path = Store().root / "models.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# --- the order


def offer(source: Any, context: int | None, max_input: int | None = None, max_output: int | None = None, **more: Any):
    return Candidate(source=source, context=context, max_input=max_input, max_output=max_output, **more)


USER, LIVE = offer("user", 50), offer("live", 90, None, 9)
CODEX, CLAUDE = offer("client", 70, name="codex"), offer("client", 95, name="claude-code")
TABLE, FAMILY = offer("table", 100, 80, 20), offer("family", 60, 40, 20)
EVERYBODY = [USER, LIVE, CODEX, CLAUDE, TABLE]


@pytest.mark.parametrize(
    ("offers", "client", "window"),
    [
        (EVERYBODY, None, ("user", 50, 38, 20)),
        (EVERYBODY, "codex", ("user", 50, 38, 20)),
        ([LIVE, CODEX, CLAUDE, TABLE], None, ("live", 90, 80, 9)),
        ([LIVE, CODEX, CLAUDE, TABLE], "codex", ("client", 70, 80, 9)),
        ([LIVE, CODEX, CLAUDE, TABLE], "claude-code", ("live", 90, 80, 9)),
        ([offer("live", 70), CODEX, TABLE], "codex", ("client", 70, 80, 20)),
        ([offer("live", 90, 60), CODEX, TABLE], "codex", ("live", 70, 60, 20)),
        ([offer("live", None, 75), CODEX], "codex", ("client", 70, 75, None)),
        ([offer("live", 90), FAMILY], None, ("live", 90, None, None)),
        ([CODEX, TABLE], "codex", ("client", 70, 80, 20)),
        ([CODEX, TABLE], "claude-code", ("table", 100, 80, 20)),
        ([CODEX, TABLE], None, ("table", 100, 80, 20)),
        ([CODEX, FAMILY], "codex", ("client", 70, None, None)),
        ([FAMILY], "codex", ("family", 60, 40, 20)),
        ([offer("user", 50)], None, ("user", 50, None, None)),
        ([offer("user", None, 30), TABLE], None, ("user", 100, 30, 20)),
        ([offer("user", 50, 45, 5), TABLE], None, ("user", 50, 45, 5)),
        ([offer("user", 50), FAMILY], None, ("user", 50, 38, 20)),
        ([offer("user", None), offer("live", None), offer("table", None)], "codex", None),
    ],
)
def test_the_order_of_what_a_window_comes_from(offers: list[Candidate], client: str | None, window: Any) -> None:
    found = pick(offers, client)
    assert (found and (found.source, found.context, found.max_input, found.max_output)) == window


def test_a_provider_with_less_than_the_client_decides_and_the_trigger_stays_the_clients(asking: Stub) -> None:
    asking.answers = {LISTED: anthropic(claude_opus_5_5=2_000_000)}
    Capacities(Store()).refresh(ANTHROPIC)
    more = inspect("claude-code", model=OPUS)
    asking.answers = {LISTED: anthropic(claude_opus_5_5=150_000)}
    Capacities(Store()).refresh(ANTHROPIC)
    less = inspect("claude-code", model=OPUS)
    assert (more.window.source, more.window.context) == ("client", 1_000_000)
    assert (less.window.source, less.window.context) == ("live", 150_000)
    assert more.trigger == less.trigger == 967_000


def test_a_model_that_only_its_provider_knows_is_taken_in_the_client_too(asking: Stub) -> None:
    asking.answers = {LISTED: anthropic(claude_nova_9=300_000)}
    assert inspect(None, model="claude-nova-9").window == Window(context=300_000, source="live")
    assert inspect("claude-code", model="claude-nova-9").window.source == "client"
    with pytest.raises(UnknownModel):
        inspect(None, model="claude-nova-8")


def test_the_users_file_wins_over_all_and_window_over_the_file(asking: Stub) -> None:
    path = users({"Claude-Opus-5.5": {"context": 60_000, "max_output": 5}})
    for agent in (None, "codex", "claude-code"):
        target = inspect(agent, model=OPUS)
        assert target.window == Window(context=60_000, max_output=5, source="user")
        assert (target.why or {})["window"] == str(path)
    assert inspect("claude-code", model=OPUS).trigger == 967_000
    given = inspect("claude-code", model=OPUS, window=70_000)
    assert (given.window.context, given.window.source) == (70_000, "user")
    assert given.trigger is not None
    assert given.trigger < 70_000
    assert asking.asked == []


def test_the_users_file_makes_an_unknown_model_acceptable() -> None:
    users({"local/my-model": {"max_input": 40_000}})
    assert inspect(None, model="my-model").window == Window(max_input=40_000, source="user")
    assert inspect("codex", model="my-model").window.max_input == 40_000


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "5", '{"m": 5}', '{"m": {}}', '{"m": {"context": "9"}}', '{"m": {"context": 0}}',
        '{"m": {"context": true}}', '{"m": {"contxt": 9}}', '{"m": {"max_output": 9}}', '{"m": {"source": "live"}}',
        '{"m": {"context": null}}',
    ],
)  # fmt: skip
def test_a_broken_file_of_the_users_is_one_error_that_names_it(content: str) -> None:
    path = users(content)
    with pytest.raises(ReadError) as caught:
        inspect(None, model="gpt-5")
    assert str(caught.value).startswith(f"{path}: ")
    assert "models.json" not in caught.value.remedy
    assert inspect(None, model="gpt-5", window=9_000).window.context == 9_000


# --- who is asked, and when


def test_without_keys_no_connection_is_made(
    connections: list[Any], stub: Stub, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = read_session(LONG)
    done = migrate(session, to="claude-code", model=OPUS, into=project, home=tmp_path / "claude")
    decide(session, OPUS)
    decide(session, target_agent="codex")
    for provider in providers():
        if provider.base_variables and provider.base:
            monkeypatch.setenv(provider.base_variables[0], stub.url)
    for model in (OPUS, "openrouter/anthropic/claude-opus-5.5", "gemini-2.5-pro", "ollama/qwen3-max"):
        decide(session, model)
    assert done.warnings
    assert connections == []
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    stub.answers = {LISTED: anthropic(claude_opus_5_5=150_000)}
    decide(session, OPUS)
    assert connections != []


def test_only_the_provider_that_serves_the_model_is_asked(asking: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in ("gpt-5", "gemini-2.5-pro", "bedrock/anthropic.claude-opus-4-7", "openrouter/anthropic/claude-opus-5"):
        inspect(None, model=model)
    assert asking.asked == []
    monkeypatch.setenv("OLLAMA_HOST", asking.url)
    asking.answers |= SHAPES["ollama"][0]
    assert inspect(None, model="ollama/coder:7b").window.context == 16_384
    assert LISTED not in asking.asked


def test_what_was_read_is_good_for_a_day(asking: Stub) -> None:
    for hours, times in ((None, 1), (None, 1), (23, 1), (25, 2), (-1, 3)):
        if hours is not None:
            aged(hours=hours)
        assert inspect(None, model=OPUS).window.context == 150_000
        assert len(asking.asked) == times


@pytest.mark.parametrize("broken", [status(401), status(500), document([]), status(200, b"<html>")])
def test_a_failure_keeps_what_was_known_and_is_a_warning(
    broken: Callable[..., None], asking: Stub, tmp_path: Path, project: Path
) -> None:
    inspect(None, model=OPUS)
    at = aged(days=400)
    before = cache().read_bytes()
    asking.answers = {LISTED: broken}
    target = inspect(None, model=OPUS)
    assert target.window == Window(context=150_000, max_output=128_000, source="live")
    assert (target.why or {})["window"] == f"Anthropic, read {at[:16]}Z"
    (warning,) = target.warnings
    assert "Anthropic" in warning
    assert at[:16] in warning
    assert "\n" not in warning
    assert KEY not in warning
    assert cache().read_bytes() == before
    asked = len(asking.asked)
    done = migrate(LONG, to="claude-code", model=OPUS, into=project, home=tmp_path / "claude", dry_run=True)
    later = next(said for said in done.warnings if "Anthropic" in said)
    assert later.startswith("the windows of Anthropic could not be read at 20")
    assert at[:16] in later
    shown = run("decide", LONG, "--model", OPUS)
    assert f"note: {later}" in shown.stderr.splitlines()
    assert len(asking.asked) == asked, "within an hour it is not asked again"
    (failure,) = (cache().parent / "failed").iterdir()
    old = json.loads(failure.read_text(encoding="utf-8")) | {"at": "2026-01-01T00:00:00.000Z"}
    failure.write_text(json.dumps(old), encoding="utf-8")
    inspect(None, model=OPUS)
    assert len(asking.asked) > asked
    assert f"from live (Anthropic, read {at[:16]}Z)" in shown.stdout


def test_a_failure_with_nothing_known_leaves_the_provider_out(asking: Stub) -> None:
    asking.answers = {}
    target = inspect(None, model=OPUS)
    assert target.window.source == "table"
    assert "left out" in target.warnings[0]
    assert not cache().exists()


@pytest.mark.usefixtures("asking")
def test_offline_and_without_a_key_what_is_kept_serves_however_old(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect(None, model=OPUS)
    aged(days=4000)
    connections.clear()
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    target = inspect(None, model=OPUS)
    assert (target.window.source, target.window.context, target.warnings) == ("live", 150_000, ())
    assert connections == []


def test_what_one_address_said_is_not_taken_for_another(asking: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    inspect(None, model=OPUS)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere.invalid")
    assert inspect(None, model=OPUS).window.source == "table"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{asking.url}/")
    assert inspect(None, model=OPUS).window.source == "live"


@pytest.mark.usefixtures("asking")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b'{"form": 0, "readings": {}}', b'{"form": 1}', b'{"form": 1, "readings": [1]}',
        b'{"form": 1, "readings": {"anthropic": {"at": "never", "models": {}}}}', b"\xff" * 50, b"[" * 200_000,
        b'{"form": 1, "readings": {"anthropic": {"at": "2026-01-01T00:00:00.000Z", "models": {"m": [1]}}}}',
    ],
)  # fmt: skip
def test_a_damaged_cache_is_read_anew(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    cache().parent.mkdir(parents=True)
    cache().write_bytes(content)
    assert inspect(None, model=OPUS).window.source == "live"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert inspect(None, model=OPUS).window.source == "live"


def test_the_cache_is_private_keeps_what_others_said_and_holds_no_key(
    asking: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", asking.url.replace("http://", f"http://me:{KEY}@"))
    asking.answers |= SHAPES["vllm"][0]
    inspect(None, model="vllm/Qwen/Qwen3-32B")
    inspect(None, model=OPUS)
    assert len(json.loads(cache().read_text())["readings"]) == 2
    assert stat.S_IMODE(cache().stat().st_mode) == 0o600
    assert KEY not in cache().read_text()


@pytest.mark.usefixtures("asking")
def test_a_cache_that_cannot_be_written_is_a_warning() -> None:
    cache().parent.parent.mkdir(parents=True)
    cache().parent.write_text("in the way")
    target = inspect(None, model=OPUS)
    assert target.window.source == "table"
    assert "cannot write" in target.warnings[0]


def test_an_address_that_is_none_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "nothing://")
    assert "ANTHROPIC_BASE_URL holds no address" in inspect(None, model=OPUS).warnings[0]


@pytest.mark.parametrize(
    ("model", "context"),
    [
        ("claude-opus-4-7", 400), ("claude-opus-4.7", 400), ("anthropic/claude-opus-4.7:thinking", 400),
        ("claude-sonnet-4-5", 200), ("claude-sonnet-4-5-20250929", 300), ("claude-haiku-9", None),
    ],
)  # fmt: skip
def test_a_model_is_found_in_a_list_by_its_id_else_by_another_spelling(
    model: str, context: int | None, asking: Stub
) -> None:
    listed = {"claude_opus_4_7": 400, "claude_sonnet_4_5_20250929": 300, "claude_sonnet_4_5_20251001": 200}
    asking.answers = {LISTED: anthropic(**listed)}
    said = Capacities(Store())
    said.refresh(ANTHROPIC)
    rows = {row["source"]: row for row in _candidates(model, said)}
    assert rows["live"]["context"] == context
    assert rows["live"]["at"] is not None


def _candidates(model: str, said: Capacities) -> list[dict[str, Any]]:
    try:
        return model_report.document(model, said)["candidates"]
    except UnknownModel:
        from session_migrator.target import candidates

        return [offer.to_dict() for offer in candidates(model, said=said)[0]]


# --- the command, and the tool


def test_models_shows_what_each_source_says_and_who_decides_where(asking: Stub) -> None:
    Capacities(Store()).refresh(ANTHROPIC)
    told = run("models", OPUS).stdout
    lines = {" ".join(line.split()[:3]): line for line in told.splitlines()}
    assert "150,000" in lines["live Anthropic 150,000"]
    assert "272,000" in lines["client codex 272,000"]
    assert lines["decides in codex"].split()[3:] == ["150,000", "-", "128,000", "live"]
    assert lines["decides without a"].split()[-1] == "live"
    assert "does not name it" in told
    assert len(asking.asked) == 1


@pytest.mark.usefixtures("asking")
def test_models_as_json_has_every_candidate_and_the_window_of_the_model_alone() -> None:
    path = users({"other": {"context": 5}})
    Capacities(Store()).refresh(ANTHROPIC)
    told = json.loads(run("models", OPUS, "--json").stdout)
    assert set(told) == {"model", "window", "candidates"}
    assert told["window"] == {"context": 150_000, "max_input": None, "max_output": 128_000, "source": "live"}
    assert [(row["source"], row["name"]) for row in told["candidates"]] == [
        ("user", str(path)), ("live", "Anthropic"), *(("client", agent) for agent in AGENTS), ("table", None),
        ("family", None),
    ]  # fmt: skip
    assert {tuple(row) for row in told["candidates"]} == {
        ("source", "name", "context", "max_input", "max_output", "at")
    }
    assert [bool(row["at"]) for row in told["candidates"]] == [row["source"] == "live" for row in told["candidates"]]


@pytest.mark.usefixtures("asking")
def test_models_without_a_name_lists_the_known_ones_the_users_among_them() -> None:
    users({"my-own": {"context": 5_000}, "gpt-5": {"context": 9_000}})
    Capacities(Store()).refresh(ANTHROPIC)
    rows = {row["model"]: row for row in json.loads(run("models", "--json").stdout)}
    assert set(rows) == {*context_windows.known_models(), "my-own"}
    assert {tuple(row) for row in rows.values()} == {("model", "context", "max_input", "max_output", "source")}
    sources = [rows[model]["source"] for model in ("my-own", "gpt-5", OPUS, "gpt-5.5")]
    assert sources == ["user", "user", "live", "table"]
    lines = run("models").stdout.splitlines()
    assert len(lines) == len(rows) + 1
    assert [line.split() for line in lines if line.startswith("my-own ")] == [["my-own", "5,000", "-", "-", "user"]]


def test_a_model_that_only_begins_like_known_ones_is_told_as_a_guess() -> None:
    told = run("models", "gpt-5.7").stdout
    assert "a guess" in told
    assert told.splitlines()[-1].endswith("family: give a --window")
    assert json.loads(run("models", "gpt-5.7", "--json").stdout)["window"]["source"] == "family"


def test_models_of_a_name_nobody_knows_names_near_ones() -> None:
    done = run("models", "gpt-77")
    assert (done.returncode, done.stdout) == (3, "")
    assert "gpt-" in done.stderr.splitlines()[1]
    assert run("models", "\x1b[31mnobody\x1b[0m", "--json").returncode == 3


def test_a_broken_file_is_told_on_two_lines() -> None:
    path = users("{")
    for args in (("models",), ("models", OPUS), ("decide", LONG, "--model", OPUS)):
        done = run(*args)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[0] == f"error: {path}: it is no JSON"


def test_refresh_tells_of_every_provider_what_it_gave_or_why_nothing(
    asking: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    monkeypatch.setenv("GROQ_BASE_URL", asking.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asking.answers["GET /openai/v1/models"] = status(403, reason=KEY)
    done = run("models", "--refresh")
    told = {provider.name: line for provider in providers() for line in done.stdout.splitlines() if line.startswith(
        f"{provider.name}  ") or line.startswith(f"{provider.name} gives")}  # fmt: skip
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == len(providers())
    assert told["Anthropic"].split(None, 1)[1] == "1 models"
    assert told["Groq"].split(None, 1)[1] == f"failed: {asking.url}/openai/v1/models answered 403 Forbidden"
    assert told["OpenAI"].split(None, 1)[1] == "gives no windows"
    assert told["xAI"].split(None, 1)[1] == "no key (XAI_API_KEY is not set)"
    assert "no address (OLLAMA_HOST or OLLAMA_API_BASE is not set)" in told["Ollama"]
    assert KEY not in done.stdout + done.stderr
    assert len(asking.asked) == 2


@pytest.mark.usefixtures("asking")
def test_refresh_before_an_answer_reports_beside_it() -> None:
    done = run("models", OPUS, "--refresh", "--json")
    assert json.loads(done.stdout)["window"]["source"] == "live"
    assert "Anthropic       1 models" in done.stderr.splitlines()
    assert run("models", OPUS, "--refresh").stdout.splitlines()[0].startswith(OPUS)


def test_a_key_is_in_no_output_and_in_no_file(asking: Stub, tmp_path: Path, project: Path) -> None:
    calls = (
        ("models", "--refresh"), ("models", OPUS), ("models", "--json"), ("decide", LONG, "--model", OPUS),
        ("migrate", LONG, "--to", "claude-code", "--model", OPUS, "--into", project, "--home", tmp_path / "claude"),
    )  # fmt: skip
    for answer in (anthropic(claude_opus_5_5=150_000), status(401, KEY.encode(), KEY)):
        asking.answers = {LISTED: answer}
        for args in calls:
            done = run(*args)
            assert KEY not in done.stdout + done.stderr
        aged(days=2)
    assert KEY in str(asking.headers)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


@pytest.mark.usefixtures("asking")
def test_the_tool_follows_the_order_and_asks_nobody(connections: list[Any]) -> None:
    assert tools.model_context_window(OPUS).source == "table"
    assert connections == []
    Capacities(Store()).refresh(ANTHROPIC)
    aged(days=9)
    connections.clear()
    found = tools.model_context_window(OPUS)
    assert (found.source, found.context, found.max_output) == ("live", 150_000, 128_000)
    users({OPUS: {"context": 8_000}})
    assert tools.model_context_window(OPUS).source == "user"
    assert connections == []
