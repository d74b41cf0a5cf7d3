"""Hosts that a document may lead to: none on this machine or in its network, unless allowed.

A document is text from anywhere. The address of a host name is checked before each connection,
and the connection goes to the address that was checked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from toolplan.schema.tool import ToolError, ToolObjectError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Given a host name and a port, the addresses that it resolves to, as text."""

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_EMBEDDING: Final = tuple(
    map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
)
"""Networks whose addresses end with an IPv4 address: compatible, mapped, translated, NAT64."""
_RESERVED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
            "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
            "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32",
            "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
            "fec0::/10", "ff00::/8",
        ),
    )
)  # fmt: skip
"""Networks that are not public (IANA's registries of special-purpose addresses).

A list of our own, because the library's global addresses differ between versions of Python.
"""
_PUBLIC_IPV6: Final = ipaddress.ip_network("2000::/3")
_METADATA: Final = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "169.254.169.254")))
"""Addresses from which machines in a cloud read their own keys; not all are link-local."""


_NAME: Final = re.compile(r"[^/:*@ ]+")


class HostBlocked(ToolError):
    """A host that a document or a redirect leads to may not be asked (OPENAPI_HOST_BLOCKED)."""


class Origin(Struct, frozen=True):
    """Scheme, host and port; credentials and redirects are bound to it."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port as the `Host` header has them, the usual port left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def origin_of(url: str) -> tuple[Origin, SplitResult]:
    """Return the origin of an absolute URL, and its parts."""
    if not url.isascii() or any(character <= " " for character in url):
        raise ValueError("it has characters that a URL cannot have")
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS:
        raise ValueError("it does not begin with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it has a user name in it")
    host = (parts.hostname or "").rstrip(".")
    if not host or "%" in host:
        raise ValueError("it has no host")
    return Origin(parts.scheme, host, parts.port or DEFAULT_PORTS[parts.scheme]), parts


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for the addresses of `host`; an OSError where it has none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


def way_to_allow(host: str) -> str:
    """Return how a user allows `host`, in Python and in the settings."""
    return (
        f"If you mean it, allow it: allow_hosts=[{host!r}], in Python or in the table"
        " [openapi.NAME] of the settings."
    )


class Guard(Struct, frozen=True):
    """The addresses that may be connected to.

    `literal` are addresses that the user wrote out: all of them are allowed. `names` are
    hosts whose name the user allowed: these may resolve into this machine and its network, though
    not to link-local addresses. All else must be public.
    """

    literal: frozenset[Address] = frozenset()
    names: frozenset[str] = frozenset()

    @classmethod
    def made(cls, allow_hosts: Iterable[str], base: Origin | None) -> Guard:
        """Allow the hosts listed, and that of the user's base URL if it is written as an address.

        Raises:
            ToolObjectError: a host is given as something else, a URL for instance.
        """
        hosts = [each.strip("[]").rstrip(".").lower() for each in allow_hosts]
        if odd := [each for each in hosts if _address(each) is None and not _NAME.fullmatch(each)]:
            raise ToolObjectError(
                f"{odd[0]!r} is not a host.",
                "Write a name or an IP address in allow_hosts, as in 'localhost'.",
            )
        if base is not None and (_address(base.host) or _is_this_machine(base.host)):
            hosts.append(base.host)
        literal = frozenset(address for each in hosts if (address := _address(each)))
        return cls(literal, frozenset(each for each in hosts if _address(each) is None))

    def admit(self, host: str, addresses: Sequence[str]) -> tuple[str, ...]:
        """Return `addresses`, to which `host` resolved, if all of them may be connected to.

        Raises:
            HostBlocked: one may not; the message says which, and how to allow it.
        """
        named = host.rstrip(".").lower() in self.names
        for text in addresses:
            address = _address(text)
            kind = "not an address" if address is None else self._objection(address, named)
            if kind is not None:
                where = "" if text == host else f" resolves to {address or repr(text)}, which"
                allow = way_to_allow(str(address) if named else host)
                raise HostBlocked(f"The host {host!r}{where} is {kind}. {allow}")
        if not addresses:
            raise HostBlocked(f"The host {host!r} has no address.")
        return tuple(addresses)

    def objects(self, host: str) -> str | None:
        """Return why `host` is never connected to, or None if that takes a request."""
        known = [host] if _address(host) else ["127.0.0.1"] if _is_this_machine(host) else []
        try:
            self.admit(host, known)
        except HostBlocked as error:
            return str(error) if known else None
        return None

    def trusts(self, origin: Origin) -> bool:
        """Return whether the user named the host, so that credentials may go to it over `http`."""
        address = _address(origin.host)
        return origin.host in self.names or (address is not None and address in self.literal)

    def _objection(self, address: Address, named: bool) -> str | None:
        meant: tuple[Address, ...] = (address,)  # or the IPv4 addresses that it stands for
        if isinstance(address, ipaddress.IPv6Address):
            if int(address) > 1 and any(address in network for network in _EMBEDDING):
                meant = (ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF),)
            else:
                meant = address.teredo or (address.sixtofour or address,)
        for each in meant:
            if each in self.literal:
                continue
            if each in _METADATA or each.is_link_local:
                return "a link-local address, where clouds keep keys"
            is_public = each.is_global and not any(each in network for network in _RESERVED)
            is_public = is_public and (each.version == 4 or each in _PUBLIC_IPV6)
            if is_public or (named and (each.is_loopback or each.is_private)):
                continue
            return "on this machine" if each.is_loopback else "not a public address"
        return None


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")
