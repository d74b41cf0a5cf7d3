"""Which hosts may be asked: S26 with a resolver of the tests' own; no name is looked up here."""

import asyncio
import ipaddress
import sys
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.openapi.tests.documents import one_get
from toolplan.schema.tool import ToolError, ToolObjectError
from toolplan_openapi import (
    Guard,
    HostBlocked,
    HttpLimits,
    HttpTransport,
    Origin,
    Request,
    openapi_toolbox,
)
from toolplan_openapi._addresses import origin_of, resolve
from toolplan_openapi._http import Credentials

BLOCKED = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1",
    "100.100.100.200", "169.254.169.254", "169.254.170.2", "168.63.129.16", "192.0.2.1",
    "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
    "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:db8::1", "192.0.0.192", "192.0.0.9", "192.0.0.170",
    "192.88.99.1", "192.31.196.1", "192.175.48.1", "100.127.255.255", "::7f00:1", "::a9fe:a9fe",
    "::10.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0:10.1.2.3", "64:ff9b:1::1",
    "64:ff9b:1:ffff::7f00:1", "fec0::1", "feff::1", "5f00::1", "5f00:ffff::1", "100::1",
    "100:0:0:1::1", "3fff::1", "2001:2::1", "2001:20::1", "2620:4f:8000::1", "1::1", "4000::1",
    "e000::1",
]  # fmt: skip
OPEN = Guard.made([], None)
"""Only public addresses."""
PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", BLOCKED)
def test_hosts_that_resolve_to_no_public_address_are_blocked(address: str) -> None:
    """S26."""
    for found in ([address], ["8.8.8.8", address]):
        with pytest.raises(HostBlocked):
            OPEN.admit("api.example", found)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open(address: str) -> None:
    assert OPEN.admit("api.example", [address]) == (address,)


@given(st.ip_addresses(v=4))
def test_an_address_in_another_spelling_is_the_same_address(address: ipaddress.IPv4Address) -> None:
    """S26: mapped, 6to4 and NAT64 forms lead to the address that they hold."""
    number = int(address)
    spellings = [
        str(ipaddress.IPv6Address(0xFFFF_0000_0000 + number)),
        str(ipaddress.IPv6Address((0x2002 << 112) + (number << 80))),
        str(ipaddress.IPv6Address((0x64FF9B << 96) + number)),
    ]
    try:
        OPEN.admit("x", [str(address)])
    except HostBlocked:
        for spelling in spellings:
            with pytest.raises(HostBlocked):
                OPEN.admit("x", [spelling])
    else:
        assert OPEN.admit("x", spellings) == tuple(spellings)


def test_a_base_url_opens_the_address_or_the_name_that_it_is_written_with() -> None:
    guard = Guard.made([], Origin("http", "127.0.0.1", 80))
    assert guard.admit("127.0.0.1", ["127.0.0.1"])
    for address in ("127.0.0.2", "10.0.0.1", "169.254.169.254"):
        with pytest.raises(HostBlocked):
            guard.admit("127.0.0.1", [address])
    named = Guard.made([], Origin("http", "localhost", 80))
    assert named.admit("localhost", ["::1", "127.0.0.1"])
    with pytest.raises(HostBlocked):
        named.admit("other.example", ["127.0.0.1"])


def test_a_base_url_with_a_name_is_not_opened_into_the_network() -> None:
    """S26: a name may resolve anywhere, whoever wrote it."""
    guard = Guard.made([], Origin("http", "api.example", 80))
    with pytest.raises(HostBlocked) as raised:
        guard.admit("api.example", ["10.1.2.3"])
    assert str(raised.value) == (
        "The host 'api.example' resolves to 10.1.2.3, which is not a public address. "
        "If you mean it, allow it: allow_hosts=['api.example'], in Python or in the table"
        " [openapi.NAME] of the settings."
    )


def test_an_allowed_name_may_lead_into_the_network_but_not_to_where_clouds_keep_keys() -> None:
    guard = Guard.made(["intranet.example", "10.9.9.9", "[::1]"], None)
    assert guard.admit("intranet.example", ["192.168.7.7", "127.0.0.1"])
    assert guard.admit("any.example", ["10.9.9.9", "::1"])
    for address in ("169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "168.63.129.16"):
        with pytest.raises(HostBlocked, match="where clouds keep keys"):
            guard.admit("intranet.example", [address])
    assert Guard.made(["169.254.169.254"], None).admit("x", ["169.254.169.254"])


@pytest.mark.parametrize("host", ["http://x", "x/y", "x:80", "*.example", "", "a b", "u@h"])
def test_only_hosts_can_be_allowed(host: str) -> None:
    with pytest.raises(ToolObjectError, match="is not a host"):
        openapi_toolbox(one_get([]), allow_hosts=[host])


ODD_URLS = (
    "ftp://x.example/", "file:///etc/passwd", "//x.example", "http:///x",
    "http://user:pw@x.example/", "http://user@127.0.0.1/", "http://x.example:99999/",
    "http://x.example\r\nX: 1/", "http://ü.example/", "http://%31%32%37.0.0.1/", "http://[::1",
    "gopher://127.0.0.1/", "http://x.example/a?b", "http://x.example/a#b", "http://x.example/../a",
    "",
)  # fmt: skip


@pytest.mark.parametrize("url", ODD_URLS)
def test_an_odd_url_is_no_base_url_and_no_server_that_is_called(url: str) -> None:
    with pytest.raises(ToolObjectError, match="The base URL cannot be used"):
        openapi_toolbox(one_get([]), base_url=url)
    tools = openapi_toolbox({**one_get([]), "servers": [{"url": url}]})
    assert tools["get"].call is None
    assert len(tools.faults) == 1


NONE = Credentials()


class Network:
    """A network of names; what is connected to is kept, and nothing is ever opened."""

    def __init__(self, *answers: Sequence[str], replies: Sequence[httpx2.Response] = ()) -> None:
        self.answers = list(answers)
        self.replies = list(replies)
        self.connected: list[tuple[str, str, object]] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        if not self.answers:
            raise OSError(-2, "Name or service not known")
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def connect(self, tls: bool) -> httpx2.AsyncBaseTransport:
        return httpx2.MockTransport(self.answer)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        expected = (request.headers["host"], request.url.host, request.extensions["sni_hostname"])
        self.connected.append(expected)
        reply = self.replies.pop(0) if self.replies else httpx2.Response(204)
        return httpx2.Response(reply.status_code, headers=reply.headers, stream=Empty())

    def transport(self, *allowed: str) -> HttpTransport:
        limits = HttpLimits(tries=1)
        guard = Guard.made(allowed, None)
        return HttpTransport(guard, limits, resolve=self.resolve, connect=self.connect)


class Empty(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        return
        yield b""


def get(
    network: Network,
    url: str = "https://api.example/x",
    *allowed: str,
    credentials: Credentials = NONE,
) -> int:
    origin, parts = origin_of(url)
    request = Request(
        "GET", origin, parts.path, credentials=credentials, may_repeat=True, has_effects=False
    )
    return asyncio.run(network.transport(*allowed).send(request)).status


def test_a_connection_goes_to_the_address_that_was_looked_at() -> None:
    """S26: the name is in `Host` and in TLS, the address is what is connected to."""
    network = Network(["93.184.216.34"])
    assert get(network) == 204
    assert network.connected == [("api.example", "93.184.216.34", "api.example")]


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_nothing_is_connected_to_where_a_name_resolves_into_the_network(address: str) -> None:
    """S26."""
    network = Network([address])
    with pytest.raises(HostBlocked):
        get(network)
    assert network.connected == []


def test_a_name_that_resolves_otherwise_the_second_time_is_looked_at_again() -> None:
    """S26: DNS rebinding between two calls, and within one by a redirect."""
    network = Network(["93.184.216.34"], ["169.254.169.254"])
    assert get(network) == 204
    with pytest.raises(HostBlocked):
        get(network)
    assert len(network.connected) == 1
    moved = httpx2.Response(302, headers={"location": "/y"})
    rebound = Network(["93.184.216.34"], ["127.0.0.1"], replies=[moved])
    with pytest.raises(HostBlocked):
        get(rebound)
    assert [address for _, address, _ in rebound.connected] == ["93.184.216.34"]


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1/",
        "https://evil.example/x",
        "//evil.example/x",
        "https://api.example:8443/x",
        "http://api.example/x",
        "https://api.example@evil.example/",
        "https://user:pw@api.example/",
        "file:///etc/passwd",
        "https://[::1/",
    ],
)
def test_no_redirect_leaves_the_host(location: str) -> None:
    """S26: redirect there."""
    moved = httpx2.Response(302, headers={"location": location})
    network = Network(["93.184.216.34"], replies=[moved])
    with pytest.raises(HostBlocked):
        get(network)
    assert len(network.connected) == 1


def test_backslashes_in_a_redirect_are_a_path_on_the_host() -> None:
    moved = httpx2.Response(302, headers={"location": "\\\\evil.example\\x"})
    network = Network(["93.184.216.34"], replies=[moved])
    assert get(network) == 204
    assert {host for host, _, _ in network.connected} == {"api.example"}


def test_redirects_on_the_host_are_followed_but_not_without_end() -> None:
    moved = httpx2.Response(307, headers={"location": "next?a=1"})
    network = Network(["93.184.216.34"], replies=[moved, moved])
    assert get(network) == 204
    assert len(network.connected) == 3
    endless = Network(["93.184.216.34"], replies=[moved] * 20)
    with pytest.raises(ToolError, match="redirects without end"):
        get(endless)
    assert len(endless.connected) == 5


def test_a_redirect_from_http_to_https_on_the_host_is_followed() -> None:
    moved = httpx2.Response(301, headers={"location": "https://api.example/x"})
    network = Network(["93.184.216.34"], replies=[moved])
    assert get(network, "http://api.example/x") == 204


def test_credentials_go_over_plain_http_only_where_the_user_named_the_host() -> None:
    key = Credentials(headers=(("X-Key", "secret"),))
    network = Network(["93.184.216.34"])
    with pytest.raises(HostBlocked, match="Credentials are not sent to http://api"):
        get(network, "http://api.example/x", credentials=key)
    assert network.connected == []
    assert get(network, "https://api.example/x", credentials=key) == 204
    assert get(network, "http://api.example/x", "api.example", credentials=key) == 204


def test_a_host_that_cannot_be_found_is_reported() -> None:
    with pytest.raises(ToolError, match=r"The host 'api.example' cannot be found: Name or service"):
        get(Network())


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "017700000001", "localhost"])
def test_other_spellings_of_this_machine_are_blocked(host: str) -> None:
    """S26: as the system reads them; no name server is asked for numbers."""
    try:
        found = asyncio.run(resolve(host, 80))
    except OSError:
        pytest.skip(f"this system does not read {host!r} as an address")
    with pytest.raises(HostBlocked):
        OPEN.admit(host, found)
    if sys.platform == "linux":
        assert "127.0.0.1" in found or "::1" in found
