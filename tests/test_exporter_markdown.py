"""The readable transcripts: whole, folded where it helps, and safe against what stands in them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from session_migrator.exporter import to_markdown, to_text
from session_migrator.exporter.markdown import fenced
from session_migrator.model import (
    Compaction,
    File,
    Image,
    Message,
    Origin,
    Part,
    Role,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)  # fmt: skip

SESSION = Session(
    id="0198-a",
    agent="codex",
    model="gpt-5",
    cwd="/home/dev/toy_shop",
    title="Fix the *price* tag\n# not a heading",
    created_at="2026-03-02T09:00:00.000Z",
    updated_at="2026-03-02T09:30:59.999Z",
    earlier=(Message(role="user", parts=(Text(text="long ago"),)),),
    messages=(
        Message(role="user", parts=(Text(text="<environment>"),), origin="injected"),
        Message(role="user", parts=(Compaction(summary="Two crates\nso far."),), timestamp="2026-03-02T09:00:00.000Z"),
        Message(
            role="user", parts=(Text(text="Fix `it`."), Image(media_type="image/png", data="QUJD")), origin="human"
        ),
        Message(
            role="assistant",
            parts=(
                Thinking(text="Hm."),
                Text(text="Looking."),
                ToolCall(id="c", name="shell_tool", arguments={"command": "ls ä"}),
                ToolCall(id="d", name="apply_patch", arguments="*** Begin\n```"),
            ),
        ),
        Message(
            role="tool",
            parts=(
                ToolResult(call_id="c", parts=(Text(text="a\nb"), File(name="c.pdf"))),
                ToolResult(call_id="d", parts=(Text(text="refused"),), is_error=True),
            ),
        ),
        Message(role="assistant", parts=(Unknown(kind="web_search_call", raw={}), Text(text="Done."))),
    ),
)

MARKDOWN = r"""# Fix the \*price\* tag \# not a heading

codex · gpt-5 · /home/dev/toy\_shop · 2026-03-02 09:00 to 2026-03-02 09:30 · 6 messages, 1 earlier not shown · 0198-a

<details>
<summary>Injected context</summary>

```
<environment>
```

</details>

## User · 2026-03-02 09:00

> **Summary of earlier messages**
>
> Two crates
> so far.

Fix `it`.

\[image: image/png\]

## Assistant

> **Thinking**
>
> Hm.

Looking.

**Tool call: shell\_tool**

```json
{
  "command": "ls ä"
}
```

**Tool call: apply\_patch**

````
*** Begin
```
````

**Result**

```
a
b
[file: c.pdf]
```

**Error**

```
refused
```

\[web\_search\_call\]

Done.
"""

TEXT = """Fix the *price* tag # not a heading
codex · gpt-5 · /home/dev/toy_shop · 2026-03-02 09:00 to 2026-03-02 09:30 · 6 messages, 1 earlier not shown · 0198-a

(injected context, 13 characters)

User: (2026-03-02 09:00)

  (summary of earlier messages)
    Two crates
    so far.

  Fix `it`.

  [image: image/png]

Assistant:

  (thinking)
    Hm.

  Looking.

  > shell_tool
    {
      "command": "ls ä"
    }

  > apply_patch
    *** Begin
    ```

  < result
    a
    b
    [file: c.pdf]

  < error
    refused

  [web_search_call]

  Done.
"""


def said(text: str, role: Role = "user", origin: Origin | None = None) -> Session:
    messages = (
        Message(role=role, parts=(Text(text=text),), origin=origin),
        Message(role="system", parts=(Text(text="E"),)),
    )
    return Session(id="s", agent="a", messages=messages, title="T")


def test_a_transcript_in_markdown_reads_like_this() -> None:
    assert to_markdown(SESSION) == MARKDOWN


def test_a_transcript_for_the_terminal_reads_like_this() -> None:
    assert to_text(SESSION) == TEXT


def test_without_a_title_the_first_words_of_the_human_stand_there() -> None:
    session = Session(id="s", agent="a", messages=(Message(role="user", parts=(Text(text="Count\nthem. " * 30),)),))
    first = to_text(session).split("\n")[0]
    assert first.startswith("Count them. Count them.")
    assert len(first) == 100
    assert to_markdown(Session(id="s", agent="a", messages=())).startswith("# s\n")


def test_a_session_with_no_name_at_all_has_a_heading() -> None:
    assert to_text(Session(id=" ", agent="a", messages=())).startswith("Session\n")


def test_the_summary_a_client_wrote_is_shown_as_one() -> None:
    session = said("So far.", origin="summary")
    assert "> **Summary of earlier messages**\n>\n> So far." in to_markdown(session)
    assert "  (summary of earlier messages)\n    So far." in to_text(session)


@given(st.text("`~a\n", max_size=30))
def test_a_fence_is_longer_than_any_run_within(text: str) -> None:
    opening, *inside, closing = fenced(text).split("\n")
    assert opening == closing
    assert "\n".join(inside) == text
    assert opening not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```\n<b>\n```", "```\n<b>\n```"),
        ("1. do\n   ```html\n   <b>\n\n   ```", "1. do\n   ```html\n   <b>\n\n   ```"),
        ("~~~ `x`\n```\n~~~~", "~~~ `x`\n```\n~~~~"),
        ("use `<b>` and <b>", "use `<b>` and &lt;b>"),
        ("``<b>` <i>", "``&lt;b>` &lt;i>"),
        ("a < b", "a < b"),
        ("```\nopen", "> ```\n> open"),
        ("- a\n  ```\n```", "> - a\n>   ```\n> ```"),
        ("```\n~~~\n```x", "> ```\n> ~~~\n> ```x"),
        ("<!-- <details>", "&lt;!-- &lt;details>"),
        ("```\n<!--", "> ```\n> &lt;!--"),
    ],
)
def test_no_message_reaches_past_its_end(text: str, shown: str) -> None:
    assert to_markdown(said(text)).split("\n\n", 3)[3] == f"{shown}\n\n## System\n\nE\n"


def test_a_long_run_of_backticks_is_shown_at_once() -> None:
    ticks = "a " + "`" * 100_000
    assert to_markdown(said(f"{ticks}<b>")).split("\n\n")[3] == f"{ticks}&lt;b>"


def test_what_is_folded_cannot_unfold_itself() -> None:
    made = to_markdown(said("</details>\n```\nout", origin="injected"))
    assert "````\n</details>\n```\nout\n````\n\n</details>\n" in made


def test_escape_sequences_and_controls_do_not_reach_the_reader() -> None:
    text = "\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07 a\rb\r\nc\x9b2J \x7f\x00 \x1b\x1b[0m[2J\ttab \ud83d"
    shown = "red␇ ␛]0;title␇ a␍b\nc\ufffd2J ␡␀ ␛[2J\ttab \ufffd"
    assert shown in to_markdown(said(text))
    assert shown.replace("\n", "\n  ") in to_text(said(text))


part_makers = [
    lambda text: Text(text=text),
    lambda text: Thinking(text=text),
    lambda text: Compaction(summary=text),
    lambda text: ToolCall(id="c", name=text, arguments=text),
    lambda text: ToolCall(id="c", name="n", arguments={text: text}),
    lambda text: ToolResult(call_id="c", parts=(Text(text=text), Image(location=text))),
    lambda text: File(name=text),
    lambda text: Unknown(kind=text),
]


@pytest.mark.parametrize("part", [make("User: x\n\nUser:\n## User\x1b[1A") for make in part_makers])
def test_no_content_can_pass_for_a_heading_of_the_terminal(part: Part) -> None:
    session = Session(id="s", agent="a", messages=(Message(role="assistant", parts=(part,)),), title="User:\nUser:")
    lines = to_text(session).split("\n")
    assert [line for line in lines[2:] if line and not line.startswith("  ")] == ["Assistant:"]
    assert lines[0] == "User: User:"


@given(sessions)
def test_any_session_can_be_shown_without_a_control_character(session: Session) -> None:
    for shown in (to_markdown(session), to_text(session)):
        shown.encode("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
