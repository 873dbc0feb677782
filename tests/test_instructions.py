"""What clients read beside a session: instruction files with their imports, skills, agents and commands."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from session_migrator import agents, tokens
from session_migrator.agents.instructions import (
    anywhere,
    beside,
    described_as,
    documents,
    is_conditional,
    skills,
    text_of,
    with_imports,
)
from session_migrator.agents.paths import dashed
from session_migrator.target import inspect


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# --- imports


@pytest.mark.parametrize(
    ("line", "is_import"),
    [
        ("@more.md", True), ("See @more.md.", True), ("- @./more.md and so on", True), ("see\t@docs/../more.md)", True),
        ("@~/../project/more.md", True), ("@two\\ words.md", True), ("```\nx\n```\n@more.md", True),
        ("someone@more.md", False), ("`@more.md`", False), ("```\n@more.md\n```", False),
        ("  ~~~sh\n  echo @more.md\n  ~~~", False), ("```\n@more.md", False), ("@missing.md", False), ("@docs", False),
        ("@", False), ("@..", False), ("@/", False), ("@\0", False), ("@~nobody/more.md", False),
        ("@" + "x" * 5_000, False), ("@~root/more.md", False),
    ],
)  # fmt: skip
def test_an_import_is_a_path_behind_an_at_sign_outside_of_code(line: str, is_import: bool, own_home: Path) -> None:
    project = own_home.parent / "project"
    more = {write(project / "more.md"), write(project / "two words.md")}
    (project / "docs").mkdir()
    path = write(project / "RULES.md", f"Rules.\n\n{line}\n")
    found = with_imports([path], anywhere)
    assert found[0] == path
    assert len(found) == 1 + is_import
    assert more.issuperset(found[1:])


@pytest.mark.parametrize("path", ["/proc/self/environ", "/dev/zero", "/proc/self/mem", "/"])
def test_what_is_no_document_says_nothing(path: str, tmp_path: Path) -> None:
    named = Path(path)
    assert with_imports([write(tmp_path / "RULES.md", f"@{path}")], anywhere)[1:] in ((), (named,))
    assert text_of(named) == ""


def test_of_a_very_long_document_the_beginning_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "RULES.md", "x" * 5_000_000)
    assert len(text_of(path)) == 4_000_000


def test_one_file_is_imported_once_by_whatever_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).symlink_to(".")
    ways = ("".join(f"{step}/" for step in steps) for steps in product("ab", repeat=9))
    path = write(tmp_path / "RULES.md", " ".join(f"@{way}RULES.md @{way}more.md" for way in ways))
    more = write(tmp_path / "more.md")
    assert [each.resolve() for each in with_imports([path], anywhere)] == [path, more]


def test_a_project_that_imports_without_end_comes_to_an_end(tmp_path: Path) -> None:
    said = " ".join(f"@{number}.md" for number in range(900))
    paths = [write(tmp_path / f"{number}.md", said) for number in range(900)]
    assert len(with_imports(paths[:1], anywhere)) == 200
    missing = write(tmp_path / "RULES.md", " ".join(f"@missing/{number}.md" for number in range(100_000)))
    assert with_imports([missing], anywhere) == (missing,)


def test_imports_are_followed_five_hops_far_and_never_in_a_circle(tmp_path: Path) -> None:
    chain = [write(tmp_path / f"{number}.md", f"@{number + 1}.md @0.md") for number in range(9)]
    assert with_imports([chain[0]], anywhere) == tuple(chain[:6])
    assert set(with_imports([chain[0], chain[2]], anywhere)) == set(chain[:8])


def test_what_is_imported_lies_beside_the_file_that_says_so(tmp_path: Path) -> None:
    home, root, above = tmp_path / "home", tmp_path / "work" / "root", tmp_path / "work"
    for place in (home, root, above):
        write(place / "inner" / "more.md")
    said = f"@inner/more.md @{home}/inner/more.md @{root}/inner/more.md @{above}/inner/more.md"
    files = {place: write(place / "RULES.md", said) for place in (home, root, above)}
    for place in (home, root):
        assert with_imports([files[place]], beside(home, root)) == (files[place], place / "inner" / "more.md")
    both = with_imports([files[root], files[home]], beside(home, root))
    assert set(both) == {place / name for place in (home, root) for name in ("RULES.md", "inner/more.md")}
    assert set(with_imports([files[above]], beside(home, root))) == {
        files[above], above / "inner" / "more.md", root / "inner" / "more.md",
    }  # fmt: skip


# --- what is described


def test_skills_are_found_in_their_folders_and_below_where_a_client_looks_there(tmp_path: Path) -> None:
    names = ("a", "b/c", "b/d/e", ".hidden", "f/node_modules")
    near, further, deepest, *_ = [write(tmp_path / "skills" / name / "SKILL.md") for name in names]
    write(tmp_path / "skills" / "loose.md")
    assert skills([tmp_path / "skills", tmp_path / "none"]) == (near,)
    assert skills([tmp_path / "skills"], deep=True) == (near, further, deepest)


def test_what_a_link_leads_to_is_found_once_and_a_circle_ends(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    skill = write(tmp_path / "shared" / "one" / "SKILL.md")
    for name in ("x", "y"):
        (tmp_path / name / "skills").mkdir(parents=True)
        (tmp_path / name / "skills" / "one").symlink_to(skill.parent)
    folder.mkdir()
    (folder / "again").symlink_to(folder)
    write(folder / "two" / "SKILL.md")
    found = skills([tmp_path / "x" / "skills", tmp_path / "y" / "skills", folder], deep=True)
    assert [path.resolve() for path in found] == [skill, folder / "two" / "SKILL.md"]


def test_a_skill_is_found_beside_one_that_holds_many_folders(tmp_path: Path) -> None:
    first, last = write(tmp_path / "skills" / "a" / "SKILL.md"), write(tmp_path / "skills" / "z" / "SKILL.md")
    for number in range(2_100):
        (tmp_path / "skills" / "a" / "lib" / str(number)).mkdir(parents=True)
    assert skills([tmp_path / "skills"], deep=True) == (first, last)


def test_documents_are_markdown_files(tmp_path: Path) -> None:
    near, below = write(tmp_path / "agents" / "a.md"), write(tmp_path / "agents" / "x" / "b.md")
    write(tmp_path / "agents" / "a.txt")
    (tmp_path / "agents" / "folder.md").mkdir()
    assert documents([tmp_path / "agents"]) == (near,)
    assert documents([tmp_path / "agents"], deep=True) == (near, below)


@pytest.mark.parametrize(
    ("text", "conditional"),
    [
        ("---\npaths: src/**\n---\nx", True), ("---\nname: x\nglobs: [a]\n---\n", True),
        ("---\nname: paths\n---\n", False), ("\ufeff---\npaths: a\n---\n", True),
        ("paths: all", False), ("x\n---\npaths: a\n---\n", False), ("---\npaths: a\n", False), ("", False),
    ],
)  # fmt: skip
def test_a_rule_for_some_files_is_told_apart(text: str, conditional: bool, tmp_path: Path) -> None:
    assert is_conditional(write(tmp_path / "rule.md", text)) is conditional


def test_of_a_skill_its_front_matter_is_told_and_not_its_text(tmp_path: Path) -> None:
    text = "---\nname: tide\ndescription: >-\n  Knows <tides> &\n  moons\n---\n\nThe body."
    told = described_as(write(tmp_path / "tide" / "SKILL.md", text))
    assert "Knows &lt;tides&gt; &amp;\n  moons" in told
    assert told.count("tide") >= 4
    assert str(tmp_path / "tide" / "SKILL.md") in told
    assert "body" not in told
    bare = described_as(write(tmp_path / "review.md", "Look at all. " * 100))
    assert "Look at all." in bare
    assert len(bare) < 700


# --- where clients look: what was seen in their first requests, 2026-11-30

_OF_CORE = ("skill", "skills", "agent", "agents")
HERE, CHAIN = "in this folder alone", "in every folder from the repository's root down"
SEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "codex": {"home": ("skills",), "~": (".agents/skills",), CHAIN: (".agents/skills", ".codex/skills")},
    "claude-code": {
        "home": ("skills", "agents", "commands"), CHAIN: (".claude/skills", ".claude/agents", ".claude/commands"),
    },
    "gemini": {"home": ("skills", "agents"), "~": (".agents/skills",), HERE: (".agents/skills", ".gemini/skills")},
    "qwen": {
        "home": ("skills", "agents", "commands"), "~": (".agents/skills",),
        HERE: (".agents/skills", ".qwen/skills", ".qwen/agents", ".qwen/commands"),
    },
    "opencode": {
        "~": (
            ".claude/skills", ".agents/skills", *(f".opencode/{name}" for name in _OF_CORE),
            *(f".config/opencode/{name}" for name in _OF_CORE),
        ),
        CHAIN: (".claude/skills", ".agents/skills", *(f".opencode/{name}" for name in _OF_CORE)),
    },
    "kilo": {
        "~": (
            ".claude/skills", ".agents/skills",
            *(f"{place}/{name}" for place in (".kilo", ".kilocode", ".config/kilo") for name in _OF_CORE),
        ),
        CHAIN: (
            ".claude/skills", ".agents/skills",
            *(f"{place}/{name}" for place in (".kilo", ".kilocode") for name in _OF_CORE),
        ),
    },
    "pi": {"home": ("skills",), "~": (".agents/skills",)},
    "openclaw": {"home": ("skills",), "~": (".agents/skills",)},
    "copilot": {
        "home": ("skills", "agents"), "~": (".agents/skills",),
        CHAIN: (
            ".claude/skills", ".claude/agents", ".claude/commands", ".agents/skills",
            ".github/skills", ".github/agents",
        ),
    },
    "codebuddy": {"home": ("skills", "agents"), HERE: (".codebuddy/skills", ".codebuddy/agents")},
    "workbuddy": {"home": ("skills", "agents"), HERE: (".codebuddy/skills", ".codebuddy/agents")},
}  # fmt: skip


@pytest.mark.parametrize("agent", agents.AGENTS)
def test_what_a_client_was_seen_to_tell_of_is_known(agent: str, own_home: Path) -> None:
    spec = agents.get(agent)
    home, root = spec.locate(None), own_home / "work" / "root"
    chain = (root, root / "middle", root / "middle" / "here")
    (root / ".git").mkdir(parents=True)
    places = {"home": [home], "~": [own_home], HERE: chain[-1:], CHAIN: chain}
    wanted = {
        write(place / name / ("x/SKILL.md" if name.endswith(("skill", "skills")) else "x.md"), f"{place}")
        for where, names in SEEN[agent].items() for place in places[where] for name in names
    }  # fmt: skip
    write(root.parent / ".claude" / "skills" / "above" / "SKILL.md")
    assert wanted
    assert set(spec.described(home, chain[-1])) == wanted


def test_pi_looks_into_a_project_once_it_is_trusted(own_home: Path, project: Path) -> None:
    spec = agents.get("pi")
    home = spec.locate(None)
    paths = [write(project / place / "skills" / "x" / "SKILL.md", place) for place in (".pi", ".agents")]
    paths += [write(own_home / "more" / "y" / "SKILL.md"), write(home / "skills" / "loose.md")]
    write(home / "settings.json", '{"skills": ["~/more", 7]}')
    assert set(spec.described(home, project)) == set(paths[2:])
    write(home / "trust.json", f'{{"{project}": true}}')
    assert set(spec.described(home, project)) == set(paths)


def test_openclaw_looks_into_its_workspace_and_where_its_settings_say(own_home: Path, project: Path) -> None:
    spec = agents.get("openclaw")
    home = spec.locate(None)
    paths = {write(own_home / "more" / "x" / "SKILL.md")}
    paths |= {write(home / "workspace" / place / "skills" / "x" / "SKILL.md", place) for place in (".", ".agents")}
    write(project / "skills" / "x" / "SKILL.md")
    write(home / "openclaw.json", '{"skills": {"load": {"extraDirs": ["~/more", null]}}}')
    assert {path.resolve() for path in spec.described(home, project)} == paths


# --- instruction files of single clients


@pytest.mark.usefixtures("own_home")
def test_codex_reads_the_override_first_and_what_its_settings_name_last(project: Path) -> None:
    spec = agents.get("codex")
    home = spec.locate(None)
    write(home / "config.toml", 'project_doc_fallback_filenames = ["TEAM.md", 3]')
    users, override, team = write(home / "AGENTS.md"), write(project / "AGENTS.override.md"), write(project / "TEAM.md")
    write(home / "TEAM.md")
    assert spec.instructions(home, project) == (users, override)
    override.unlink()
    assert spec.instructions(home, project) == (users, team)
    write(project / "AGENTS.md")
    assert spec.instructions(home, project) == (users, project / "AGENTS.md")


def test_claude_code_reads_rules_for_all_files_and_imports_from_elsewhere_once_it_may(
    own_home: Path, project: Path
) -> None:
    spec = agents.get("claude-code")
    home = spec.locate(None)
    outside, inside, users = write(own_home / "x.md"), write(project / "docs" / "y.md"), write(own_home / "z.md")
    paths = {
        write(home / "CLAUDE.md", "@~/z.md"), users, write(home / "rules" / "all.md"), inside,
        write(project / "CLAUDE.md", "@~/x.md @docs/y.md"), write(project / ".claude" / "rules" / "deep" / "all.md"),
        write(project.parent / ".claude" / "rules" / "above.md"), write(project / "CLAUDE.local.md"),
        write(home / "projects" / dashed(project) / "memory" / "MEMORY.md"),
    }  # fmt: skip
    write(project / ".claude" / "rules" / "some.md", "---\npaths: src/**\n---\n")
    assert set(spec.instructions(home, project)) == paths
    known = {"projects": {str(project): {"hasClaudeMdExternalIncludesApproved": True}}}
    write(own_home / ".claude.json", json.dumps(known))
    assert set(spec.instructions(home, project)) == {*paths, outside}


@pytest.mark.usefixtures("own_home")
def test_pi_reads_its_prompts_of_a_trusted_project_or_else_of_the_home(project: Path) -> None:
    spec = agents.get("pi")
    home = spec.locate(None)
    users = [write(home / name) for name in ("SYSTEM.md", "APPEND_SYSTEM.md")]
    of_project = write(project / ".pi" / "APPEND_SYSTEM.md")
    assert spec.instructions(home, project) == tuple(users)
    write(home / "trust.json", json.dumps({str(project): True}))
    assert spec.instructions(home, project) == (users[0], of_project)


# --- what is installed into a client


@pytest.mark.parametrize("agent", ["claude-code", "codebuddy"])
def test_plugins_count_where_the_settings_switch_them_on(agent: str, own_home: Path, project: Path) -> None:
    spec = agents.get(agent)
    home = spec.locate(None)
    names = ("on@shop", "off@shop", "here@shop", "unnamed@shop")
    found = {name: write(own_home / "cache" / name / "skills" / "x" / "SKILL.md", name) for name in names}
    installed = {name: [{"installPath": str(path.parents[2])}, {}, 7] for name, path in found.items()}
    write(home / "plugins" / "installed_plugins.json", json.dumps({"version": 2, "plugins": installed}))
    switched = {"on@shop": True, "off@shop": True, "gone@shop": True}
    write(home / "settings.json", json.dumps({"enabledPlugins": switched}))
    of_project = {"enabledPlugins": {"off@shop": False, "here@shop": True}}
    write(project / home.name / "settings.json", json.dumps(of_project))
    assert set(spec.described(home, project)) == {found["on@shop"], found["here@shop"]}


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
def test_extensions_bring_instructions_and_what_is_described(agent: str, own_home: Path, project: Path) -> None:
    spec = agents.get(agent)
    home = spec.locate(None)
    there, linked = home / "extensions" / "a", own_home / "elsewhere"
    link = json.dumps({"type": "link", "source": str(linked)})
    write(home / "extensions" / "b" / f".{agent}-extension-install.json", link)
    for place in (there, home / "extensions" / "b", linked):
        write(place / f"{agent}-extension.json", "{}" if place == there else '{"contextFileName": ["X.md", "Y.md", 3]}')
    told = {write(there / f"{agent.upper()}.md"), write(linked / "X.md")}
    described = {write(place / "skills" / "s" / "SKILL.md", str(place)) for place in (there, linked)}
    described |= {write(there / "agents" / "x.md", "an agent")}
    write(there / "Y.md")
    assert set(spec.instructions(home, project)) == told
    assert set(spec.described(home, project)) == described


# --- in the forecast


def test_they_are_in_the_forecast(own_home: Path, project: Path) -> None:
    model = "gpt-5.5"
    before = inspect("codex", model=model, folder=project)
    text = "---\nname: tide\ndescription: Knows all about tides, moons and harbours.\n---\n"
    path = write(own_home / ".agents" / "skills" / "tide" / "SKILL.md", text)
    after = inspect("codex", model=model, folder=project)
    told = tokens.counter(model).text(described_as(path)).high
    assert told < after.instructions - before.instructions < told + 300
    assert after.why["instructions"] == "no instruction files here; descriptions of skills, agents and commands: 1"


@pytest.mark.parametrize("word", ["harbour ", "港口"])
@pytest.mark.parametrize("agent", ["codex", "claude-code", "copilot", "openclaw"])
@pytest.mark.usefixtures("own_home")
def test_many_skills_take_what_the_client_lets_them_take(agent: str, word: str, project: Path) -> None:
    home = agents.get(agent).locate(None)
    for number in range(200):
        text = f"---\nname: s{number}\ndescription: {word * 150}\n---\n"
        write(home / "skills" / f"s{number}" / "SKILL.md", text)
    target = inspect(agent, model="gpt-5.5", window=200_000, folder=project)
    most = agents.get(agent).described_most(target.window)
    assert most
    assert most // 6 < target.instructions < most * (1 if word.isascii() else 2)
