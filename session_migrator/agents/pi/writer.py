"""Session -> a pi session file, in the form that 0.73 to 1.6 resume and list."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

from ... import timestamps
from ...files import write_new
from ...model import Session
from ..jsonl import dump
from ..models import fitted
from ..spec import Written
from . import client
from .entries import Fit, entries


def write(session: Session, home: Path, folder: Path) -> Written:
    """Write a lowered session as a new one of the project in ``folder``. Where it has earlier messages, the file
    holds those too, and the client's model is sent the others. Raises WriteError, Refused."""
    session_id = str(uuid.uuid4())
    stamp = re.sub("[:.]", "-", timestamps.now())
    path = client.project_folder(home, folder) / f"{stamp}_{session_id}.jsonl"
    fit = Fit(*fitted(session, lambda named: client.model(home, folder, named)[0]))
    folders = write_new(path, map(dump, entries(session, session_id, os.path.realpath(folder), fit)))
    return Written(session_id=session_id, paths=(str(path),), folders=folders)
