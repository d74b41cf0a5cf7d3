"""`toolplan doctor`: extensions, toolboxes and OpenAPI documents that do not work are faults."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import Call, Said
from toolplan.app import checkup
from toolplan.compiler.rules import all_rules
from toolplan_sql import _database
from toolplan_sql._functions import Overload, functions_of

ENTRY_POINTS = """
[toolplan.rules]
acme = acme_doctor:{rule}
[toolplan.dialects]
lines = acme_doctor:Lines
[toolplan.planners]
echo = acme_doctor:make
[toolplan.models]
gone = acme_nowhere:open_endpoint
"""
MODULE = """
from toolplan.compiler.rules import rule

@rule()
def no_berlin(context):
    "Berlin is closed."
    return ()

@rule()
def unknown_tool(context):
    "Has the name of another."
    return ()

class Lines:
    pass

def make(context):
    return None
"""
SERVER = {"url": "https://shop.example.com"}
PATHS: dict[str, Any] = {"/orders": {"get": {"operationId": "list_orders", "responses": {}}}}
BROKEN = {"/a": {"get": {"operationId": "a", "parameters": [{"$ref": "#/nowhere"}]}}}


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Yield a function that installs a package whose rule is this one."""

    def install(rule: str) -> None:
        about = tmp_path / "site/acme_toolplan-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "entry_points.txt").write_text(ENTRY_POINTS.format(rule=rule), "utf-8")
        (about.parent / "acme_doctor.py").write_text(MODULE, "utf-8")
        monkeypatch.setattr(sys, "path", [*sys.path, str(about.parent)])
        all_rules.cache_clear()

    yield install
    sys.modules.pop("acme_doctor", None)
    all_rules.cache_clear()


@pytest.fixture(autouse=True)
def untried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no extra be used where that is not what is tested: it takes a second."""
    if "extra" not in request.function.__name__ and "database" not in request.function.__name__:
        monkeypatch.setattr(checkup, "TRIALS", {})


def found(said: Said, state: str) -> dict[str, str]:
    return {
        each["subject"]: each["text"] for each in said.json["findings"] if each["state"] == state
    }


def test_extensions_are_listed_with_their_faults(acme: Callable[[str], None], call: Call) -> None:
    acme("no_berlin")
    said = call("doctor", "--json")
    fine, faulty = found(said, "fine"), found(said, "faulty")
    assert (said.code, said.json["faults"]) == (1, 2)
    assert fine["rule acme"] == fine["planner echo"] == "of the package acme-toolplan"
    assert "is the class Lines, not an instance of it" in faulty["dialect lines"]
    assert "No module named 'acme_nowhere'" in faulty["provider gone"]


@pytest.mark.parametrize(
    ("rule", "subject", "says"),
    [
        ("nothing", "rule acme", "has no attribute 'nothing'"),
        ("make", "rules", "is not a Rule"),
        ("unknown_tool", "rules", "a second rule 'unknown-tool'"),
    ],
)
def test_a_rule_that_stops_every_check_is_a_fault(
    acme: Callable[[str], None], call: Call, rule: str, subject: str, says: str
) -> None:
    acme(rule)
    assert says in found(call("doctor", "--json"), "faulty")[subject]


def test_toolboxes_are_opened(call: Call) -> None:
    home = Path(os.environ["TOOLPLAN_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "toolplan.toml").write_text(
        """[toolboxes.a]
tools = ["no_such_module:x"]
[toolboxes.b]
tools = ["toolplan_demo:TOOLS"]
[toolboxes.c]
tols = []
""",
        "utf-8",
    )
    said = call("doctor", "--json")
    faulty = found(said, "faulty")
    assert said.code == 1
    assert "There is no module 'no_such_module'" in faulty["toolbox a"]
    assert "[toolboxes.c] cannot be used" in faulty["toolbox c"]
    assert found(said, "fine")["toolbox b"].endswith(" tools")


def doctored(call: Call, folder: Path, **document: Any) -> Said:
    file = folder / "shop.json"
    whole: dict[str, Any] = {
        "openapi": "3.0.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": PATHS,
    }
    file.write_text(json.dumps({**whole, "servers": [SERVER], **document}), "utf-8")
    return call("doctor", "--tools", str(file), "--json")


def test_tools_are_counted_without_those_that_are_built_in(call: Call, tmp_path: Path) -> None:
    said = doctored(call, tmp_path)
    assert (said.code, found(said, "faulty")) == (0, {})
    assert found(said, "fine")[f"tools {tmp_path / 'shop.json'}"] == "1 tool"


def test_an_operation_that_is_left_out_is_a_fault(call: Call, tmp_path: Path) -> None:
    said = doctored(call, tmp_path, paths={**PATHS, **BROKEN})
    assert said.code == 1
    (text,) = found(said, "faulty").values()
    assert "shop.json: " in text
    assert "nowhere" in text


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:8977", "api.localhost", "[::1]", "10.0.0.1", "169.254.169.254"]
)
def test_a_server_that_every_call_refuses_is_a_fault(call: Call, tmp_path: Path, host: str) -> None:
    said = doctored(call, tmp_path, servers=[{"url": f"http://{host}/v1"}])
    assert said.code == 1
    (text,) = found(said, "faulty").values()
    assert "allow_hosts" in text
    home = Path(os.environ["TOOLPLAN_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    name = host.partition(":8")[0].strip("[]")
    (home / "toolplan.toml").write_text(f'[openapi.shop]\nallow_hosts = ["{name}"]\n', "utf-8")
    allowed = doctored(call, tmp_path, servers=[{"url": f"http://{host}/v1"}])
    assert (allowed.code, found(allowed, "faulty")) == (0, {})


EXTRAS = {
    "sql": "a statement gave what it must",
    "prices": "a call was priced",
    "keyring": "key ring",
    "langgraph": "a graph ran",
    "studio": "toolplan-studio",
    "workers": "the queue's tables can be made",
}


def test_each_extra_that_is_installed_is_used_once(call: Call) -> None:
    fine = found(call("doctor", "--json"), "fine")
    assert set(checkup.TRIALS) == set(EXTRAS)
    for extra, text in EXTRAS.items():
        assert text in fine[f"extra {extra}"]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_that_does_not_work_is_a_fault(
    extra: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> str:
        raise ValueError("its newest version is another")

    monkeypatch.setattr(checkup, "TRIALS", {extra: broken})
    (text,) = found(call("doctor", "--json", code=1), "faulty").values()
    assert text.endswith("it does not work: its newest version is another")


def test_a_database_that_refuses_plain_functions_is_a_fault(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    plus: list[Overload] = [("+", "scalar", "VOLATILE", ("BIGINT", "BIGINT"))]
    monkeypatch.setattr(_database, "_FUNCTIONS", [functions_of(plus)])
    said = call("doctor", "--json")
    assert "it does not work: " in found(said, "faulty")["extra sql"]
