"""Ask a client that serves HTTP: ``python ask.py URL COMMAND ...`` starts COMMAND, prints what the address answers
first, and ends it. Standard library only: it runs inside the client's network namespace."""

from __future__ import annotations

import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

HEADERS = {"x-codebuddy-request": "1"}
"""Without it CodeBuddy (2.163.0) refuses."""
PATIENCE = 30
"""Seconds until the first answer."""


def main(url: str, command: list[str]) -> str:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    with urlopen(Request(url, headers=HEADERS), timeout=PATIENCE) as answer:
                        return answer.read().decode("utf-8")
                except HTTPError:
                    raise
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.3)
        finally:
            client.kill()


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2:]))
