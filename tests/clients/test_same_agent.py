"""A session goes on in the agent it came from: in the same home, in a smaller model, and back from another agent."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import harness
from conversations import ALL, larger_than
from going_on import NEWEST, PROMPT, carry, each, go_on, make_place
from kinds import arguments, kind_of
from places import FIXTURES

from session_migrator import agents


def contents(agent: str, home: Path) -> dict[Path, Any]:
    """The sessions there, as files or what is read of them; what else a client notes of them may change."""
    spec = agents.get(agent)
    paths = [Path(str(info.path)) for info in spec.list(home)]
    return {path: path.read_bytes() if path.is_file() else spec.read(path).session for path in paths}


@each(NEWEST)
def test_a_session_goes_on_in_its_own_home_in_another_folder(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    home = agents.get(client).locate(place.config)
    kind = kind_of(client)
    if kind.sample:
        shutil.copytree(FIXTURES / kind.sample, home)
    else:
        args = [*arguments(kind.start, model=harness.VERSIONS[client]["model"]), "Hello."]
        harness.run_client(client, args, script=[{"text": "Good day."}], **place.where)
    before = contents(client, home)
    source = next(agents.get(client).list(home))
    carried = carry(Path(str(source.path)), place)
    assert carried.session_id != source.id
    go_on(place, carried)
    after = contents(client, home)
    assert {path: after[path] for path in before} == before


@each(NEWEST)
def test_a_session_too_large_for_a_smaller_model_goes_on_in_it_compressed(client: str, tmp_path: Path) -> None:
    place = make_place(client, tmp_path / "client")
    model = kind_of(client).smaller
    carried = carry(larger_than(300_000), place, model)
    decision = carried.done["decision"]
    assert carried.done["mode"] == "compress"
    assert decision["budget"] // 2 < carried.done["tokens_after"] <= decision["budget"] < decision["tokens"]
    go_on(place, carried)


@each(NEWEST)
def test_a_session_that_another_agent_went_on_with_comes_back(client: str, tmp_path: Path) -> None:
    """There, two turns further, and back again, each time with everything that was said."""
    other = next(other for other in NEWEST if other != client)
    there, here = make_place(other, tmp_path / "there"), make_place(client, tmp_path / "here")
    first = carry(ALL["images"].make(tmp_path), there)
    go_on(there, first)
    back = carry(first.path, here)
    assert [kind for _, kind, _, _ in back.history[-5:]] == ["call", "result", "text", "text", "text"]
    assert ("user", "text", PROMPT, None) in back.history
    said, told = (Counter(kind for _, kind, _, _ in carried.history) for carried in (first, back))
    in_results = [sum(item[:2] == ("tool", "image") for item in carried.history) for carried in (first, back)]
    behind = in_results[0] - in_results[1]  # those that the client's results cannot hold, with a text before each
    assert told == said + Counter(text=4 + behind, call=1, result=1)
    go_on(here, back)
    assert not kind_of(client).rows or back.session_id in harness.list_sessions(client, **here.where)
