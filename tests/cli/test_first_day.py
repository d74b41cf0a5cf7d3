"""`toolplan init`, `doctor` and `--install-completion`: from nothing to a first plan."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calls import Call
from toolplan.app.settings import read_settings
from toolplan.cli._commands import COMMANDS

FILES = ["books.py", "toolplan.toml", "mcp.json", "books.plans.yaml"]
CANARY = "canary-7f3a"


@pytest.fixture
def first(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what `toolplan init` writes, as the current one."""
    folder = tmp_path / "library"
    assert call("init", str(folder)).code == 0
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "books", raising=False)
    monkeypatch.setenv("TOOLPLAN_HOME", str(folder))
    return folder


def test_each_file_works_as_it_is_written(first: Path, call: Call) -> None:
    assert sorted(path.name for path in first.iterdir()) == sorted(FILES)
    said = call("ask", "List books by Ada", "--tools", "books:*")
    assert (said.code, "Notes" in said.out) == (0, True)
    assert "Compilers" not in said.out
    said = call("test", "books.plans.yaml")
    assert (said.code, said.out.splitlines()[-1]) == (0, "3 questions, 0 failed.")
    said = call("tools", "--tools", "mcp.json")
    assert (said.code, "facilities_list" in said.out) == (0, True), said.err
    assert read_settings(first).table("limits") == {"concurrency": 8, "timeout": 60}
    plan = {"steps": [{"id": "a", "tool": "lend_book", "args": {"title": "Notes", "to": "Bob"}}]}
    (first / "plan.json").write_text(json.dumps({"toolplan": 1, **plan}), "utf-8")
    said = call("run", "plan.json", "--tools", "books:*")
    assert (said.code, "approval" in said.err) == (1, True)
    said = call("run", "plan.json", "--tools", "books:*", "--yes")
    assert (said.code, "Bob" in said.out) == (0, True)
    said = call("doctor", "--tools", "books:*", "--tools", "mcp.json", "--json")
    assert (said.code, said.json["faults"]) == (0, 0), said.out


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(name: str, tmp_path: Path, call: Call) -> None:
    (tmp_path / name).symlink_to("nowhere")  # a link that leads nowhere is there too
    said = call("init", str(tmp_path), "--json", code=2)
    error = json.loads(said.err)["error"]
    assert (error["code"], name in error["message"]) == ("file-exists", True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


BAD_FILES: dict[str, bytes | None] = {
    "gone.json": None,
    "empty.json": b"",
    "binary.json": bytes(range(256)),
    "cut.json": b"[1,",
    "number.json": b"7",
    "deep.json": b"[" * 200_000,
    "other.json": b'{"surprise": 1}',
    "huge.json": b" " * 12_000_000 + b"7",
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize(
    "words",
    [
        ("check", "FILE"),
        ("diff", "FILE", "FILE"),
        ("test", "FILE"),
        ("show", "FILE"),
        ("convert", "FILE", "--to", "clear"),
        ("run", "FILE", "--tools", "toolplan_demo:TOOLS"),
        ("tools", "--tools", "FILE"),
        ("doctor", "--tools", "FILE"),
        ("login", "server", "--tools", "FILE"),
        ("logout", "server", "--tools", "FILE"),
        ("policy", "check", "FILE", "--tools", "toolplan_demo:TOOLS"),
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_used_is_named_with_a_way_on(
    words: tuple[str, ...], name: str, tmp_path: Path, call: Call
) -> None:
    file = tmp_path / name
    content = BAD_FILES[name]
    if content is not None:
        file.write_bytes(content)
    said = call(*(str(file) if word == "FILE" else word for word in words))
    printed = said.out + said.err
    assert said.code in (1, 2), printed
    assert "Traceback" not in printed
    assert "error[" in printed or "✗" in printed, printed
    assert name in printed or "server" in printed, printed


def test_a_server_is_signed_in_to_with_a_configuration(call: Call) -> None:
    for command in ("login", "logout"):
        assert "--tools is missing" in call(command, "server", code=2).err


def test_init_prints_what_it_wrote(tmp_path: Path, call: Call) -> None:
    said = call("init", str(tmp_path / "deep/er"), "--json")
    assert [Path(path).name for path in said.json["files"]] == FILES
    (tmp_path / "file").touch()
    said = call("init", str(tmp_path / "file"))
    assert (said.code, "unwritable-file" in said.err) == (3, True)


def not_installed(_: str) -> None:
    """Stand in for the look at what is installed."""


def no_network(*_: object, **__: object) -> None:
    raise AssertionError("nothing is configured")


def test_the_doctor_asks_no_network_where_nothing_is_configured(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLPLAN_MODEL", raising=False)
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    said = call("doctor", "--json", code=0)
    states = {each["subject"]: each["state"] for each in said.json["findings"]}
    assert states["python"] == states["toolplan"] == "fine"
    assert {states[each] for each in ("settings", "policy", "model", "journal", "tools")} == {
        "absent"
    }


def test_a_missing_extra_comes_with_a_command(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolplan.base.extras._version", not_installed)
    said = call("doctor", "--json", code=0)
    missing = {each["subject"]: each for each in said.json["findings"]}["extra sql"]
    assert (missing["state"], missing["text"]) == ("absent", "not installed: toolplan-sql")
    assert "-m pip install" in missing["help"]


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    ("subject", "variables", "files", "expected"),
    [
        ("settings", {}, {"toolplan.toml": "limit = 1"}, "there is no setting 'limit'"),
        ("settings", {}, {"toolplan.toml": "[limits]\nconcurrency = 0"}, "cannot be used"),
        ("settings", {}, {"toolplan.toml": '[effects]\na = "reed"'}, "Invalid enum value 'reed'"),
        ("settings", {"TOOLPLAN_MODEL_KEYS": f"[{CANARY}"}, {}, "Expected a JSON object"),
        ("policy", {}, {"toolplan.policy.toml": "x ="}, "toolplan.policy.toml"),
        ("model", {"TOOLPLAN_MODEL": f"{CANARY}"}, {}, "is not known"),
        ("model openai:x", {"TOOLPLAN_MODEL": "openai:x"}, {}, "There is no key"),
        ("journal", {}, {"runs.sqlite": "no database" * 100}, "runs.sqlite"),
    ],
)
def test_what_is_configured_and_does_not_work_is_found(
    subject: str,
    variables: dict[str, str],
    files: dict[str, str],
    expected: str,
    call: Call,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("TOOLPLAN_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for name, text in files.items():
        (home / name).write_text(text, "utf-8")
    said = call("doctor", "--json")
    assert (said.code, said.json["faults"]) == (1, 1)
    (fault,) = (each for each in said.json["findings"] if each["state"] == "faulty")
    assert fault["subject"] == subject
    assert expected in fault["text"]
    assert fault["help"]
    assert CANARY not in said.out + said.err
    plain = call("doctor")
    assert (plain.code, f"✗ {subject}: " in plain.out) == (1, True)


def test_configured_addresses_are_reached(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = f"http://127.0.0.1:{server.getsockname()[1]}"
        gone = f"http://127.0.0.1:{closed_port()}"
        monkeypatch.setenv("TOOLPLAN_MODEL_KEYS", json.dumps({here: CANARY}))
        monkeypatch.setenv("TOOLPLAN_MODEL", f"{here}/v1#m, {gone}/v1#m")
        said = call("doctor", "--json")
    assert said.code == 1
    states = {each["subject"]: each["state"] for each in said.json["findings"]}
    assert states[f"model {here}/v1#m"] == "fine"
    assert states[f"model {gone}/v1#m"] == "faulty"
    assert CANARY not in said.out + said.err


def test_tools_that_cannot_be_opened_or_have_changed(
    first: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("tools", "--tools", "mcp.json").code == 0  # pins them
    lock = json.loads((first / "toolplan.lock.json").read_text("utf-8"))
    configuration = json.loads((first / "mcp.json").read_text("utf-8"))
    servers = configuration["mcpServers"]
    servers["gone"] = {"command": str(first / "nothing"), "env": {"TOKEN": "${LIBRARY_TOKEN}"}}
    monkeypatch.setenv("LIBRARY_TOKEN", CANARY)
    servers["demo"]["args"].append("--today=2025-01-01")  # another identity, so other tools
    (first / "mcp.json").write_text(json.dumps(configuration), "utf-8")
    said = call("doctor", "--tools", "mcp.json", "--tools", "nothing:*", "--json", code=1)
    faults = [each for each in said.json["findings"] if each["state"] == "faulty"]
    assert len(faults) == len(lock["tools"]) + 2
    text = "\n".join(each["text"] for each in faults)
    assert "it is not the tool that was accepted" in text
    states = {each["subject"]: each for each in said.json["findings"]}
    assert (states["server demo"]["state"], states["server gone"]["state"]) == ("fine", "faulty")
    lock_file = first / "toolplan.lock.json"
    count = len(lock["tools"])
    pinned = f", {count} pinned in {lock_file}, {count} changed since"
    assert states["tools mcp.json"]["text"].endswith(pinned)
    assert "gone" in text
    assert "There is no module 'nothing'" in text
    assert CANARY not in said.out + said.err


def test_an_openapi_service_that_is_away(first: Path, call: Call) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"description": "A"}}}}},
    }
    (first / "shop.json").write_text(json.dumps(document), "utf-8")
    url = f"http://127.0.0.1:{closed_port()}"
    (first / "toolplan.toml").write_text(f'[openapi.shop]\nbase_url = "{url}"\n', "utf-8")
    said = call("doctor", "--tools", "shop.json", "--json")
    assert (said.code, said.json["faults"]) == (1, 1)
    assert said.json["findings"][-1]["text"].startswith("http://127.0.0.1 does not answer")


@pytest.mark.parametrize(
    ("shell", "startup"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)]
)
def test_completion_is_installed(
    shell: str, startup: str | None, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("XDG_", "ZSH", "ZDOT", "BASH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    said = call("--install-completion", shell, code=0)
    script = Path(said.out.removeprefix("wrote ").strip())
    assert script.is_relative_to(tmp_path)
    text = script.read_text("utf-8")
    assert all(name in text for name in COMMANDS)
    assert "--concurrency" in text
    if startup is not None:
        before = (tmp_path / startup).read_text("utf-8")
        assert call("--install-completion", shell).code == 0
        assert (tmp_path / startup).read_text("utf-8") == before  # once is enough
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: the script was written, and not tried")
    said_by_shell = COMPLETES[shell](program, tmp_path, script)
    assert "convert" in said_by_shell, said_by_shell


def completed(command: list[str], folder: Path) -> str:
    """Return what a shell prints that has `folder` as its home."""
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
        env={**os.environ, "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "dumb"},
    )
    return ended.stdout + ended.stderr


def in_bash(program: str, folder: Path, script: Path) -> str:
    """Complete `toolplan conv` with the function that the script registers."""
    typed = "COMP_WORDS=(toolplan conv); COMP_CWORD=1"
    ask = f'{typed}; $(complete -p toolplan | sed "s/.*-F //; s/ .*//"); echo "${{COMPREPLY[@]}}"'
    return completed([program, "--norc", "-c", f". '{script}'; {ask}"], folder)


def in_fish(program: str, folder: Path, script: Path) -> str:
    """Complete `toolplan conv` as fish says it itself."""
    return completed(
        [program, "--no-config", "-c", f"source '{script}'; complete -C 'toolplan conv'"], folder
    )


ZSH = r"""
zmodload zsh/zpty
zpty -b shell "zsh -i"
zpty -w shell "PS1=; print REA''DY"
zpty -r shell seen '*READY*'
zpty -n -w shell "toolplan conv"$'\t'
for turn in {1..800}; do
  zpty -rt shell part && seen+=$part
  [[ $seen == *"toolplan convert"* ]] && break
  sleep 0.1
done
print -r -- "$seen"
zpty -d shell
"""


def in_zsh(program: str, folder: Path, script: Path) -> str:
    """Press Tab behind `toolplan conv` in a terminal of zsh that has read what was installed."""
    assert script.is_file()
    return completed([program, "-f", "-c", ZSH], folder)


COMPLETES = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}


def test_a_shell_that_is_not_known(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolplan.cli._commands.detect_shell", lambda: "powershell")
    said = call("--install-completion")
    assert (said.code, "toolplan --install-completion bash" in said.err) == (2, True)
