"""How models are named, and where they are."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.asking import KEY
from toolplan.base.extensions import Extensions
from toolplan.providers import Message, ModelError, ModelRequest, _chain, complete, open_model
from toolplan.providers._endpoint import ADDRESSES, OpensEndpoint, base_url, read_spec


@pytest.mark.parametrize(
    ("spec", "url", "model"),
    [
        ("openai:gpt-5", "https://api.openai.com/v1", "gpt-5"),
        ("OpenAI:gpt-5", "https://api.openai.com/v1", "gpt-5"),
        ("anthropic:claude-sonnet-5", "https://api.anthropic.com", "claude-sonnet-5"),
        ("groq:llama-3.1-8b-instant", ADDRESSES["groq"], "llama-3.1-8b-instant"),
        ("ollama:mistral:latest", "http://localhost:11434/v1", "mistral:latest"),
        ("http://localhost:8080/v1#kirha/planner", "http://localhost:8080/v1", "kirha/planner"),
        (" http://localhost:8080#m ", "http://localhost:8080/v1", "m"),
        ("https://HOST.example/api/v1/#a/b:c", "https://host.example/api/v1", "a/b:c"),
        ("http://[::1]:8080/v1#m", "http://[::1]:8080/v1", "m"),
    ],
)
def test_a_spec_names_a_model_at_an_address(spec: str, url: str, model: str) -> None:
    read = read_spec(spec, {})
    assert (read.url, read.model) == (url, model)
    assert read_spec(read.name, {}) == read


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "gpt-5",
        "openai:",
        "openai:two words",
        "nobody:model",
        "http://localhost:8080/v1",
        "http://localhost:8080/v1#",
        "http://#m",
        "http://host:port/v1#m",
        "ftp://localhost/v1#m",
        "file:///etc/passwd#m",
        f"http://user:{KEY}@localhost/v1#m",
        f"http://localhost/v1?key={KEY}#m",
        f"{KEY}",
        f"{KEY}:model",
    ],
)
def test_what_names_no_model_is_refused_and_no_key_in_it_is_repeated(spec: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(spec, keys={})
    assert caught.value.code == "llm-spec"
    assert caught.value.help
    assert KEY not in f"{caught.value}{caught.value.help}"


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(ModelError, match="No model is named"):
        open_model([], keys={})


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:11434",
        "http://localhost:11434/",
        "http://localhost:11434/v1",
        "http://localhost:11434/v1/",
        "http://localhost:11434/v1/chat/completions",
        "http://localhost:11434/api",
        "http://LOCALHOST:11434/api/",
    ],
)
def test_base_urls_of_ollama_are_joined_once(text: str) -> None:
    """C-35, C-37: what is there already is not added again."""
    assert base_url(text, "ollama") == "http://localhost:11434/v1"
    assert read_spec("ollama:m", {"ollama": text}).url == "http://localhost:11434/v1"


@given(
    st.sampled_from(["", "/", "/v1", "/v1/", "/api", "/openai/v1", "/v1/chat/completions", "/x/y"]),
    st.sampled_from(["", "ollama", "anthropic", "openai", "groq"]),
)
def test_the_base_url_of_a_base_url_is_itself(path: str, provider: str) -> None:
    """C-35."""
    once = base_url(f"http://host:1{path}", provider)
    assert base_url(once, provider) == once


def test_naming_a_model_loads_no_http_library() -> None:
    """A named model that is not asked costs nothing."""
    program = (
        "import sys; from toolplan.providers import open_model;"
        "open_model(['openai:gpt-5', 'ollama:mistral', 'http://host/v1#m'], keys={'openai': 'k'});"
        "sys.exit(bool({'httpx2', 'genai_prices'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


PACKAGE = """
from collections.abc import AsyncGenerator
from toolplan.providers import Answered, Text, Usage

class Echo:
    def __init__(self, spec, manner):
        self.spec, self.manner = spec, manner

    async def ask(self, request, *, constrained):
        yield Text(f"{self.spec.model} {self.spec.url} {self.manner.key}")
        yield Answered(Usage(0, 1, 1))
"""


def test_an_entry_point_adds_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echoing.py").write_text(PACKAGE)
    folder = tmp_path / "echoing-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: echoing\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[toolplan.models]\necho = echoing:Echo\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(_chain, "MODELS", Extensions[OpensEndpoint]("toolplan.models"))
    model = open_model("echo:large", keys={"echo": "k"}, addresses={"echo": "http://there"})
    reply = asyncio.run(complete(model, ModelRequest((Message("user", "Hi"),))))
    assert (reply.text, reply.model) == ("large http://there k", "echo:large")
    with pytest.raises(ModelError, match="'echoes'"):
        open_model("echoes:large", keys={})
