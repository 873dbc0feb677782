"""The ledger of migrations: what was done, found again by what it was made of, and taken back.

In a workspace of the store: ``migrations/<id>`` is one migration's record, ``lineages/<key>`` what became of one
source under one set of options, by the digest of the source's content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import blocks
from .agents import databases, objects
from .agents.spec import Appended, Block, Database, Entry, Rows, Written
from .errors import NotFound, ReadError, Refused
from .files import is_folder, remove_empty, remove_line
from .model import Session, Value
from .storage import Document, Store, Workspace

RECORDS, LINEAGES = "migrations", "lineages"
_LISTED = ("migration", "created_at", "source", "target", "mode", "tokens_before", "tokens_after", "losses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage(Value):
    """What identifies a migration: ``key`` the source and everything that changes what is written, ``content``
    the digest of what the source held."""

    key: str
    content: str


def lineage(session: Session, options: Mapping[str, Any]) -> Lineage:
    """The lineage of a session under these options (JSON values)."""
    source = {"agent": session.agent, "id": session.id, **options}
    key = hashlib.sha256(json.dumps(source, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
    content = hashlib.sha256()
    for part in (session.messages, session.earlier):
        for message in part:
            content.update(json.dumps(message.to_dict()).encode("ascii"))
        content.update(b"|")
    content.update(json.dumps([session.title, session.git, session.created_at]).encode("ascii"))
    return Lineage(key=key, content=content.hexdigest())


def before(workspace: Workspace, wanted: Lineage) -> tuple[Document | None, Document | None]:
    """The record of the migration that did just this and whose result is still there, and that of the last one
    which did it with another content of the source."""
    try:
        known = workspace.get(LINEAGES, wanted.key)
    except NotFound:
        return None, None
    same = _record(workspace, known["by_content"].get(wanted.content))
    last = _record(workspace, known["last"])
    there = same is not None and _is_there(_written(same["written"]))
    return same if there else None, last if known["last"] != known["by_content"].get(wanted.content) else None


def _is_there(written: Written) -> bool:
    return set(_digests(written)) == set(written.places) and all(map(blocks.is_there, written.blocks))


def blocks_in(workspace: Workspace, path: Path) -> dict[str, Block]:
    """The blocks that migrations of this workspace put into a file, by name."""
    rows = (_record(workspace, key) for key in workspace.keys(RECORDS))
    found = (block for row in rows if row for block in _written(row["written"]).blocks)
    return {block.name: block for block in found if block.path == os.path.realpath(path)}


def record(workspace: Workspace, made: Lineage, document: Document) -> None:
    """Keep the record of a migration, with the digests of its files and rows, and make it findable."""
    document["lineage"] = made.to_dict()
    document["digests"] = _digests(_written(document["written"]))
    workspace.put(RECORDS, document["migration"], document)

    def known(old: Document | None) -> Document:
        contents = {**(old or {}).get("by_content", {}), made.content: document["migration"]}
        return {"by_content": contents, "last": document["migration"]}

    workspace.update(LINEAGES, made.key, known)


def listing(store: Store) -> list[Document]:
    """Every migration, the newest first."""
    rows = [{key: row.get(key) for key in _LISTED} for _, row in records(store)]
    return sorted(rows, key=lambda row: str(row["created_at"]), reverse=True)


def untouched(store: Store, paths: Collection[str]) -> set[str]:
    """Those of these sessions, by path, that a migration wrote and nobody has changed since."""
    wanted, found = set(paths), set[str]()
    for _, row in records(store):
        if wanted & row["digests"].keys():
            now = _digests(_written(row["written"]))
            found |= {path for path in wanted if path in now and now[path] == row["digests"].get(path)}
    return found


def undo(store: Store, migration: str) -> Document:
    """Take back what a migration wrote, that and nothing else; its record, with what was ``removed``. Raises NotFound,
    and Refused where the migrated session has been continued since."""
    found = [(place, row) for place, row in records(store) if str(row.get("migration")).startswith(migration)]
    if len(found) != 1 or not migration:
        problem = f"{migration!r} fits {len(found)} migrations" if found else f"no migration is called {migration!r}"
        raise NotFound(problem, "see them with: session-migrator migrations")
    workspace, row = found[0]
    with workspace.locked():
        written = _written(row["written"])
        for path, digest in _digests(written).items():
            if row["digests"].get(path) != digest:
                problem = f"the session was continued since: {path} has changed"
                raise Refused(problem, "delete it in its agent if you do not want it; nothing was taken back")
        if written.pending and not Path(written.paths[0]).exists():
            raise Refused("the client has taken the session up since", "delete it there; nothing was taken back")
        for block in filter(blocks.is_changed, written.blocks):
            raise Refused(f"the block in {block.path} was edited since", "take it out by hand; nothing was taken back")
        gone = [*_digests(written), *(f"the block in {b.path}" for b in written.blocks if blocks.is_there(b))]
        take_back(written)
        workspace.remove(RECORDS, row["migration"])
        _hand_down(workspace, written)
        originals = row.get("originals")
        if originals and not any(other.get("originals") == originals for _, other in records(store)):
            workspace.remove("originals", originals)
    return {**row, "removed": gone}


def _hand_down(workspace: Workspace, gone: Written) -> None:
    """What a migration that is gone leaves to the others: a block that had replaced one of its own now stands for what
    that one had replaced, and the folders it made are theirs, where they have files in them."""
    before: dict[tuple[str, str | None], str | None] = {(b.path, b.name): b.replaced for b in gone.blocks}
    folders = [folder for folder in gone.folders if is_folder(folder)]
    for key in workspace.keys(RECORDS):
        row = _record(workspace, key)
        if row is None:
            continue
        heir = _written(row["written"])
        taken = tuple(
            replace(block, replaced=before.get((block.path, blocks.name_of(block.replaced)), block.replaced))
            for block in heir.blocks
        )
        used = [folder for folder in folders if any(path.startswith(folder + os.sep) for path in heir.paths)]
        made = tuple(sorted({*heir.folders, *used}, key=len, reverse=True))  # the innermost first
        if (taken, made) != (heir.blocks, heir.folders):
            workspace.put(RECORDS, key, {**row, "written": replace(heir, blocks=taken, folders=made).to_dict()})


def take_back(written: Written) -> None:
    """Remove the rows, the files, the lines, the keys, the blocks and the folders that a write made, where they are
    still there. Raises WriteError where a database is in use, or a file with a key cannot be read."""
    databases.take_out(written.rows, written.databases)
    for entry in written.entries:
        objects.take_out(entry)
    for block in written.blocks:
        blocks.take_out(block)
    for path in written.paths:
        Path(path).unlink(missing_ok=True)
    for added in written.appended:
        remove_line(Path(added.path), added.line.encode("utf-8"))
    remove_empty(written.folders)


def _written(data: Mapping[str, Any]) -> Written:
    return Written(
        session_id=data["session_id"],
        paths=tuple(data["paths"]),
        appended=tuple(Appended(**line) for line in data["appended"]),
        entries=tuple(Entry(**entry) for entry in data.get("entries", ())),
        blocks=tuple(Block(**block) for block in data.get("blocks", ())),
        folders=tuple(data["folders"]),
        rows=tuple(Rows(**rows) for rows in data.get("rows", ())),
        databases=tuple(Database(**database) for database in data.get("databases", ())),
        pending=data.get("pending"),
    )


def records(store: Store) -> Iterator[tuple[Workspace, Document]]:
    """Every record that can be read, with its workspace."""
    for workspace in store.workspaces():
        for key in workspace.keys(RECORDS):
            row = _record(workspace, key)
            if row is not None:
                yield workspace, row


def _record(workspace: Workspace, key: str | None) -> Document | None:
    """A record, or None where there is none or it is damaged."""
    with contextlib.suppress(NotFound, ReadError):
        return workspace.get(RECORDS, key) if key else None
    return None


def _digests(written: Written) -> dict[str, str]:
    """What of a migration is there now, by place: the digest of each file, and that of its own rows of a database."""
    found = {path: _digest(Path(path)) for path in written.paths if Path(path).exists()}
    own = [rows for rows in written.rows if not rows.shared and not rows.derived]
    for place in written.places[len(written.paths) :]:
        digest = databases.digest(
            Path(place).parent, [rows for rows in own if rows.database == str(Path(place).parent)]
        )
        if digest:
            found[place] = digest
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
