"""The OpenAPI document that the page's types are generated from is that of the server."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import toolplan_studio as studio
from toolplan.plan.path import Json
from toolplan_studio import openapi_text
from tools.page import npm

WEB = Path(__file__).parents[3] / "web"
DOCUMENT = WEB / "openapi.json"
STATIC = Path(studio.__file__).parent / "static"


def test_the_kept_document_is_that_of_the_server() -> None:
    kept = DOCUMENT.read_text("utf-8")
    assert kept == openapi_text(), "Write it anew: .venv/bin/python tools/openapi.py"


@pytest.mark.skipif(
    not (WEB / "node_modules" / "openapi-typescript").is_dir(),
    reason="openapi-typescript is not installed: make page",
)
def test_the_types_of_the_page_are_those_of_the_document() -> None:
    command, environment = npm()
    given = [*command, "run", "--silent", "api", "--", "--check"]
    done = subprocess.run(
        given, cwd=WEB, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"In web/: npm run api\n{done.stdout}{done.stderr}"


@pytest.mark.skipif(not studio.is_built(), reason="the page is not built: make page")
def test_the_page_is_small() -> None:
    sizes = {
        path.name: len(gzip.compress(path.read_bytes()))
        for path in STATIC.rglob("*")
        if path.is_file()
    }
    page = (STATIC / "index.html").read_text("utf-8")
    first = sum(size for name, size in sizes.items() if name in page or name == "index.html")
    graph = sum(sizes[name] for name in sizes if name.startswith(("PlanGraph", "layout.worker")))
    print(
        f"First page: {first:,} bytes; with a graph: {first + graph:,};"
        f" all: {sum(sizes.values()):,}"
    )
    assert first <= 150_000
    assert first + graph <= 250_000
    assert sum(sizes.values()) <= 500_000


def test_every_reference_of_the_document_leads_somewhere() -> None:
    document = json.loads(openapi_text())
    schemas = document["components"]["schemas"]
    found: set[str] = set()

    def collect(value: Json) -> None:
        match value:
            case {"$ref": str(target)}:
                found.add(target.rpartition("/")[2])
            case dict():
                for each in value.values():
                    collect(each)
            case list():
                for each in value:
                    collect(each)
            case _:
                pass

    collect(document)
    assert found <= set(schemas)
    assert {"EventOut", "NodeOut", "Problem"} <= set(schemas)
