"""TLS to an address, in the name of the host: the certificate must be that of the name."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest

from tests.doubles.listening import stop_listening
from toolplan.schema.tool import ToolError
from toolplan_openapi import Guard, HttpLimits, HttpTransport, Origin, Request

NAME = "api.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of NAME that nobody but the test trusts, with its key in one file."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, found = folder / "key.pem", folder / "certificate.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words = ["req", "-x509", *kind, "-days", "2"]
    names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    done = subprocess.run(
        [program, *words, *names, "-keyout", key, "-out", found], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("this openssl cannot make the certificate")
    found.write_text(found.read_text() + key.read_text())
    return found


def asked(host: str, certificate: Path, *, trusted: bool = True) -> tuple[int, list[str]]:
    """Ask a TLS server that has NAME's certificate in the name of `host`; give the names it saw."""
    seen: list[str] = []

    def note(_socket: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        seen.append(str(name))

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    def connect(tls: bool) -> httpx2.AsyncBaseTransport:
        assert tls
        trusted_by = ssl.create_default_context(cafile=str(certificate) if trusted else None)
        return httpx2.AsyncHTTPTransport(verify=trusted_by, trust_env=False)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 Said\r\nConnection: close\r\n\r\n")
        writer.close()

    async def ask() -> int:
        shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown.load_cert_chain(certificate)
        shown.sni_callback = note
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=shown)
        origin = Origin("https", host, server.sockets[0].getsockname()[1])
        transport = HttpTransport(
            Guard.made([host], None), HttpLimits(tries=1), resolve=resolve, connect=connect
        )
        try:
            request = Request("GET", origin, "/", may_repeat=True, has_effects=False)
            return (await transport.send(request)).status
        finally:
            await stop_listening(server)
            await asyncio.sleep(0.05)  # the other side of the connection has to notice its end

    return asyncio.run(ask()), seen


def test_the_name_of_the_host_is_asked_for_and_checked(certificate: Path) -> None:
    """S26: the address that was looked at is connected to, and the name still counts."""
    assert asked(NAME, certificate) == (204, [NAME])


def test_a_certificate_of_another_name_is_refused(certificate: Path) -> None:
    with pytest.raises(ToolError, match="certificate verify failed"):
        asked("other.example", certificate)


def test_a_certificate_that_nobody_trusts_is_refused(certificate: Path) -> None:
    with pytest.raises(ToolError, match="certificate verify failed"):
        asked(NAME, certificate, trusted=False)
