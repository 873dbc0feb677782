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
    node, script = harness.recent_node(), shutil.which("npm")
    if node and script:
        return [node, str(Path(script).resolve())]
    bundled, wheel = folder / harness.BUNDLED_NODE, harness.VERSIONS["node"]["wheel"]
    if not bundled.exists():
        download(pip(folder / "node", wheel))
    return [str(bundled), str(bundled.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def pip(folder: Path, wheel: str) -> list[str]:
    """The command that puts a wheel alone into a folder."""
    options = ["--quiet", "--no-deps", "--upgrade", "--target", str(folder)]
    return [sys.executable, "-m", "pip", "install", *options, wheel]


def download(command: list[str]) -> None:
    """Run a command that downloads, once more where it fails. Raises ``CalledProcessError``."""
    if subprocess.run(command, check=False).returncode:
        print("a download failed; once more", file=sys.stderr)
        subprocess.run(command, check=True)


def from_npm(folder: Path, client: str) -> list[str]:
    """The command that installs a client's package, as it is pinned."""
    pin = harness.VERSIONS[client]
    options = [
        "--save-exact",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(harness.place_of(client, folder)),
    ]
    return [*npm(folder), "install", *options, f"{pin['package']}@{pin['version']}"]


def install(folder: Path) -> None:
    """Install every client that is missing or of another version, each into a folder of its own. Raises
    ``CalledProcessError`` or ``SystemExit`` where one does not come to stand at its pin."""
    folder.mkdir(parents=True, exist_ok=True)
    for client in harness.INSTALLED:
        wanted, found = harness.VERSIONS[client], harness.installed_version(client, folder)
        if found != wanted["version"]:
            download(
                pip(harness.place_of(client, folder), wanted["wheel"])
                if "wheel" in wanted
                else from_npm(folder, client)
            )
            found = harness.installed_version(client, folder)
            if found != wanted["version"]:
                raise SystemExit(f"{client}: {found or 'nothing'} is installed, {wanted['version']} is wanted")
        print(f"{client} {found} is there", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Install the pinned clients that the real-client tests run.")
    parser.add_argument("--into", type=Path, default=harness.FOLDER, help="default: .clients in the repository")
    install(parser.parse_args().into.resolve())
