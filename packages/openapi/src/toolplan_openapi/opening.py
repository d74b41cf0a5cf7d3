"""OpenAPI documents as a source of tools, opened as the user's settings say."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from toolplan.schema.tool import ToolObjectError
from toolplan.tools import OpenedTools, SourceContext, ToolSource
from toolplan.tools.tool_files import json_in, path_of
from toolplan_openapi._document import read_with_faults
from toolplan_openapi._http import ClientCredentials
from toolplan_openapi._toolbox import openapi_toolbox


class ServiceSettings(BaseModel):
    """The settings of one service: see `toolplan_openapi`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base_url: str | None = None
    auth: dict[str, str | ClientCredentials] = {}
    allow_hosts: list[str] = []


class OpenApiToolSource:
    """The operations of an OpenAPI document, in JSON or YAML.

    The table `[openapi.NAME]` of the settings, with NAME the name of the file without its ending,
    may give `base_url`, `auth` (by security scheme, the name of the variable that holds a
    credential, or a client of OAuth2) and `allow_hosts`; `[sources.NAME.headers]` gives headers.
    """

    takes_base_url = True
    help = "Fix the document, or its settings; docs/openapi.md says what they may hold."

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` is a YAML file, or a JSON file with `openapi` or `swagger`."""
        path = path_of(spec, folder)
        if path.suffix.lower() in (".yaml", ".yml"):
            return path.is_file()
        document = json_in(spec, folder)
        return isinstance(document, dict) and ("openapi" in document or "swagger" in document)

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        """Yield the operations of the document as tools.

        Raises:
            ToolObjectError: the document, or the settings for it, cannot be used.
        """
        path = path_of(spec, context.folder)
        settings = _settings(path.stem, context)
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolObjectError(
                f"{str(path)!r} cannot be read: {error}.",
                "Check the path, and that you may read the file; it must be UTF-8 text.",
            ) from None
        document, unfit = read_with_faults(text)
        address = context.base_url or settings.base_url
        tools = openapi_toolbox(
            document,
            base_url=address,
            auth=settings.auth,
            environment=context.environment,
            allow_hosts=settings.allow_hosts,
            trusted=context.is_trusted(path.stem) or context.settings.get("effects", {}),
            headers=context.headers(path.stem),
        )
        faults = [f"{path.name}: {fault}" for fault in (*unfit, *tools.faults)]
        for fault in faults:
            context.note(fault)
        yield OpenedTools(tools, faults=(*faults, *tools.blocked), address=address)


def _settings(name: str, context: SourceContext) -> ServiceSettings:
    services = context.settings.get("openapi", {})
    try:
        return ServiceSettings.model_validate(services.get(name, {}))
    except ValidationError as error:
        # of a table that is no text either, the fault of the table is clearer
        first = min(error.errors(), key=lambda each: each["loc"][-1] == "str")
        place = ".".join(map(str, ("openapi", name, *first["loc"])))
        raise ToolObjectError(
            f"{context.settings_path}: {place}: {first['msg']}.",
            f"Fix [openapi.{name}] there; docs/openapi.md shows one.",
        ) from None


SOURCE: Final[ToolSource] = OpenApiToolSource()
