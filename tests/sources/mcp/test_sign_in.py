"""Signing in, against an authorization server of authlib and an MCP server of the SDK."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import keyring
import keyring.backend
import keyring.errors
import pytest

from tests.authority import (
    MACHINE_ID,
    MACHINE_SECRET,
    Authority,
    Client,
    authority,
    browse,
    guarded,
    saying,
)
from tests.sources.mcp.scripts import call, called
from toolplan import OutcomeUnknown, ToolError, ToolObjectError, ToolplanError
from toolplan.tools.mcp import HttpServer, Server, connected, read_servers
from toolplan.tools.mcp.servers import OAuth
from toolplan.tools.mcp.sign_ins import SignIns, Standing
from toolplan.tools.mcp.signing_in import sign_in, sign_out

LOGIN = "toolplan login s --tools mcp.json"


class Place(NamedTuple):
    """An authorization server, an MCP server that wants its tokens, and the sign-ins of a user."""

    state: Authority
    address: str
    sign_ins: SignIns
    oauth: OAuth | None = None

    @property
    def server(self) -> HttpServer:
        return HttpServer(self.address, oauth=self.oauth)

    def sign_in(self, show: Callable[[str], None] = browse, wait_s: float = 10) -> Standing | None:
        return sign_in("s", self.server, self.sign_ins, show, wait_s)

    def added(self) -> object:
        return added(self.server, self.sign_ins)


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    with authority() as state, guarded(state) as address:
        yield Place(state, address, SignIns(tmp_path, "mcp.json"))


def added(server: Server, sign_ins: SignIns | None) -> object:
    with connected({"s": server}, sign_ins=sign_ins) as source:
        return call(source.toolbox(), "s.add", n=1)


def fault_of(server: Server, sign_ins: SignIns | None) -> str:
    with (
        connected({"s": server}, sign_ins=sign_ins) as source,
        pytest.raises(ToolObjectError) as raised,
    ):
        source.toolbox()
    return f"{raised.value.code}: {raised.value}"


def end(server: HttpServer, sign_ins: SignIns) -> None:
    kept = sign_ins.get(server)
    assert kept is not None
    sign_ins.keep(server, kept.model_copy(update={"expires_at": time.time() - 5}))


def machine(issuer: str, address: str, secret: str = MACHINE_SECRET) -> Server:
    text = f"""{{"mcpServers": {{"s": {{"url": "{address}", "oauth": {{
        "grant": "client_credentials", "issuer": "{issuer}",
        "client_id": "{MACHINE_ID}", "client_secret": "${{SECRET}}", "scope": "read"}}}}}}}}"""
    return read_servers(text, {"SECRET": secret})["s"]


def test_who_signs_in_can_call_tools(place: Place) -> None:
    found = place.sign_in()
    assert found is not None
    assert (found.issuer, found.scope) == (place.state.url, "read")
    place.state.asked.clear()
    assert place.added() == 2
    assert place.state.asked == []  # nobody was asked again
    assert place.state.tokens[0].resource == place.address


def test_nobody_is_asked_who_did_not_call_login(place: Place) -> None:
    fault = fault_of(place.server, place.sign_ins)
    assert fault.startswith("sign-in-needed: ")
    assert f"it wants you to sign in: `{LOGIN}`" in fault
    assert place.state.asked == []
    assert place.state.clients.keys() == {MACHINE_ID}


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_token_that_has_ended_is_renewed_and_kept(where: str, place: Place) -> None:
    """Before a call where that is known here, else where the server refuses it."""
    place.sign_in()
    if where == "here":
        end(place.server, place.sign_ins)
    else:
        place.state.tokens[0].ends = 0.0
    place.state.asked.clear()
    assert place.added() == 2
    assert place.state.asked == ["/token"]
    assert [each.revoked for each in place.state.tokens][-1] is False
    assert place.added() == 2  # with the new one, which was kept
    assert place.state.asked == ["/token"]


def test_another_process_may_have_renewed_it(place: Place, tmp_path: Path) -> None:
    place.sign_in()
    with connected({"s": place.server}, sign_ins=place.sign_ins) as source:
        tools = source.toolbox()
        assert call(tools, "s.add", n=0) == 1
        time.sleep(0.3)  # the request for a stream goes beside: it would renew the token, too
        place.state.tokens[0].ends = 0.0
        assert added(place.server, SignIns(tmp_path)) == 2
        place.state.asked.clear()
        assert call(tools, "s.add", n=4) == 5
        assert place.state.asked == []


def test_a_sign_in_that_was_revoked_is_asked_for_again(place: Place) -> None:
    place.sign_in()
    for each in place.state.tokens:
        each.revoked = True
    fault = fault_of(place.server, place.sign_ins)
    assert fault.startswith("sign-in-needed: ")
    assert LOGIN in fault


def test_a_call_that_is_refused_was_not_made(place: Place) -> None:
    place.sign_in()
    with connected({"s": place.server}, sign_ins=place.sign_ins) as source:
        tools = source.toolbox()
        for each in place.state.tokens:
            each.revoked = True
        with pytest.raises(ToolError, match=r"does not take your sign-in|wants you to") as raised:
            call(tools, "s.add", n=1)
        assert not isinstance(raised.value, OutcomeUnknown)
        assert LOGIN in str(raised.value)


async def test_calls_do_not_wait_for_each_other(place: Place) -> None:
    await asyncio.to_thread(place.sign_in)
    with connected({"s": place.server}, sign_ins=place.sign_ins) as source:
        meets = [called(source.toolbox(), "s.meet", {}) for _ in range(2)]
        assert await asyncio.wait_for(asyncio.gather(*meets), 20) == [2, 2]


@pytest.mark.parametrize(
    ("changes", "oauth", "why", "not_asked"),
    [
        (
            {"audience": "http://127.0.0.1:1/mcp"},
            None,
            "refuses the token that it led to",
            "/revoke",
        ),
        ({"names": "http://127.0.0.1:1"}, None, "issuer mismatch", "/register"),
        ({"denies": True}, None, r"did not let you sign in \(access_denied\)", "/token"),
        (
            {},
            OAuth(issuer="https://auth.example.org"),
            r"not the .issuer. https://auth\.example\.org",
            "/register",
        ),
    ],
)
def test_a_sign_in_that_fails_says_why_and_keeps_nothing(
    changes: dict[str, object], oauth: OAuth | None, why: str, not_asked: str, place: Place
) -> None:
    for name, value in changes.items():
        setattr(place.state, name, value)
    place = place._replace(oauth=oauth)
    with pytest.raises(ToolplanError, match=why) as raised:
        place.sign_in()
    assert raised.value.code == "sign-in-failed"
    assert place.sign_ins.get(place.server) is None
    assert not_asked not in place.state.asked


def test_a_sign_in_that_fails_leaves_the_earlier_one(place: Place) -> None:
    place.sign_in()
    place.state.audience = "http://127.0.0.1:1/mcp"
    with pytest.raises(ToolplanError):
        place.sign_in()
    assert place.added() == 2


def test_an_authorization_server_elsewhere_must_be_https(place: Place) -> None:
    with (
        guarded(place.state, names="http://auth.example.org") as address,
        pytest.raises(ToolplanError, match="which is not https"),
    ):
        place._replace(address=address).sign_in()


def test_a_redirect_with_a_foreign_state_is_not_taken(place: Place) -> None:
    answers: list[int] = []

    def foreign_first(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for query in ("?code=evil&state=foreign", "?code=evil", ""):
            try:
                urlopen(back + query, timeout=5)
            except HTTPError as error:
                answers.append(error.code)
        browse(url)

    assert place.sign_in(foreign_first) is not None
    assert answers == [400, 400, 400]
    assert place.state.asked.count("/token") == 1


def test_nothing_is_exchanged_where_only_a_foreign_redirect_comes(place: Place) -> None:
    def foreign(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        browse(f"{back}?code=evil&state=foreign")

    with pytest.raises(ToolplanError, match="nobody came back from the browser"):
        place.sign_in(foreign, 1)
    assert "/token" not in place.state.asked


def test_an_authorization_server_that_fails_for_now_ends_no_sign_in(place: Place) -> None:
    place.sign_in()
    end(place.server, place.sign_ins)
    place.state.faults["/token"] = saying(503, "busy")
    fault = fault_of(place.server, place.sign_ins)
    assert fault.startswith("tool-object: ")
    assert "the authorization server at 127.0.0.1 failed: HTTP 503" in fault
    del place.state.faults["/token"]
    assert place.added() == 2


def test_a_client_that_is_known_is_not_registered(place: Place) -> None:
    shown: list[str] = []

    def show(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        place.state.clients["mine"] = Client("mine", "s3cret-of-mine", (back,))
        shown.append(url)
        browse(url)

    mine = OAuth(issuer=place.state.url, client_id="mine", client_secret="s3cret-of-mine")
    client = place._replace(oauth=mine)
    assert client.sign_in(show) is not None
    assert "/register" not in place.state.asked
    assert client.added() == 2
    assert place.sign_ins.get(place.server) is None  # it is that client's


def test_a_client_may_be_the_address_of_its_description(place: Place) -> None:
    place.state.reads_clients = True
    document = "https://toolplan.example.org/client.json"

    def show(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        place.state.clients[document] = Client(document, "", (back,))
        browse(url)

    client = place._replace(oauth=OAuth(client_metadata_url=document))
    assert client.sign_in(show) is not None
    assert "/register" not in place.state.asked
    assert place.state.tokens[0].client_id == document


def test_a_machine_signs_in_by_itself(place: Place) -> None:
    server = machine(place.state.url, place.address)
    assert added(server, None) == 2
    assert place.state.asked == ["/.well-known/oauth-authorization-server", "/token"]
    assert (place.state.tokens[0].resource, place.state.tokens[0].scope) == (place.address, "read")


def test_a_machine_renews_a_token_that_is_refused(place: Place) -> None:
    with connected({"s": machine(place.state.url, place.address)}) as source:
        tools = source.toolbox()
        place.state.tokens[0].revoked = True
        assert call(tools, "s.add", n=1) == 2
    assert len(place.state.tokens) == 2


def test_the_secret_of_a_machine_goes_to_no_other_issuer(place: Place) -> None:
    fault = fault_of(machine("https://auth.example.org", place.address), None)
    assert "https://auth.example.org" in fault
    assert "/token" not in place.state.asked


def test_a_machine_that_is_not_known_is_refused(place: Place) -> None:
    fault = fault_of(machine(place.state.url, place.address, "wrong-secret"), None)
    assert "refuses: HTTP 401, invalid_client" in fault
    assert "wrong-secret" not in fault


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_file_is_for_its_owner_only(place: Place, tmp_path: Path) -> None:
    found = place.sign_in()
    (file,) = (tmp_path / "sign-ins").iterdir()
    assert found is not None
    assert found.kept_in == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    assert "others may read the file" in fault_of(place.server, place.sign_ins)


class Ring(keyring.backend.KeyringBackend):
    """A key ring in memory."""

    priority = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    longest = 100_000

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > self.longest:
            raise keyring.errors.PasswordSetError("too long")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Generator[Ring]:
    before, ring = keyring.get_keyring(), Ring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def test_the_key_ring_comes_first(place: Place, ring: Ring, tmp_path: Path) -> None:
    place = place._replace(sign_ins=SignIns(tmp_path))
    found = place.sign_in()
    assert found is not None
    assert found.kept_in == "the system's key ring"
    assert len(ring.kept) == 1
    assert not (tmp_path / "sign-ins").exists()
    assert place.added() == 2
    assert sign_out("s", place.server, place.sign_ins)
    assert ring.kept == {}


def test_what_a_key_ring_does_not_take_is_in_a_file(
    place: Place, ring: Ring, tmp_path: Path
) -> None:
    ring.longest = 100
    place = place._replace(sign_ins=SignIns(tmp_path))
    place.sign_in()
    assert ring.kept == {}
    assert place.added() == 2


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        (None, None),
        (1_795_000_000.0, "2026-11-18 11:06 UTC"),
        (1e15, "no year that a date has"),
        (-1e300, "no year that a date has"),
    ],
)
def test_any_end_of_a_token_is_shown(ends: float | None, shown: str | None, place: Place) -> None:
    place.sign_in()
    kept = place.sign_ins.get(place.server)
    assert kept is not None
    place.sign_ins.keep(place.server, kept.model_copy(update={"expires_at": ends}))
    standing = place.sign_ins.standing(place.server)
    assert standing is not None
    assert standing.expires_at == shown


def test_who_signs_out_is_forgotten_here_and_there(place: Place, tmp_path: Path) -> None:
    place.sign_in()
    assert sign_out("s", place.server, place.sign_ins)
    assert place.state.tokens[0].revoked
    assert [*(tmp_path / "sign-ins").iterdir()] == []
    assert not sign_out("s", place.server, place.sign_ins)
    assert LOGIN in fault_of(place.server, place.sign_ins)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (HttpServer("https://h/mcp", {"authorization": "Bearer x"}), "the header 'Authorization'"),
        (HttpServer("http://mcp.example.org/mcp"), "its address is not https"),
        (read_servers('{"mcpServers": {"s": {"command": "x"}}}', {})["s"], "it is a process"),
        (machine("https://a.example", "https://h/mcp"), "by a machine"),
    ],
)
def test_not_every_server_is_signed_in_to(server: Server, why: str, tmp_path: Path) -> None:
    with pytest.raises(ToolplanError, match=why) as raised:
        sign_in("s", server, SignIns(tmp_path), browse, 1)
    assert raised.value.code == "no-sign-in"


BASE = '{"mcpServers": {"s": {"url": "https://h/mcp", "oauth": %s}}}'


@pytest.mark.parametrize(
    ("oauth", "why"),
    [
        ("3", "must be an object"),
        ('{"grnat": "x"}', "Did you mean 'grant'"),
        (
            '{"grant": "password"}',
            "grant: Input should be 'authorization_code' or 'client_credentials'",
        ),
        ('{"client_secret": "hunter2"}', "must name a variable"),
        ('{"client_secret": "${NOT_SET}"}', "'NOT_SET' is not set"),
        ('{"client_secret": "${S}"}', "needs 'client_id'"),
        ('{"client_id": "x"}', "needs 'issuer'"),
        ('{"client_id": "${EMPTY}"}', "holds nothing"),
        (
            '{"grant": "client_credentials", "client_id": "x"}',
            "needs 'client_id' and 'client_secret'",
        ),
        ('{"client_metadata_url": "http://x/y"}', "must be https"),
        ('{"scope": "${S}"}', "cannot name a variable"),
        ('{"scope": 3}', "scope: Input should be a valid string"),
        ('{"redirect_port": 70000}', "less than or equal to 65535"),
        ('{"redirect_port": true}', "redirect_port: Input should be a valid integer"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(oauth: str, why: str) -> None:
    with pytest.raises(ToolObjectError, match=r"mcpServers\.s\.oauth") as raised:
        read_servers(BASE % oauth, {"S": "canary", "EMPTY": ""})
    assert why in str(raised.value)
    assert "canary" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_token_is_sent_over_https_only() -> None:
    text = '{"mcpServers": {"s": {"url": "http://h.example/mcp", "oauth": {}}}}'
    with pytest.raises(ToolObjectError, match="must be https"):
        read_servers(text, {})
    both = '{"mcpServers": {"s": {"url": "https://h/m", "headers": {"Authorization": "x"}, '
    with pytest.raises(ToolObjectError, match="not both"):
        read_servers(both + '"oauth": {}}}}', {})
