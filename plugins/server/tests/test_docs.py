"""The pages about the server say what is so."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from lancespace.authoring import OPERATIONS, Principal
from lancespace_server import ServerSettings
from lancespace_server.__main__ import parser
from lancespace_server.policy import ACTIONS, Policy

PLUGIN = Path(__file__).parents[1]
PAGES = PLUGIN.parents[1] / "docs" / "server"


def test_every_setting_is_on_the_page():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", (PAGES / "index.md").read_text(), re.MULTILINE)

    assert [(name, text) for name, _, text in rows if name not in OPERATIONS] == [
        (setting.name, setting.metadata["doc"]) for setting in fields(ServerSettings)
    ]


@pytest.mark.parametrize("name", ["lancespace.service", "nginx.conf", "Dockerfile"])
def test_the_files_to_deploy_are_those_on_the_page(name: str):
    assert (PLUGIN / "deploy" / name).read_text() in (PAGES / "deployment.md").read_text()


def test_settings_that_pages_name_exist():
    known = {setting.name for setting in fields(ServerSettings)}
    for page in PAGES.glob("*.md"):
        ours = re.sub(r"```dockerfile.*?```", "", page.read_text(), flags=re.DOTALL)
        for option in re.findall(r"(?<![\w-])--([a-z]+-[a-z-]+)", ours):
            name = option.removeprefix("no-").replace("-", "_")
            assert name in known or f"no_{name}" in known, f"{page.name}: --{option}"


def test_commands_on_the_pages_are_taken():
    text = "".join(page.read_text() for page in PAGES.glob("*.md")).replace("\\\n", "")
    commands = re.findall(r"^\$ python -m lancespace_server (.*)$", text, re.MULTILINE)

    assert len(commands) >= 3
    for command in commands:
        given = vars(parser().parse_args(shlex.split(command)))
        settings = {name: value for name, value in given.items() if name not in {"backend", "properties"}}
        ServerSettings(**settings).check()


def test_the_policy_on_the_page_is_valid(tmp_path: Path):
    (text,) = re.findall(r'```toml title="policy.toml"\n(.*?)```', (PAGES / "security.md").read_text(), re.DOTALL)
    (tmp_path / "policy.toml").write_text(text)

    policy = Policy.load(str(tmp_path / "policy.toml"))
    assert all(policy.allows(Principal("key:admin"), action, ()) for action in ACTIONS)
