"""Made coding sessions with planted facts, each with the one string that shows whether it is still there.

A session is 14 to 31 turns of a user's prompt, reasoning, tool calls with results and an answer, some 60,000 to
150,000 tokens, in shares near those of recorded sessions (results 70 %, calls 24 %, the assistant's text 3 %, the
user's 2 %). Files are read again and edited again; commands fail and are mended, and some stay broken; a plan is
kept. Words are drawn from a vocabulary made with the seed; errors, decisions, rejections and wishes without a planted
fact are all about, so that a cue word tells little. The same seed gives the same session.

A fact stands where it would stand by itself, at a uniformly random depth (counted in steps of the session); its needle
has a word that occurs nowhere else. Only an open step of the plan is said again: by every later state of the plan.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from typing import Any

from session_migrator.model import Message, Part, Role, Session, Text, Thinking, ToolCall, ToolResult
from session_migrator.toolnames import tool_kind

CWD = "/home/user/project"
PER_KIND = 3

# $c a word of the fact's own, $C and $U the same as a class and a constant, $w any word, $n a number, $v a version.
NEEDLES: dict[str, tuple[str, ...]] = {
    "constraint": ("do not change the $w of $c_$w", "the $c job must stay below $n MB", "$c has to go on without $w"),
    "rejected": ("$c with $w was tried and dropped: it loses $n $w", "$c does not work because $w comes before $w"),
    "error": (
        "$CError: cannot $w the $w at offset $n",
        "error[E0$n]: mismatched $w in `$c`",
        "fatal: $c refused $n $w",
    ),
    "setting": ("$c_port = 4$n", "$c_$w_timeout: $n", "$U_LIMIT=$n"),
    "signature": ("def $c($w: int, *, $w: str = None) -> $w:", "def $w_$c(self, $w, $w=$n):"),
    "path": ("src/$w/$c.py", "tests/test_$c_$w.py", "docs/$c-$w.md"),
    "todo": ("write the $c check of $w", "move $w out of $c", "ask whether $c may have $n $w"),
    "decision": ("$c stays in $w since it costs only $n $w", "$w goes through $c, not $w, so that $w stays whole"),
    "preference": ("I prefer $c over $w for every $w", "call it $c, never $w", "put each $w behind its $c"),
    "command": ("python -m $w.$c --$w $n", "make $c-$w JOBS=$n", "npx $c run $w --only=$w"),
    "test": ("test_$c_keeps_$w", "test_$w_without_$c"),
    "version": ("$c==$v", "$c-$w==$v"),
}
KINDS = tuple(NEEDLES)

# What stands around a fact that is said.
FRAMES: dict[str, tuple[str, ...]] = {
    "constraint": ("One thing is fixed: $F.", "Please mind that $F.", "And $F, whatever else changes."),
    "rejected": ("$F.", "For the record, $F.", "Not that way: $F."),
    "decision": ("Decided: $F.", "So $F.", "After looking at both, $F."),
    "preference": ("$F.", "By the way, $F.", "When in doubt, $F."),
    "version": ("This needs $F.", "It is $F that has the $w we use.", "I pinned $F."),
}
_PROMPTS = (
    "Please look at the $w of $w_$w, it is $w again.", "Can you make $w work with $w?", "Go on with $w.",
    "The $w in src/$w must not be $w when $w is off.", "Now do the same for $w and $w.", "Why is $w never $w here?",
    "I would prefer $w in $w to be $w.", "That is better, but $w still gets $n instead of $n.",
)  # fmt: skip
_ANSWERS = (
    "The $w now takes $w from $w_$w, and $w is $w.", "I decided to leave $w as it is.", "So $w goes before $w.",
    "What did not work: $w without $w, because $w is read twice.", "All $n $w pass, and $w is no longer $w.",
    "The error in $w came from $w, which must be $w first.", "$w and $w were dropped, $w stays.", "Next is $w.",
    "There is no need to change $w: it only sees $w.", "I tried $w first; $w is simpler.", "This keeps $w at $n $w.",
)  # fmt: skip
_STATEMENTS = (
    "$w = self.$w_$w($w, $w=$n)", "return $w[$w:$n] or $w.$w()", "$w.append(($w, $w_$w[$n]))", "assert $w != $w, '$w'",
    "raise ValueError(f'{$w} is not $w')", "# $w before $w, else the $w of $w_$w is $w", "$w, $w = $w_$w($w), $n",
    "$w += len($w) - $n", "if $w in $w: continue", "with $w.$w('$w-$n.$w') as $w: $w.$w($w)", "log.info('$w %s', $w)",
    "$w = {'$w': $w, '$w_$w': $n}", "$w = [$w.$w for $w in $w if $w > $n]", "del $w[$w_$w]", "yield from $w.$w($w)",
)  # fmt: skip
_SYLLABLES = (
    "ba", "con", "der", "fi", "gra", "im", "jo", "ka", "lem", "mo", "nu", "ost", "pre", "qui", "ra", "sol", "ten", "ul",
    "ver", "wid", "xa", "yor", "zim",
)  # fmt: skip
# A command that is run now and then, and the sort of lines that it prints.
_COMMANDS = (
    ("make $w-$w", "built"), ("pytest tests/test_$w.py", "tested"), ("cat var/$w.log", "logged"),
    ("curl -s localhost:$n/$w", "json"), ("ls -l src/$w", "listed"), ("git diff src/$w", "changed"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something worth keeping: its kind, and the string that shows that it is there."""

    kind: str
    needle: str


class Words:
    """Texts of several sorts from one made vocabulary."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self._seen: set[str] = set()
        self._common = [self.coin() for _ in range(1_500)]

    def coin(self) -> str:
        """A word that was not there before."""
        while (word := "".join(self.pick.choices(_SYLLABLES, k=self.pick.randint(2, 4)))) in self._seen:
            pass
        self._seen.add(word)
        return word

    def word(self) -> str:
        """A word of the vocabulary, few of them often."""
        return self._common[int(len(self._common) * self.pick.random() ** 2)]

    def fill(self, template: str, **given: str) -> str:
        """A template with its letters replaced."""
        own = self.coin() if re.search(r"\$[cCU]", template) else ""
        makers: dict[str, Callable[[], str]] = {
            "w": self.word, "c": lambda: own, "C": own.capitalize, "U": own.upper,
            "n": lambda: str(self.pick.randint(11, 9_999)),
            "v": lambda: ".".join(str(self.pick.randint(0, most)) for most in (9, 40, 30)),
        }  # fmt: skip
        return re.sub(r"\$(\w)", lambda found: given.get(found[1]) or makers[found[1]](), template)

    def one(self, templates: tuple[str, ...], **given: str) -> str:
        """One of the templates, filled."""
        return self.fill(self.pick.choice(templates), **given)

    def size(self) -> int:
        """Characters of a result: 200 to 20,000, few of them large."""
        return int(200 * 100 ** (self.pick.random() ** 2.25))

    def code(self, lines: int) -> list[str]:
        """Lines of a module."""
        made: list[str] = []
        while len(made) < lines:
            arguments = ", ".join(self.word() for _ in range(self.pick.randint(0, 4)))
            made += ["", f"def {self.word()}_{self.word()}({arguments}):"]
            made += [f"    {self.one(_STATEMENTS)}" for _ in range(self.pick.randint(2, 9))]
        return made[:lines]

    def output(self, characters: int, sort: str) -> list[str]:
        """Lines of what a command printed, of one sort."""
        made: list[str] = []
        while characters > 0:
            made.append(self._line(sort))
            characters -= len(made[-1]) + 1
        return made

    def _line(self, sort: str) -> str:
        pick = self.pick
        match sort:
            case "logged":
                at = f"2025-06-{pick.randint(10, 29)} 10:{pick.randint(10, 59)}:{pick.randint(10, 59)}"
                level = pick.choice(("INFO", "INFO", "DEBUG", "WARN", "ERROR"))
                return f"{at} {level:5} " + self.fill("[$w.$w] $w $w_$w took $n ms, $w=$n")
            case "json":
                row = {self.word(): self.word(), self.word(): pick.randint(0, 10**6)}
                return json.dumps(
                    {"id": f"{pick.getrandbits(48):012x}", **row, self.word(): [self.word(), self.word()]}
                )
            case "listed":
                size, day = pick.randint(90, 99_999), pick.randint(10, 29)
                return f"-rw-r--r-- 1 user user {size:>6} Jun {day} 10:12 {self.fill('$w_$w.py')}"
            case "tested":
                return self.fill(f"tests/test_$w.py::test_$w_$w {pick.choice(('PASSED', 'SKIPPED'))} in $n ms")
            case "changed":
                return pick.choice((" ", " ", "-", "+")) + "    " + self.one(_STATEMENTS)
            case _:
                return self.fill("[$n/9999] compiling $w-$w $v ($w)")


@dataclass(frozen=True, kw_only=True)
class Step:
    """A tool call and what it returned."""

    name: str
    arguments: Mapping[str, Any]
    output: str
    failed: bool = False


class Project:
    """The folder that the session works on: what tools are called with and what they return."""

    def __init__(self, words: Words) -> None:
        self.words, self.pick = words, words.pick
        self.files = {
            f"{CWD}/src/{words.word()}/{words.word()}_{number}.py": words.code(words.size() // 55 + 10)
            for number in range(self.pick.randint(12, 24))
        }
        self.plan: list[tuple[str, str]] = []
        self._open: set[str] = set()
        self.plan_tool = self.pick.choice(("TodoWrite", "update_plan"))

    def ordinary(self) -> Iterator[Step]:
        """A step without a fact; a command that failed is mended by an edit and run again."""
        if self.pick.random() < 0.24:
            yield from self._run()
        else:
            yield self.pick.choices((self._read, self._edit, self._grep, self._write), (32, 27, 11, 6))[0]()

    def planted(self, kind: str, needle: str) -> Iterator[Step]:
        """The steps in which a fact comes up."""
        words = self.words
        match kind:
            case "error":
                frames = [words.fill('  File "src/$w/$w.py", line $n, in $w') for _ in range(self.pick.randint(0, 12))]
                shown, rest = words.output(words.size(), "built"), words.output(self.pick.choice((0, 200)), "logged")
                output = [*shown, *frames, needle, *rest]
                yield self._command(words.fill("make $w-$w"), output, failed=True)
            case "setting":
                lines = [words.one(NEEDLES["setting"]) for _ in range(self.pick.randint(8, 120))]
                path = words.fill(f"{CWD}/config/$w-$w.toml")
                whole = self._with(lines, needle)
                yield self.pick.choice((self._shown(path, whole, 0), self._command(f"cat {path}", whole)))
            case "signature":
                before, after = words.code(self.pick.randint(2, 12)), words.code(self.pick.randint(4, 25))
                old = words.fill("def $w_$w($w):")
                path = words.fill(f"{CWD}/src/$w/$w_$w.py")
                yield self._changed(path, [*before, old, *after], [*before, needle, *self._mutated(after)])
            case "path":
                lines = words.code(self.pick.randint(20, 120))
                yield self._created(f"{CWD}/{needle}", lines)
            case "todo":
                yield from self.planning(needle)
            case "command":
                attempt = f"{needle.split(maxsplit=1)[0]} {words.fill('$w --$w $n')}"
                yield self._command(attempt, words.output(200, "logged"), failed=True)
                yield self._command(needle, words.output(words.size(), "logged"))
            case "test":
                path = words.fill("tests/test_$w_$w.py")
                where = ["", f"    def {needle}():", *words.code(self.pick.randint(4, 20)), "E   AssertionError"]
                summary = f"FAILED {path}::{needle} - AssertionError: {words.fill('$n != $n')}"
                passed, end = words.output(words.size(), "tested"), words.fill("1 failed, $n passed in $n ms")
                yield self._command(f"pytest {path}", [*passed, *where, summary, end], failed=True)
            case _:
                listed = [words.one(NEEDLES["version"]) for _ in range(self.pick.randint(8, 90))]
                yield self._command("pip freeze", self._with(listed, needle))

    def planning(self, *planted: str) -> Iterator[Step]:
        """The plan brought up to date: some is done, some is new; what was planted stays open."""
        self._open.update(planted)
        new = [self.words.one(("fix $w in $w", "check the $w of $w_$w", "read $w")) for _ in range(2)]
        done = [what for what, status in self.plan if status == "completed"]
        entries = [entry for entry in self.plan if entry[0] not in done[:-4]]
        entries += [(what, "pending") for what in (*new, *planted)]
        finished = {what for what, _ in entries if what not in self._open and self.pick.random() < 0.4}
        self.plan = [(what, "completed" if what in finished else status) for what, status in entries]
        key, field = ("todos", "content") if self.plan_tool == "TodoWrite" else ("plan", "step")
        states = [{field: what, "status": status} for what, status in self.plan]
        yield Step(name=self.plan_tool, arguments={key: states}, output="Plan updated")

    def _read(self) -> Step:
        path = self._path()
        lines = self.files[path]
        first = 0 if len(lines) < 150 or self.pick.random() < 0.4 else self.pick.randrange(len(lines) - 100)
        return self._shown(path, lines[first : first + 100] if first else lines, first)

    def _edit(self) -> Step:
        path = self._path()
        lines = self.files[path]
        first = self.pick.randrange(len(lines))
        old = lines[first : first + self.pick.randint(1, 26)]
        new = self._mutated(old)
        self.files[path] = [*lines[:first], *new, *lines[first + len(old) :]]
        return self._changed(path, old, new)

    def _run(self) -> Iterator[Step]:
        template, sort = self.pick.choice(_COMMANDS)
        command, output = self.words.fill(template), self.words.output(self.words.size(), sort)
        if sort not in ("built", "tested") or self.pick.random() < 0.6:
            yield self._command(command, output)
            return
        reason = self.words.one(NEEDLES["error"] if sort == "built" else ("FAILED tests/test_$w.py::test_$w_$c - $w",))
        yield self._command(command, [*output, reason], failed=True)
        if self.pick.random() < 0.7:
            yield self._edit()
            yield self._command(command, self.words.output(300, sort))

    def _grep(self) -> Step:
        word = self.words.word()
        numbered = ((path, place) for path, lines in self.files.items() for place in enumerate(lines, 1))
        found = [f"{path}:{number}:{line.strip()}" for path, (number, line) in numbered if word in line]
        return Step(name="Grep", arguments={"pattern": word, "path": CWD}, output="\n".join(found[:60]) or "No matches")

    def _write(self) -> Step:
        path = self.words.fill(f"{CWD}/src/$w/$w_$n.py")
        self.files[path] = self.words.code(self.pick.randint(20, 120))
        return self._created(path, self.files[path])

    def _path(self) -> str:
        return list(self.files)[int(len(self.files) * self.pick.random() ** 2)]

    def _mutated(self, lines: list[str]) -> list[str]:
        return [f"    {self.words.one(_STATEMENTS)}" if self.pick.random() < 0.3 else line for line in lines]

    def _with(self, lines: list[str], line: str) -> list[str]:
        place = self.pick.randint(0, len(lines))
        return [*lines[:place], line, *lines[place:]]

    def _shown(self, path: str, lines: list[str], first: int) -> Step:
        given = {"file_path": path, "offset": first + 1, "limit": 100} if first else {"file_path": path}
        output = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first + 1))
        return Step(name="Read", arguments=given, output=output)

    def _changed(self, path: str, old: list[str], new: list[str]) -> Step:
        given = {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        return Step(name="Edit", arguments=given, output=f"The file {path} has been updated.")

    def _created(self, path: str, lines: list[str]) -> Step:
        given = {"file_path": path, "content": "\n".join(lines)}
        return Step(name="Write", arguments=given, output=f"File created successfully at: {path}")

    def _command(self, command: str, output: list[str], failed: bool = False) -> Step:
        shown = ["Exit code 1", *output] if failed else output
        return Step(name="Bash", arguments={"command": command}, output="\n".join(shown), failed=failed)


class Story:
    """The conversation as it is told, message by message."""

    def __init__(self, seed: int) -> None:
        self.words = Words(seed)
        self.pick = self.words.pick
        self.project = Project(self.words)
        self.messages: list[Message] = []
        self.facts: list[Fact] = []
        self._calls = 0

    def turn(self, steps: int, kinds: list[str]) -> None:
        """A turn of so many ordinary steps in which facts of these kinds come up."""
        said: dict[Role, list[str]] = {"user": [], "assistant": []}
        work: list[Callable[[], Iterator[Step]]] = [self.project.ordinary] * steps
        long = self.pick.random() < 0.03
        if self.pick.random() < 0.2:
            work.append(self.project.planning)
        for kind in kinds:
            fact = Fact(kind=kind, needle=self.words.one(NEEDLES[kind]))
            self.facts.append(fact)
            if kind in FRAMES and (kind != "version" or self.pick.random() < 0.5):
                role: Role = "user" if kind in ("constraint", "preference") else "assistant"
                said[role].append(self.words.one(FRAMES[kind], F=fact.needle))
                long = long or kind == "preference"
            else:
                work.insert(self.pick.randint(0, len(work)), partial(self.project.planted, kind, fact.needle))
        sentences = self.pick.randint(12, 28) if long else self.pick.randint(1, 3)
        self._say("user", Text(text=self._prose(_PROMPTS, sentences, said["user"])))
        done = [step for make in work for step in make()]
        while done:
            looks = all(step.name in ("Read", "Grep") for step in done[:2])
            together = 2 if looks and self.pick.random() < 0.5 else 1
            remark = said["assistant"].pop() if said["assistant"] and self.pick.random() < 0.15 else None
            self._work(done[:together], remark)
            done = done[together:]
        self._say("assistant", Text(text=self._prose(_ANSWERS, self.pick.randint(2, 9), said["assistant"])))

    def _prose(self, templates: tuple[str, ...], sentences: int, facts: list[str]) -> str:
        made = [self.words.one(templates) for _ in range(sentences)]
        for fact in facts:
            made.insert(self.pick.randint(len(made) // 3, len(made) - len(made) // 3), fact)
        return "".join(sentence + self.pick.choice((" ", " ", " ", "\n")) for sentence in made).strip()

    def _work(self, steps: list[Step], remark: str | None) -> None:
        parts: list[Part] = []
        if self.pick.random() < 0.3:
            parts.append(Thinking(text=self._prose(_ANSWERS, self.pick.randint(2, 6), [])))
        if remark or self.pick.random() < 0.2:
            parts.append(Text(text=self._prose(_ANSWERS, self.pick.randint(1, 3), [remark] if remark else [])))
        results: list[Part] = []
        for step in steps:
            self._calls += 1
            call_id, kind = f"call_{self._calls}", tool_kind(step.name)
            parts.append(ToolCall(id=call_id, name=step.name, arguments=step.arguments, kind=kind))
            results.append(ToolResult(call_id=call_id, parts=(Text(text=step.output),), is_error=step.failed))
        self._say("assistant", *parts)
        self._say("tool", *results)

    def _say(self, role: Role, *parts: Part) -> None:
        number = len(self.messages)
        at = (datetime(2025, 6, 2, 9, tzinfo=UTC) + timedelta(seconds=20 * number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        origin = {"user": "human", "assistant": "model", "tool": "tool"}[role]
        self.messages.append(Message(role=role, parts=parts, id=f"m{number}", timestamp=at, origin=origin))


def generate(seed: int) -> tuple[Session, list[Fact]]:
    """The session of a seed, and its facts in order."""
    story = Story(seed)
    steps = [story.pick.randint(1, 7) for _ in range(story.pick.randint(14, 31))]
    ends = list(accumulate(steps))
    places = [(story.pick.random() * ends[-1], kind) for kind in KINDS for _ in range(PER_KIND)]
    for count, end in zip(steps, ends, strict=True):
        story.turn(count, [kind for place, kind in places if end - count <= place < end])
    made = Session(id=f"planted-{seed}", agent="claude-code", messages=tuple(story.messages), cwd=CWD)
    return made, story.facts
