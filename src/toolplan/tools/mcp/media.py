"""Pictures, sound and files in results: described in runs, kept for clients that show them."""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from typing import Final, TypeAlias

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextResourceContents,
)

from toolplan.plan.path import Json

Other: TypeAlias = ImageContent | AudioContent | ResourceLink | EmbeddedResource

CONTENT: Final = "content"
"""The property in which pictures, sound and files beside structured content are described."""


class RecentMedia:
    """The latest pictures, sounds and files of results, for clients that show them.

    A run keeps their descriptions only. Beyond `most` characters of base64 the oldest are dropped.
    """

    def __init__(self, most: int = 32_000_000) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[dict[str, Json], ContentBlock, int]] = OrderedDict()

    def described(self, content: Other) -> dict[str, Json]:
        """Return the description of a content; keep the content itself, without notes on it."""
        description = _described(content)
        digest = description.get("sha256")
        if isinstance(digest, str) and _is_kind(content):
            self._kept.pop(digest, None)
            bare = content.model_copy(update={"meta": None, "annotations": None})
            self._kept[digest] = description, bare, len(bare.model_dump_json())
            while sum(size for *_, size in [*self._kept.values()]) > self._most:
                self._kept.popitem(last=False)
        return description

    def of(self, value: Json) -> list[ContentBlock]:
        """Return the contents that the result of one call describes, each once, if still kept."""
        parts = value.get(CONTENT) if isinstance(value, dict) and CONTENT in value else value
        found: list[ContentBlock] = []
        for part in parts if isinstance(parts, list) else [parts]:
            digest = part.get("sha256") if isinstance(part, dict) else None
            kept = self._kept.get(digest) if isinstance(digest, str) else None
            if kept is not None and kept[0] == part and kept[1] not in found:
                found.append(kept[1])
        return found


MEDIA: Final = RecentMedia()


def _is_kind(content: Other) -> bool:
    """Return whether a picture or a sound is of the type that it states, in base64."""
    if not isinstance(content, ImageContent | AudioContent):
        return True
    try:
        base64.b64decode(content.data, validate=True)
    except ValueError:
        return False
    return content.mime_type.startswith(f"{content.type}/")


def _described(content: Other) -> dict[str, Json]:
    match content:
        case ImageContent(data=encoded) | AudioContent(data=encoded):
            return {"type": content.type, "mime_type": content.mime_type, **_measured(encoded)}
        case ResourceLink(uri=uri, name=name, mime_type=kind):
            return {"type": "resource_link", "uri": str(uri), "name": name, "mime_type": kind}
        case EmbeddedResource(resource=resource):
            head = {"type": "resource", "mime_type": resource.mime_type, "uri": str(resource.uri)}
            match resource:
                case BlobResourceContents(blob=blob):
                    return {**head, **_measured(blob)}
                case TextResourceContents(text=text):
                    return {**head, "text": text}


def _measured(encoded: str) -> dict[str, Json]:
    try:
        content = base64.b64decode(encoded, validate=True)
    except ValueError:
        content = encoded.encode(errors="replace")
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
