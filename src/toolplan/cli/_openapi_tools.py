"""Tools from an OpenAPI document, as the user's settings say."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from toolplan.cli._home import settings_table
from toolplan.cli._terminal import note
from toolplan.render.printable import printable
from toolplan.sources.openapi import openapi_toolbox, read_document
from toolplan.tools import Toolbox, ToolObjectError


class ServiceSettings(BaseModel):
    """What the user has set for a service: see `toolplan.sources.openapi`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base_url: str | None = None
    auth: dict[str, str] = {}
    allow_hosts: list[str] = []


@contextmanager
def open_document(path: Path, base_url: str | None) -> Generator[Toolbox]:
    """Yield the operations of the document at `path` as tools.

    The table `[openapi.NAME]` of the settings, with NAME the name of the file without its ending,
    may give `base_url`, `auth` (the names of variables that hold credentials, by security scheme),
    and `allow_hosts`.

    Raises:
        ToolObjectError: the document, or the settings for it, cannot be used.
    """
    settings = _settings(path.stem)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolObjectError(f"{str(path)!r} cannot be read: {error}.") from None
    tools = openapi_toolbox(
        read_document(text),
        base_url=base_url or settings.base_url,
        auth=settings.auth,
        environment=os.environ,
        allow_hosts=settings.allow_hosts,
    )
    for fault in tools.faults:
        note(f"{path.name}: {printable(str(fault))}")
    yield tools


def _settings(name: str) -> ServiceSettings:
    path, services = settings_table("openapi")
    try:
        return ServiceSettings.model_validate(services.get(name, {}))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, ("openapi", name, *first["loc"])))
        raise ToolObjectError(f"{path}: {place}: {first['msg']}.") from None
