"""Flows as JSON: each with where its value comes from."""

from typing import Any

from toolplan.policy import Flow, Label, Need, Source, Trust, Verdict
from toolplan.policy.labels import FlowKind
from toolplan.show.approval_view import flow_to_json


def test_a_flow_of_a_secret_names_the_secret_and_not_what_is_untrusted() -> None:
    mail, vault = Source("mail", "read_mail"), Source("vault", "read_vault", ("key",))
    label = Label(Trust.UNTRUSTED, (mail,), (vault,))
    kinds: tuple[tuple[FlowKind, str], ...] = (("argument", "mail"), ("secret", "vault"))
    for kind, step in kinds:
        flow = Flow("send", "/args/to", Need(), label, Verdict.REFUSE, kind)
        sources: Any = flow_to_json(flow)["sources"]
        assert [each["step"] for each in sources] == [step]
