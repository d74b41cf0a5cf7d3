"""How models are named, and where they are."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.asking import KEY
from toolplan.providers import ModelError, open_model
from toolplan.providers._specs import ADDRESSES, base_url, read_spec


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


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install toolplan` without extras still imports the package."""
    home = "toolplan.providers._endpoints"
    for name in [each for each in sys.modules if each.partition(".")[0] == "anthropic"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, home, raising=False)

    def absent(name: str, package: str | None = None) -> ModuleType:
        if name == home:
            raise ModuleNotFoundError("No module named 'anthropic'", name="anthropic")
        return importlib.import_module(name, package)

    monkeypatch.setattr("toolplan.providers._open.importlib.import_module", absent)
    with pytest.raises(ModelError) as caught:
        open_model("ollama:mistral", keys={})
    assert caught.value.code == "llm-missing"
    assert "'anthropic'" in str(caught.value)
    assert "pip install 'toolplan[llm]'" in caught.value.help
    assert caught.value.__context__ is None


def test_a_fault_of_our_own_is_not_told_as_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, package: str | None = None) -> ModuleType:
        raise ModuleNotFoundError("No module named 'toolplan.lost'", name="toolplan.lost")

    monkeypatch.setattr("toolplan.providers._open.importlib.import_module", broken)
    with pytest.raises(ModuleNotFoundError):
        open_model("ollama:mistral", keys={})
