"""Write the OpenAPI document of the studio, from which the types of its page are generated."""

from __future__ import annotations

from pathlib import Path

from toolplan_studio import openapi_text

if __name__ == "__main__":
    Path("web/openapi.json").write_text(openapi_text(), encoding="utf-8")
