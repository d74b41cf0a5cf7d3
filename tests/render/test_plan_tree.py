"""A plan as a tree."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.render.screens import on_console
from toolplan.plan.model import Literal, Object, Plan, Ref, Step, Template, Value, When
from toolplan.plan.path import EVERY
from toolplan.schema.tool import Effects, Tool
from toolplan.show.document import Screen, plain
from toolplan.show.plan_tree import PlanTree, effect_marks, plan_text

PLAN = Plan(
    (
        Step("places", "places_list", {"city": Literal("Köln \x1b[2J")}),
        Step("weather", "weather_now", {"note": Literal("[red]x[/red]")}),
        Step(
            "orders",
            "orders_list",
            {"place_id": Ref("item", ("id",)), "open": Literal(True)},
            for_each=Ref("places", ("data", EVERY)),
            max_items=5,
            on_error="continue",
            when=When(Ref("weather", ("ok",)), {"const": True}),
            timeout_s=2.5,
            retries=3,
            after=("weather",),
        ),
        Step("mail", "mail_send", {"text": Template(("got ", Ref("orders"), " for ${x}"))}),
    ),
    output=Object((("orders", Ref("orders")),)),
    metadata={"notes": ["'last week' is read as 2025-10-05 to 2025-10-12", 7]},
)


def test_a_plan_shows_all_that_decides_what_runs() -> None:
    assert plan_text(PLAN, marks={"mail": "writes"}).splitlines() == [
        "4 steps",
        '├── places  places_list(city: "Köln \\u001b[2J")',
        "│   └── orders  orders_list(place_id: ${item.id}, open: true)",
        "│       │   needs places, weather",
        "│       │   after weather",
        "│       │   for each item of ${places.data[*]}, at most 5",
        '│       │   when ${weather.ok} is true: {"const": true}',
        "│       │   on error: continue",
        "│       │   timeout: 2.5 s",
        "│       │   retries: 3",
        '│       └── mail  mail_send(text: "got ${orders} for $${x}")  writes',
        '└── weather  weather_now(note: "[red]x[/red]")',
        'gives {"orders": ${orders}}',
        "note: 'last week' is read as 2025-10-05 to 2025-10-12",
        "note: 7",
    ]


def test_a_console_shows_the_same_lines_and_reads_no_markup() -> None:
    assert on_console(PlanTree(PLAN)).split("\n")[:-1] == plan_text(PLAN).splitlines()


def test_a_terminal_that_is_not_utf_8_gets_plain_lines_c12() -> None:
    text = plain(PlanTree(PLAN).lines(Screen(encoding="ascii")))
    assert text.isascii()
    assert text.splitlines()[1] == '|-- places  places_list(city: "K\\xf6ln \\u001b[2J")'
    assert on_console(PlanTree(PLAN), encoding="ascii").split("\n")[:-1] == text.splitlines()


def test_long_arguments_go_over_several_lines_and_lose_nothing() -> None:
    sql = "SELECT " + ", ".join(f"column_{at}" for at in range(40)) + " FROM t"
    plan = Plan((Step("q", "sql", {"sql": Literal(sql)}),))
    text = plain(PlanTree(plan).lines(Screen(60)))
    assert max(map(len, text.splitlines())) <= 60
    assert sql in re.sub(r"\s+", " ", text)
    plan = Plan((Step("q", "sql", {"sql": Literal("東" * 100)}),))
    wide = plain(PlanTree(plan).lines(Screen(60)))
    assert wide.count("東") == 100


def test_steps_with_effects_are_marked_by_what_their_tools_may_do() -> None:
    labels = {"a": Effects.READ, "b": Effects.WRITE, "c": Effects.DESTRUCTIVE, "d": Effects.UNKNOWN}
    tools = {name: Tool(name, "", {}, effects=label) for name, label in labels.items()}
    plan = Plan(tuple(Step(name, name) for name in (*labels, "e")))
    marks = effect_marks(plan, tools)
    assert marks == {"b": "writes", "c": "destroys", "d": "may change anything"}


def test_a_chain_of_a_thousand_steps_stays_readable() -> None:
    steps = [Step(f"s{at}", "t", {"x": Ref(f"s{at - 1}")} if at else {}) for at in range(1000)]
    lines = plan_text(Plan(tuple(steps))).splitlines()
    assert len(lines) < 2001
    assert max(map(len, lines)) <= 60
    found = [int(n) for n in re.findall(r"(?:──|↓  ) s(\d+) ", "\n".join(lines))]
    assert found == list(range(1000))


def test_a_deep_chain_is_drawn_as_a_chain_and_a_branch_of_it_names_what_it_needs() -> None:
    steps = [Step(f"s{at}", "t", {"x": Ref(f"s{at - 1}")} if at else {}) for at in range(9)]
    branch = Step("branch", "t", {"x": Ref("s6")})
    assert plan_text(Plan((*steps, branch))).splitlines()[5:] == [
        "                └── s4  t(x: ${s3})",
        "                    └── s5  t(x: ${s4})",
        "                        ↓   s6  t(x: ${s5})",
        "                        ↓   s7  t(x: ${s6})",
        "                        ↓   s8  t(x: ${s7})",
        "                        ·   branch  t(x: ${s6})",
        "                            needs s6",
    ]


def test_a_wide_plan_of_a_thousand_steps_has_a_line_for_each() -> None:
    steps = [Step("a", "t"), *(Step(f"s{at}", "t", {"x": Ref("a")}) for at in range(999))]
    assert len(plan_text(Plan(tuple(steps))).splitlines()) == 1001


def test_an_empty_and_a_faulty_plan_can_be_shown_too() -> None:
    assert plan_text(Plan(())) == "0 steps"
    cycle = Plan((Step("a", "t", {"x": Ref("b")}), Step("b", "t", {"x": Ref("a")})))
    assert "needs b" in plan_text(cycle)
    twice = Plan((Step("a", "t"), Step("a", "u", {"x": Ref("a")}), Step("c", "t", after=("zz",))))
    assert len(re.findall(r"── (?:a|c) ", plan_text(twice))) == 3


IDS = st.sampled_from(["a", "b", "c", "d"])
VALUES: st.SearchStrategy[Value] = IDS.map(lambda name: Ref(name)) | st.text().map(Literal)
STEPS = st.builds(
    Step, IDS, st.text(max_size=8), st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
)


@given(st.lists(STEPS, max_size=8))
def test_every_step_of_any_plan_is_shown_once(steps: list[Step]) -> None:
    text = plan_text(Plan(tuple(steps)))
    assert len(re.findall(r"^[│ ]*[├└]── ", text, re.MULTILINE)) == len(steps)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
