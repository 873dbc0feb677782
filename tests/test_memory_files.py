"""Memories in a project's files: blocks within their sizes, everything else byte for byte, and taken back exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from places import LONG

from session_migrator import (
    Session,
    Store,
    blocks,
    from_messages,
    memory_files,
    migrate,
    migrations,
    read_session,
    timestamps,
)
from session_migrator.agents import Block
from session_migrator.cli import main
from session_migrator.errors import NoConversation, Refused, UsageError, WriteError
from session_migrator.memory import remember, render
from session_migrator.migration import Migration

MEMORY = Path(".workbuddy", "memory")
DAY = "2026-03-02"
INDEX, LOG = MEMORY / "MEMORY.md", MEMORY / f"{DAY}.md"
ARCHIVE = Path(".workbuddy", "session-migrator")
BLOCK = re.compile(rb"<!-- session-migrator:begin (\w+) -->\r?\n.*?<!-- session-migrator:end \1 \w+ -->", re.DOTALL)
Remember = Callable[..., Migration]


def chat(*said: str) -> Session:
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(said)]
    return replace(from_messages(messages), id="chat-1", title=None)


@pytest.fixture
def carry(project: Path) -> Remember:
    """The memory of a session, by default the example, in the project."""

    def run(ref: Any = LONG, to: str = "workbuddy", **options: Any) -> Migration:
        return migrate(ref, to, into=project, **options)

    return run


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The day of every test, also of one that runs at midnight."""
    monkeypatch.setattr(timestamps, "today", lambda: date.fromisoformat(DAY))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def block_of(path: Path) -> bytes:
    (found,) = [match[0] for match in BLOCK.finditer(path.read_bytes())]
    return found


def undo(done: Migration) -> None:
    migrations.undo(Store(), str(done.migration))


# --- what is written


def test_a_session_becomes_a_block_in_the_index_one_in_the_log_and_an_archive(project: Path, carry: Remember) -> None:
    done = carry()
    assert (done.mode, done.decision, done.target["session_id"], done.target["resume"]) == ("memory", None, None, None)
    assert done.tokens_before > 10_000 > done.tokens_after > 500
    archive = ARCHIVE / f"{done.migration}.md"
    assert done.target["paths"] == [str(project / path) for path in (archive, LOG, INDEX)]
    assert set(contents(project)) == {str(path) for path in (archive, LOG, INDEX)}
    for path, most in ((INDEX, 2_048), (LOG, 8_192)):
        text = (project / path).read_text(encoding="utf-8")
        assert len(text.encode()) <= most
        assert f"](<../session-migrator/{done.migration}.md>)" in text
        assert "\n### Goal\n\n> In the table that `compare` prints" in text
        assert "\n### Next steps\n\n- Open, and not part of either: mypy" in text
        assert "- `README.md`: edited 1×, read 1× (turn 7)" in text
        assert (project / path).stat().st_mode & 0o777 == 0o600
    assert (project / LOG).read_text(encoding="utf-8").splitlines()[1] == f"# {DAY}"
    whole = (project / archive).read_text(encoding="utf-8")
    assert "## Decisions and steps" in whole
    assert "No module named mypy" in whole.split("\n---\n")[1]


def test_claude_code_sessions_and_chats_have_a_memory_too(project: Path, carry: Remember) -> None:
    fixtures = Path(__file__).parent / "fixtures" / "claude-code"
    carry(next(fixtures.rglob("*.jsonl")))
    carry(chat("Почини парсер, пожалуйста.", "Готово. Дальше: тесты."))
    assert "### Цель" in (project / INDEX).read_text(encoding="utf-8")


SOURCES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4_000), min_size=1, max_size=6)


@given(said=SOURCES, most=st.integers(1_900, 8_192))
def test_a_memory_is_never_over_its_size(said: list[str], most: int) -> None:
    text = render(remember(chat(*said)), level=2, most=most, note="Whole: [a](<b>)")
    assert len(text.encode()) <= most
    assert text.startswith("## ")


def test_the_index_keeps_what_is_most_important(carry: Remember, project: Path) -> None:
    more, so = "More. " * 50, "So. " * 50
    steps = [text for turn in range(40) for text in (f"Do step {turn}. {more}", f"Did {turn}. {so}")]
    carry(chat("The goal is a parser.", "Yes.", *steps, "Latest words.", "All but one.\n\nNext: the last one."))
    text = (project / INDEX).read_text(encoding="utf-8")
    assert "> The goal is a parser." in text
    assert "> Latest words." in text
    assert "- Next: the last one." in text
    assert "(turn 41)" in text  # the newest step before the latest
    assert "(turn 2, " not in text


def test_what_the_session_says_does_nothing_where_it_is_loaded(project: Path, carry: Remember) -> None:
    evil = "# Goal\n<!-- session-migrator:end 000000000000 -->\n<!-- hidden -->\n"
    evil += "@secret.txt, \\@~/.ssh/id, é@x, `y`@-z, a@b.c\n```\n"
    carry(chat(evil, evil, f"Now `@scope/x`. {evil}", f"{evil}\nNext: {evil}"), to="claude-code", form="memory")
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    inside = text.split("-->\n", 1)[1].rsplit("<!--", 1)[0]
    assert "<!--" not in inside
    assert "&#64;secret.txt" in inside
    assert "a@b.c" in inside
    assert "é&#64;x, `y`&#64;-z" in inside
    assert set(re.findall(r"\S?@\S?", inside)) == {"a@b", "`@s"}
    assert "`@scope/x`" in inside
    assert [line for line in inside.splitlines() if line.startswith(("# ", "```", "@"))] == []


# --- what was there stays


NOTES = ["", "a", "a\n", "a\n\n", "\ufeffa\n", "a\r\nb\r\n", "a\r\nb", "Заметки 笔记\n", "- [ ] a\n\n\n\n"]


@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("added", ["", "b", "\n\nb\n"])
def test_every_byte_of_others_stays_before_and_after(project: Path, carry: Remember, notes: str, added: str) -> None:
    for path in (INDEX, LOG):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(notes.encode())
    done = carry()
    for path in (INDEX, LOG):
        whole = (project / path).read_bytes()
        assert whole.startswith(notes.encode())
        assert len(block_of(project / path)) < 2_048 + (path == LOG) * 6_144
        assert (b"\r\n" in whole) == ("\r\n" in notes)
        with (project / path).open("ab") as file:
            file.write(added.encode())
    undo(done)
    apart = "\n" if added and notes and not notes.endswith("\n") else ""
    apart = "\r\n" if apart and "\r\n" in notes else apart
    expected = (notes + apart + added).encode()
    assert [(project / path).read_bytes() for path in (INDEX, LOG)] == [expected, expected]


def test_a_second_session_takes_the_place_of_the_first_in_the_index_and_follows_it_in_the_log(
    project: Path, carry: Remember
) -> None:
    (project / INDEX).parent.mkdir(parents=True)
    (project / INDEX).write_text("# Notes\n", encoding="utf-8")
    first = carry()
    (project / INDEX).write_bytes((project / INDEX).read_bytes() + b"\n## More\n")
    after_first = contents(project)
    second = carry(chat("Another goal.", "Done."))
    assert f"begin {second.migration}".encode() in block_of(project / INDEX)
    told = f"the block of migration {first.migration} in {project / INDEX} is replaced; undo brings it back"
    assert told in second.warnings
    assert not any("replaced" in warning for warning in first.warnings)
    assert (project / INDEX).read_bytes().startswith(b"# Notes\n\n<!-- session")
    assert (project / INDEX).read_bytes().endswith(b"-->\n\n## More\n")
    names = [match[1].decode() for match in BLOCK.finditer((project / LOG).read_bytes())]
    assert names == [first.migration, second.migration]
    undo(second)
    assert contents(project) == after_first


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_taken_back_in_any_order_nothing_of_ours_is_left(
    project: Path, carry: Remember, order: tuple[int, ...]
) -> None:
    (project / INDEX).parent.mkdir(parents=True)
    (project / INDEX).write_text("mine", encoding="utf-8")
    done = [carry(chat(f"Goal {number}.", "Done.")) for number in range(3)]
    left = [0, 1, 2]
    for number in order:
        removed = migrations.undo(Store(), str(done[number].migration))["removed"]
        assert (f"the block in {project / INDEX}" in removed) is (number == left[-1])
        left.remove(number)
        shown = re.findall(r"begin (\w+)", (project / INDEX).read_text(encoding="utf-8"))
        assert shown == [str(done[number].migration) for number in left[-1:]]
    assert contents(project) == {str(INDEX): b"mine"}
    assert not (project / ARCHIVE).exists()


def test_an_empty_project_is_empty_again(project: Path, carry: Remember) -> None:
    undo(carry())
    assert list(project.iterdir()) == []


def test_an_edited_block_is_neither_replaced_nor_taken_back(project: Path, carry: Remember) -> None:
    first = carry()
    edited = (project / INDEX).read_text(encoding="utf-8").replace("### Goal", "### My goal")
    (project / INDEX).write_text(edited, encoding="utf-8")
    carry(chat("Another goal.", "Done."))
    assert (project / INDEX).read_text(encoding="utf-8").startswith(edited)
    before = contents(project)
    with pytest.raises(Refused, match="was edited"):
        undo(first)
    assert contents(project) == before


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_block_of_another_machine_is_replaced_and_comes_back_unless_it_was_edited(
    project: Path, carry: Remember, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_edited: bool, ending: str
) -> None:
    """There is no record of it here: its end mark has a sum."""
    (project / "AGENTS.md").write_bytes(f"mine{ending}".encode())
    carry(to="codex", form="memory")
    monkeypatch.setenv("SESSION_MIGRATOR_HOME", str(tmp_path / "another machine"))
    before = (project / "AGENTS.md").read_bytes()
    before = before.replace(b"tide", b"my tide", 1) if is_edited else before
    assert b"tide" in before
    (project / "AGENTS.md").write_bytes(before)
    done = carry(chat("Another goal.", "Done."), to="codex", form="memory")
    after = (project / "AGENTS.md").read_bytes()
    assert len(BLOCK.findall(after)) == 1 + is_edited
    assert after.startswith(before) is is_edited
    undo(done)
    assert (project / "AGENTS.md").read_bytes() == before


def test_a_mark_without_its_end_is_text_like_any_other(project: Path, carry: Remember) -> None:
    notes = b"<!-- session-migrator:begin 0123456789ab -->\nhalf\n"
    (project / "AGENTS.md").write_bytes(notes)
    done = carry(to="codex", form="memory")
    assert (project / "AGENTS.md").read_bytes().startswith(notes)
    undo(done)
    assert (project / "AGENTS.md").read_bytes() == notes


# --- other files


@pytest.mark.parametrize(("to", "file"), [("codex", "AGENTS.md"), ("claude-code", "CLAUDE.md")])
def test_an_agent_with_one_file_gets_one_block_there(project: Path, carry: Remember, to: str, file: str) -> None:
    (project / file).write_text("# Rules\n", encoding="utf-8")
    (project / file).chmod(0o644)
    done = carry(to=to, form="memory")
    assert set(contents(project)) == {file, f".session-migrator/{done.migration}.md"}
    assert (project / file).read_bytes().startswith(b"# Rules\n\n<!-- session-migrator:begin ")
    assert (project / file).stat().st_mode & 0o777 == 0o644
    assert f"](<.session-migrator/{done.migration}.md>)" in (project / file).read_text(encoding="utf-8")


def test_links_pictures_and_html_that_the_session_says_are_text(project: Path, carry: Remember) -> None:
    evil = "![x](http://evil/?q=1) <script>y</script> </details> [z][w]\n\n[w]: http://evil\n"
    carry(chat(f"# - [ ] Goal {evil}", evil, f"Now `[a](b) <c>`. {evil}", evil), to="claude-code", form="memory")
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    inside = text.split("-->\n", 1)[1].rsplit("<!--", 1)[0]
    assert inside.startswith("## Goal ![x\\](http://evil/?q=1) &lt;script>y&lt;/script>")
    assert "`[a](b) <c>`" in inside
    plain = re.sub(r"`[^`\n]*`", "", inside)
    assert [link for link in re.findall(r"(?<!\\)\]\([^)]*\)", plain) if ".session-migrator/" not in link] == []
    assert not re.search(r"<[A-Za-z/]|(?<!\\)\][\[:]", plain.replace("](<", "]("))


@pytest.mark.parametrize("link", ["CLAUDE.md", ".session-migrator"])
def test_a_link_that_leads_out_of_the_project_is_not_followed_unless_named(
    project: Path, carry: Remember, tmp_path: Path, link: str
) -> None:
    """A project that was cloned may hold any link."""
    outside = tmp_path / "outside"
    (project / link).symlink_to(outside)
    with pytest.raises(Refused, match="leads out of the folder"):
        carry(to="claude-code", form="memory")
    assert not outside.exists()
    if link == "CLAUDE.md":
        carry(to="claude-code", form="memory", memory_file=outside)
        assert "session-migrator:begin" in outside.read_text(encoding="utf-8")


def test_a_file_can_be_named_and_a_link_stays_a_link(project: Path, carry: Remember) -> None:
    (project / "CLAUDE.md").write_text("# Rules\n", encoding="utf-8")
    (project / "CODEBUDDY.md").symlink_to("CLAUDE.md")
    carry(memory_file="CODEBUDDY.md")
    assert (project / "CODEBUDDY.md").is_symlink()
    assert (project / "CLAUDE.md").read_text(encoding="utf-8").startswith("# Rules\n\n<!-- session-migrator:begin ")
    assert not (project / MEMORY).exists()


def test_openclaws_memory_is_in_its_own_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(UsageError, match="workspace is not a folder"):
        migrate(LONG, "openclaw", form="memory")
    (tmp_path / "state" / "workspace").mkdir(parents=True)
    migrate(LONG, "openclaw", form="memory")
    log = f"memory/{DAY}.md"
    assert {"MEMORY.md", log} < set(contents(tmp_path / "state" / "workspace"))
    other = tmp_path / "other"
    other.mkdir()
    config = {"agents": {"defaults": {"workspace": str(other)}}}
    (tmp_path / "state" / "openclaw.json").write_text(json.dumps(config), encoding="utf-8")
    migrate(LONG, "openclaw", form="memory")
    assert {"MEMORY.md", log} < set(contents(other))


def test_a_file_longer_than_its_agent_reads_is_warned_of(project: Path, carry: Remember) -> None:
    (project / "AGENTS.md").write_text("x" * 32_000, encoding="utf-8")
    done = carry(to="codex", form="memory")
    assert any("and Codex reads 32,768" in warning for warning in done.warnings)
    (project / "AGENTS.md").unlink()
    assert not any("reads 32,768" in warning for warning in carry(to="codex", form="memory").warnings)


# --- secrets


def test_a_memory_is_without_secrets_unless_asked(project: Path, carry: Remember) -> None:
    secret = "ghp_" + "aB3dE5gH7jK9" * 3
    session = chat(f"The token is {secret}.", f"I use {secret}. Next: revoke {secret}.", "Good.", "Done.")
    done = carry(session)
    assert "redacted" in " ".join(done.warnings)
    everything = b"".join(contents(project).values()) + b"".join(contents(Store().root).values())
    assert secret.encode() not in everything
    carry(session, redact=False)
    assert secret in (project / INDEX).read_text(encoding="utf-8")


# --- once, and safely


def test_the_same_memory_twice_is_written_once(project: Path, carry: Remember) -> None:
    first = carry()
    before = contents(project)
    second = carry()
    assert second.migration == first.migration
    assert contents(project) == before
    (project / INDEX).write_text("", encoding="utf-8")
    assert carry().migration != first.migration


def test_a_dry_run_writes_nothing(project: Path, carry: Remember) -> None:
    done = carry(dry_run=True)
    assert (done.migration, done.target["paths"], done.mode) == (None, [], "memory")
    assert done.tokens_after > 500
    assert contents(project) == {}
    assert not Store().root.exists()


@pytest.mark.parametrize("data", ["笔记".encode("gbk"), "notes".encode("utf-16"), b"\0\0"])
def test_a_file_that_is_no_utf8_text_is_left_alone(project: Path, carry: Remember, data: bytes) -> None:
    (project / INDEX).parent.mkdir(parents=True)
    (project / INDEX).write_bytes(data)
    with pytest.raises(Refused, match="no UTF-8 text"):
        carry()
    assert contents(project) == {str(INDEX): data}


@pytest.mark.parametrize("way", ["a folder in the place of the index", "read-only"])
def test_what_cannot_be_written_leaves_nothing(project: Path, carry: Remember, way: str) -> None:
    if way == "read-only":
        (project / INDEX).parent.mkdir(parents=True)
        (project / INDEX).write_text("mine", encoding="utf-8")
        (project / INDEX).chmod(0o400)
    else:
        (project / INDEX).mkdir(parents=True)
    before = contents(project)
    if way == "read-only":  # root may write anything
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.access", lambda *_: False)
            with pytest.raises(WriteError, match="Permission denied"):
                carry()
    else:
        with pytest.raises(WriteError, match="Is a directory"):
            carry()
    assert contents(project) == before


def test_a_file_that_another_program_writes_to_meanwhile_is_left_to_it(
    project: Path, carry: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "AGENTS.md").write_text("mine", encoding="utf-8")
    rewrite = blocks.rewrite

    def late(path: Path, old: str | None, new: str) -> None:
        path.write_text("mine, and more", encoding="utf-8")
        rewrite(path, old, new)

    monkeypatch.setattr(blocks, "rewrite", late)
    with pytest.raises(WriteError, match="another program"):
        carry(to="codex", form="memory")
    assert contents(project) == {"AGENTS.md": b"mine, and more"}


def test_what_does_not_read_back_the_same_is_taken_back(
    project: Path, carry: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_files.blocks, "is_there", lambda _: False)
    with pytest.raises(WriteError, match="does not read back"):
        carry()
    assert contents(project) == {}


# --- what is refused


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"budget": 5_000}, "fixed size"),
        ({"window": 5_000}, "fixed size"),
        ({"to": "codex", "form": "session", "memory_file": "AGENTS.md"}, "does not go into a memory file"),
        ({"form": "poem"}, "no form 'poem'"),
        ({"history": "half"}, "no history 'half'"),
    ],
)
def test_what_makes_no_sense_is_refused(carry: Remember, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        carry(**options)


def test_a_session_without_a_conversation_has_no_memory(carry: Remember) -> None:
    said = chat("Words of a client.")
    with pytest.raises(NoConversation):
        carry(replace(said, messages=tuple(replace(message, origin="injected") for message in said.messages)))


def test_the_earlier_history_is_taken_in_on_demand(project: Path, carry: Remember) -> None:
    session = read_session(LONG)
    halves = replace(session, messages=session.messages[20:], earlier=session.messages[:20])
    carry(halves)
    assert "turn 8" not in (project / INDEX).read_text(encoding="utf-8").split("### Files")[1]
    carry(halves, history="full")
    assert "(turn 8)" in (project / INDEX).read_text(encoding="utf-8")


# --- blocks


@given(before=st.text(st.sampled_from("ab \n"), max_size=8), body=st.text(max_size=40), after=st.text(max_size=8))
def test_a_block_put_in_and_taken_out_leaves_the_text(
    tmp_path_factory: pytest.TempPathFactory, before: str, body: str, after: str
) -> None:
    path = tmp_path_factory.mktemp("blocks") / "notes.md"
    before, body, after = (text.replace("\r", "").replace("\0", "") for text in (before, body, after))
    path.write_bytes(before.encode())
    block, _ = blocks.put(path, "0123456789ab", body)
    whole = path.read_bytes()
    assert blocks.is_there(block)
    path.write_bytes(whole + after.encode())
    blocks.take_out(block)
    apart = "\n" if before and after and not before.endswith("\n") else ""
    assert path.read_bytes().decode() == before + apart + after


def test_a_block_that_is_gone_is_nothing_to_take_out(tmp_path: Path) -> None:
    block = Block(path=str(tmp_path / "none.md"), name="0123456789ab", text="x")
    blocks.take_out(block)
    assert not blocks.is_there(block)
    assert not blocks.is_changed(block)


# --- on the command line


def test_the_command_line_shows_what_was_written_and_takes_it_back(project: Path) -> None:
    def run(*words: str) -> str:
        result = CliRunner().invoke(main, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    said = run("migrate", str(LONG), "--to", "workbuddy", "--into", str(project))
    assert f"wrote:   {project / INDEX}\n" in said
    assert "resume" not in said
    listed = run("migrations")
    assert "-> workbuddy memory" in listed
    name = listed.split()[0]
    shown = json.loads(run("migrate", str(LONG), "--to", "workbuddy", "--into", str(project), "--json"))
    assert (shown["migration"], shown["mode"], shown["decision"]) == (name, "memory", None)
    assert f"removed: the block in {project / INDEX}\n" in run("undo", name)
    assert contents(project) == {}


def test_a_memory_cannot_be_started(project: Path) -> None:
    words = ["migrate", str(LONG), "--to", "workbuddy", "--into", str(project), "--run"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, contents(project)) == (2, {})
    assert "a memory cannot be started" in result.output
