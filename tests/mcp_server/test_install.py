"""`toolplan install`: 40 files of clients, written from the clients' own documentation.

The `.out` beside each file is the file after `install`, with the servers that moved and why others
stay; `UPDATE_SNAPSHOTS=1 pytest tests/mcp_server/test_install.py` writes it.
"""

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Call, call
from toolplan.base.errors import ToolplanError
from toolplan.mcp_server import install as installing
from toolplan.mcp_server.clients import CLIENTS, Client
from toolplan.mcp_server.install import Installed, from_client, install, uninstall
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.tools.mcp.servers import read_servers

__all__ = ["call"]

FOLDER = Path(__file__).parent / "clients"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.suffix != ".out")
CURSOR = CLIENTS["cursor"]
ONE = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(installing, "own_command", lambda: ["/bin/toolplan"])


def written(client: Client, content: bytes) -> Path:
    path = client.path(None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def others(path: Path) -> tuple[Client, ...]:
    """Return another client to take servers from, for a file that has none."""
    if path.stem not in ("empty_table", "no_table", "only_settings"):
        return ()
    written(CURSOR, ONE.encode())
    return (CURSOR,)


def test_there_are_40_files_of_8_clients() -> None:
    assert (len(FILES), {path.parent.name for path in FILES}) == (40, set(CLIENTS))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_install_twice_and_uninstall_byte_for_byte(path: Path, tmp_path: Path) -> None:
    client, before = CLIENTS[path.parent.name], path.read_bytes()
    file = written(client, before)
    taken = others(path)
    done = install(client, others=taken)
    after = file.read_bytes()
    shown = {
        "servers": json.loads(done.servers.read_text())["mcpServers"],
        "stays": dict(done.stays),
    }
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)", done.servers.read_text()), "x")
    assert read_servers(done.servers, environment).keys() == shown["servers"].keys()
    text = f"{after.decode()}\n----\n{json.dumps(shown, indent=2)}\n"
    text = text.replace(str(tmp_path), "~").replace("\r", "\\r")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.with_suffix(".out").write_text(text)
    assert text == path.with_suffix(".out").read_text()

    again = install(client, others=taken)
    assert (again.changed, file.read_bytes()) == (False, after)

    assert set(client.document(after.decode()).servers) == {"toolplan", *done.stays}
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in done.servers.parent.iterdir())

    assert uninstall(client).changed
    assert file.read_bytes() == before
    assert not uninstall(client).changed


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_a_client_writes_meanwhile_stays(path: Path) -> None:
    client, before = CLIENTS[path.parent.name], path.read_bytes()
    file = written(client, before)
    install(client, others=others(path))
    if path.suffix == ".toml":
        added = b'\n[projects."/new"]\ntrust_level = "trusted"\n'
        file.write_bytes(file.read_bytes() + added)
    else:
        added = b'{"openedOnce": true,'
        file.write_bytes(file.read_bytes().replace(b"{", added, 1))
    uninstall(client)
    was, found = (client.document(each.decode()) for each in (before, file.read_bytes()))
    table: dict[str, Json] = {} if client.table in was.data else {client.table: {}}
    assert found.servers == was.servers
    new = {"projects", "openedOnce"}
    rest = {name: each for name, each in found.data.items() if name not in new}
    old = {name: each for name, each in was.data.items() if name not in new}
    assert table | rest == table | old
    assert new & found.data.keys()
    comments = [line for line in before.decode().splitlines() if line.startswith(("# ", "\t//"))]
    assert all(line in file.read_text() for line in comments)


def test_a_server_that_is_added_later_moves_with_the_second_install() -> None:
    file = written(CURSOR, ONE.encode())
    install(CURSOR)
    data = json.loads(file.read_text())
    data["mcpServers"]["git"] = {"command": "git-server"}
    file.write_text(json.dumps(data))
    assert set(install(CURSOR).moved) == {"time", "git"}
    assert set(json.loads(file.read_text())["mcpServers"]) == {"toolplan"}
    uninstall(CURSOR)
    assert set(json.loads(file.read_text())["mcpServers"]) == {"time", "git"}


def test_from_reads_a_client_and_changes_nothing_of_it() -> None:
    file = written(CURSOR, ONE.encode())
    done = install(CLIENTS["codex"], others=[CURSOR])
    assert set(json.loads(done.servers.read_text())["mcpServers"]) == {"time"}
    assert file.read_text() == ONE
    install(CURSOR)
    assert from_client(CURSOR)[0].keys() == {"time"}, "behind toolplan they are still its servers"
    uninstall(CLIENTS["codex"])
    assert not CLIENTS["codex"].path(None).exists(), "there was no file before"


def test_servers_of_one_name_in_two_clients_are_refused() -> None:
    file = written(CURSOR, ONE.encode())
    other = written(CLIENTS["windsurf"], b'{"mcpServers": {"time": {"command": "clock"}}}')
    with pytest.raises(ToolplanError, match="'time' is another server in windsurf"):
        install(CURSOR, others=[CLIENTS["windsurf"]])
    assert file.read_text() == ONE
    other.write_text('{"mcpServers": {"off": {"command": "o", "disabled": true}}}')
    done = install(CURSOR, others=[CLIENTS["windsurf"]])
    assert (done.moved, done.stays) == (("time",), {"off of windsurf": "it is disabled"})


def test_the_servers_are_a_configuration_that_toolplan_reads() -> None:
    content = (FOLDER / "codex" / "figma.toml").read_bytes()
    written(CLIENTS["codex"], content)
    done = install(CLIENTS["codex"])
    servers = read_servers(done.servers, {"FIGMA_OAUTH_TOKEN": "secret"})
    headers = getattr(servers["figma"], "headers", {})
    assert headers == {"X-Figma-Region": "us-east-1", "Authorization": "Bearer secret"}
    assert "secret" not in done.servers.read_text()


def test_what_a_person_added_to_the_servers_stays_there() -> None:
    written(CURSOR, ONE.encode())
    done = install(CURSOR)
    data = json.loads(done.servers.read_text())
    data["mcpServers"]["own"] = {"command": "own"}
    done.servers.write_text(json.dumps(data))
    install(CURSOR)
    assert set(json.loads(done.servers.read_text())["mcpServers"]) == {"time", "own"}
    uninstall(CURSOR)
    assert "own" in done.servers.read_text()


def read_only(file: Path) -> None:
    file.chmod(0o444)


def link(file: Path) -> None:
    file.rename(file.with_name("real.json"))
    file.symlink_to(file.with_name("real.json"))


def client_lock(file: Path) -> None:
    file.with_name(f"{file.name}.lock").mkdir()


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (b'{"mcpServers": {"a": }', "it is not JSON: Expecting value at line 1, column 22"),
        (
            b'{"mcpServers": {}, "mcpServers": {"a": {"command": "a"}}}',
            "it has the name 'mcpServers' twice in one object",
        ),
        (b'{"mcpServers": ["a"]}', "'mcpServers' is not an object"),
        (b'{"mcpServers": {"caf\xe9": {"command": "a"}}}', "it is not UTF-8"),
        pytest.param(b'{"a":' * 100_000, "it is nested too deep", id="deep"),
        (read_only, "it is read-only"),
        (link, "it is a link to"),
        (client_lock, "it is in use: the client has locked it"),
        (folder, "it is no file"),
    ],
)
def test_a_file_that_cannot_be_changed_is_refused(
    spoil: bytes | Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    file = written(CURSOR, spoil if isinstance(spoil, bytes) else ONE.encode())
    if not isinstance(spoil, bytes):
        spoil(file)
    before = seen(tmp_path)
    with pytest.raises(ToolplanError) as refused:
        install(CURSOR)
    assert (refused.value.code, said in refused.value.message) == ("client-file", True)
    assert seen(tmp_path) == before


def test_a_file_that_another_program_has_locked_is_refused(tmp_path: Path) -> None:
    file = written(CURSOR, ONE.encode())
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = seen(tmp_path)
        with pytest.raises(ToolplanError, match="another program has locked it"):
            install(CURSOR)
        assert seen(tmp_path) == before


def test_a_file_that_changes_late_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(CURSOR, ONE.encode())
    known = CURSOR.document

    def late(self: Client, text: str) -> object:
        file.write_text('{"theirs": 1}')
        return known(text)

    monkeypatch.setattr(Client, "document", late)
    with pytest.raises(ToolplanError, match="it has changed meanwhile"):
        install(CURSOR)
    assert file.read_text() == '{"theirs": 1}'


def seen(folder: Path) -> dict[str, object]:
    """Return every file of a folder, with its bytes and its mode."""
    return {
        str(path): (path.lstat().st_mode, path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


def test_the_commands_say_what_they_did(call: Call, tmp_path: Path) -> None:
    text = (FOLDER / "vscode" / "inputs.json").read_bytes()
    file = written(CLIENTS["vscode"], text)
    dry = call("install", "vscode", "--dry-run", "--json")
    assert json.loads(dry.out)["vscode"]["moved"] == ["github"]
    assert file.read_bytes() == text
    assert "perplexity stays where it is" in call("install", "vscode").err
    assert json.loads(call("uninstall", "vscode", "--json").out)["vscode"]["changed"] is True
    assert file.read_bytes() == text
    assert "Did you mean cursor" in call("install", "curso").err.replace("'", "")
    assert "no configuration in projects" in call("install", "windsurf", "--project").err


def test_a_project_has_its_own_servers(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text(ONE)
    user = written(CLIENTS["claude-code"], b'{"mcpServers": {"a": {"command": "a"}}}')
    found = json.loads(call("install", "claude-code", "--project", "--json").out)["claude-code"]
    assert (found["moved"], user.read_bytes()[:3]) == (["time"], b'{"m')
    assert install(CLIENTS["claude-code"]).servers != Path(found["servers"])
    call("uninstall", "claude-code", "--project")
    assert (tmp_path / ".mcp.json").read_text() == ONE
    assert isinstance(uninstall(CLIENTS["claude-code"]), Installed)


@pytest.mark.parametrize("entry", ['"httpUrl": "https://a", "url": "https://b"', '"url": 1'])
def test_a_server_without_one_clear_address_stays(entry: str) -> None:
    gemini = CLIENTS["gemini"]
    text = f'{{"mcpServers": {{"a": {{{entry}}}, "b": {{"command": "b"}}}}}}'
    file = written(gemini, text.encode())
    done = install(gemini)
    assert (done.moved, [*done.stays]) == (("b",), ["a"])
    assert set(gemini.document(file.read_text()).servers) == {"toolplan", "a"}


def test_a_server_of_the_same_name_is_not_replaced() -> None:
    text = '{"mcpServers": {"toolplan": {"command": "own"}, "a": {"command": "a"}}}'
    file = written(CURSOR, text.encode())
    with pytest.raises(ToolplanError, match="has a server 'toolplan' already"):
        install(CURSOR)
    assert file.read_text() == text


SKILLS = {
    "claude-code": (".claude/skills", ".claude/skills"),
    "codex": (".agents/skills", ".agents/skills"),
    "cursor": (".cursor/skills", ".cursor/skills"),
    "gemini": (".gemini/skills", ".gemini/skills"),
    "vscode": (".copilot/skills", ".github/skills"),
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("in_project", [False, True])
def test_a_skill_follows_its_client(name: str, in_project: bool, tmp_path: Path) -> None:
    client = CLIENTS[name]
    project = tmp_path / "project" if in_project else None
    if in_project and not client.project:
        return
    path = client.path(project)
    path.parent.mkdir(parents=True, exist_ok=True)
    own: Json = {client.table: {"a": {"command": "a"}}}
    is_toml = path.suffix == ".toml"
    path.write_text(f'[{client.table}.a]\ncommand = "a"\n' if is_toml else json.dumps(own))
    before = path.read_bytes()
    if name not in SKILLS:
        with pytest.raises(ToolplanError, match=f"{name} reads no skills"):
            install(client, project=project, skill=True)
        assert path.read_bytes() == before
        return
    file = (project or tmp_path) / SKILLS[name][in_project] / "toolplan" / "SKILL.md"
    assert install(client, project=project, skill=True, dry=True).skill == file
    assert not file.exists()
    for _ in range(2):
        assert install(client, project=project, skill=True).skill == file
        assert file.read_text().startswith("---\nname: toolplan\ndescription: ")
    assert uninstall(client, project=project).skill == file
    assert not file.parent.exists()
    assert path.read_bytes() == before


def test_a_skill_that_toolplan_did_not_write_stays() -> None:
    file = written(CURSOR, ONE.encode())
    skill = CURSOR.skill(None)
    assert skill is not None
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    with pytest.raises(ToolplanError, match="toolplan did not write it"):
        install(CURSOR, skill=True)
    assert (file.read_text(), skill.read_text()) == (ONE, "mine")
    skill.unlink()
    install(CURSOR, skill=True)
    skill.write_text("changed")
    assert uninstall(CURSOR).skill is None
    assert (file.read_text(), skill.read_text()) == (ONE, "changed")


def test_a_link_to_the_folder_of_the_skill_stays(tmp_path: Path) -> None:
    file = written(CURSOR, ONE.encode())
    skill = CURSOR.skill(None)
    assert skill is not None
    skill.parent.parent.mkdir(parents=True)
    (kept := tmp_path / "kept").mkdir()
    skill.parent.symlink_to(kept)
    install(CURSOR, skill=True)
    assert uninstall(CURSOR).skill == skill
    assert (file.read_text(), skill.parent.is_symlink(), [*kept.iterdir()]) == (ONE, True, [])


def test_where_a_skill_cannot_be_written_or_removed_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(CURSOR, ONE.encode())
    skill = CURSOR.skill(None)
    assert skill is not None
    skill.parent.parent.mkdir(parents=True)
    skill.parent.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ToolplanError, match="was not changed: File exists"):
        install(CURSOR, skill=True)
    assert file.read_text() == ONE
    skill.parent.unlink()
    install(CURSOR, skill=True)
    installed = file.read_bytes()
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == skill:
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(ToolplanError, match="was not changed: Permission denied"):
            uninstall(CURSOR)
    assert (file.read_bytes(), skill.is_file()) == (installed, True)
    assert uninstall(CURSOR).skill == skill
    assert (file.read_text(), skill.parent.exists()) == (ONE, False)


def test_claude_code_has_its_skills_in_the_folder_of_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "own"))
    found = CLIENTS["claude-code"].skill(None)
    assert found == tmp_path / "own" / "skills" / "toolplan" / "SKILL.md"


def test_the_plan_of_the_skill_is_read(call: Call) -> None:
    block = re.search(r"```json\n(.*?)```", installing.SKILL, re.DOTALL)
    assert block is not None
    read = load(json.loads(block[1]))
    assert (read.plan is not None, read.diagnostics) == (True, ())
