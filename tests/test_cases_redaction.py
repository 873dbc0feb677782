"""Secrets in what a tool printed."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from cases import carry, case, pairs, words
from places import run

from session_migrator import migrate, read_session
from session_migrator.memory import to_memory_markdown
from session_migrator.model import Message, Text
from session_migrator.redaction import redact, redact_session, report

SECRETS = ("sk-test", "FAKEKEY", "AKIA", "hunter2fake", "RkFLRQ", "BEGIN PRIVATE")
LEFT = (
    "OPENAI_API_KEY=[REDACTED:api key]\nAWS_ACCESS_KEY_ID=[REDACTED:aws key id]\n"
    "DB=postgres://bob:[REDACTED:password]@db.local/x\n[REDACTED:private key]"
)
FOUND = {"api key": 1, "aws key id": 1, "password": 1, "private key": 1}


@pytest.fixture(name="source")
def _source(tmp_path: Path) -> Path:
    """The case as a client would have left it. In the repository a ~ parts its secrets, made up as they are, so that
    no scanner takes them for a leak."""
    path = tmp_path / "source" / case("62").name
    path.parent.mkdir()
    path.write_text(case("62").read_text("utf-8").replace("~", ""), "utf-8")
    return path


def raw(source: Path) -> str:
    """The result with the secrets in it."""
    return next(words(message.results[0]) for message in read_session(source).messages if message.results)


def files(folder: Path, *but: Path) -> list[Path]:
    """The files below a folder, but for those below others."""
    return [path for path in folder.rglob("*") if path.is_file() and not {*but} & {*path.parents}]


def test_62_four_secrets_in_a_result_go_and_the_rest_of_the_session_stays(source: Path) -> None:
    session = read_session(source)
    redacted, counts = redact_session(session)
    assert counts == FOUND
    assert report(counts) == "4 secrets redacted: 1 api key, 1 aws key id, 1 password, 1 private key"
    before, after = session.to_dict(), redacted.to_dict()
    (result,) = (message.results[0] for message in redacted.messages if message.results)
    assert words(result) == LEFT
    before["messages"][2]["parts"][0]["parts"][0]["text"] = LEFT
    assert after == before


def test_62_what_is_written_after_redaction_holds_no_secret(source: Path, project: Path) -> None:
    carried = carry(redact_session(read_session(source))[0], project)
    assert not [secret for secret in SECRETS if secret.encode() in carried.raw]
    assert [words(result) for _, result in pairs(carried.session.messages)] == [LEFT]


def test_62_the_file_as_text_is_redacted_alike(source: Path) -> None:
    text = source.read_text("utf-8")
    redacted, counts = redact(text)
    assert counts == FOUND
    assert not [secret for secret in SECRETS if secret in redacted]
    assert (
        redacted
        == text[: text.index("OPENAI")]
        + LEFT.replace("\n", "\\n")
        + text[text.index('"}]}}\n{"parentUuid":"a0000000-0000-4000-8000-000000000003"') :]
    )


def test_62_the_memory_holds_no_secret_unless_asked_for(source: Path) -> None:
    session = read_session(source)
    told = replace(session, messages=(*session.messages, Message(role="assistant", parts=(Text(text=raw(source)),))))
    assert not [secret for secret in SECRETS if secret in to_memory_markdown(told, {"title": raw(source).split()[0]})]
    assert "hunter2fake" in to_memory_markdown(told, redact=False)


def test_62_migrate_and_show_leave_secrets_out_where_they_are_told_to(
    source: Path, project: Path, tmp_path: Path
) -> None:
    into = ["--to", "codex", "--model", "gpt-5.5", "--into", project, "--home", tmp_path / "codex"]
    redacted = run("migrate", source, *into, "--redact")
    assert "4 secrets redacted" in redacted.stdout + redacted.stderr
    kept = run("migrate", source, *into)
    assert "redacted" not in kept.stdout + kept.stderr
    written = [path.read_text("utf-8") for path in sorted((tmp_path / "codex").rglob("rollout-*.jsonl"))]
    assert sorted("hunter2fake" in text for text in written) == [False, True]

    stored = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and not {tmp_path / "codex", source.parent} & {*path.parents}
    ]
    assert stored, "the ledger of migrations"
    held = {path: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in stored}
    assert not [path for path, data in held.items() for secret in SECRETS if secret.encode() in data]

    for form in ("text", "markdown", "json", "messages"):
        shown = run("show", source, "--format", form, "--redact")
        assert shown.stderr.startswith("4 secrets redacted")
        assert not [secret for secret in SECRETS if secret in shown.stdout]
        assert "hunter2fake" in run("show", source, "--format", form).stdout


def test_62_what_is_stored_of_a_compressed_migration_holds_no_secret_either(
    source: Path, project: Path, tmp_path: Path
) -> None:
    session = read_session(source)
    filler = Message(role="assistant", parts=(Text(text="a word and another " * 2_000),))
    asked = Message(role="user", parts=(Text(text="Go on."),))
    long = replace(session, messages=(*session.messages, asked, filler, asked, filler))
    done = migrate(long, "codex", "gpt-5.5", project, home=tmp_path / "codex", budget=10_000, redact=True)
    assert done.mode == "compress"
    stored = files(tmp_path, source.parent)
    assert [path for path in stored if path.parent.name == "originals"]
    held = {path: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in stored}
    assert not [path for path, data in held.items() for secret in SECRETS if secret.encode() in data]
