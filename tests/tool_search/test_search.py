"""Which tools are found, in which order, and which a planner is shown."""

from __future__ import annotations

import gc
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.plan.path import Json
from toolplan.schema.tool import ComputedOutput, Effects, Tool, Toolbox
from toolplan.tools.search import FEW, ToolIndex, index_of, relevant, stem, terms
from toolplan_demo import TOOLS as DEMO

NOUNS = ("invoice", "customer", "shipment", "ticket", "sensor", "route", "driver", "contract")
VERBS = ("list", "get", "create", "update", "delete", "search", "export", "archive")
KINDS = ("open", "late", "draft", "shared", "internal", "external", "nightly", "european")


def tool(name: str, description: str = "", source: str = "", **arguments: str) -> Tool:
    properties: dict[str, Json] = {
        key: {"type": "string", "description": text} for key, text in arguments.items()
    }
    raw: Json = {"type": "object", "properties": properties, "required": [*properties]}
    return Tool(name, description, raw, None, Effects.READ, source=source)


def many(count: int = 2_000) -> Toolbox:
    names = [f"{kind}_{noun}s_{verb}" for noun in NOUNS for verb in VERBS for kind in KINDS]
    tools = [
        tool(f"{name}{'' if turn == 0 else turn}", f"Does {name.replace('_', ' ')}.", f"s{turn}")
        for turn in range(count // len(names) + 1)
        for name in names
    ]
    return Toolbox(tools[:count])


def found(toolbox: Toolbox, query: str, limit: int = 20) -> list[str]:
    return [each.tool.name for each in index_of(toolbox).search(query, limit)]


SMALL = Toolbox(
    [
        tool("mail_send", "Sends a message to somebody.", to="Who gets it."),
        tool("getShipments", "Lists what was transported.", carrier="Who carried it."),
        tool("carriers.list", "Firms that transport waste."),
        tool("müll_abfuhr", "Wann die Tonne geleert wird."),
        tool("weather", "Rain and sun of a city.", city="Name of the city."),
    ]
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("send a mail", "mail_send"),
        ("messages", "mail_send"),
        ("SHIPMENT", "getShipments"),
        ("which carriers are there", "carriers.list"),
        ("Müll", "müll_abfuhr"),
        ("mull", "müll_abfuhr"),
        ("cities", "weather"),
        ("weath", "weather"),
        ("weather", "weather"),
        ("transporting", "carriers.list"),
    ],
)
def test_a_tool_is_found_by_its_words(query: str, first: str) -> None:
    assert found(SMALL, query)[0] == first


@pytest.mark.parametrize("query", ["", "   ", "the of and", "xylophone", "?!", "🚛"])
def test_nothing_is_found_where_no_word_is_shared(query: str) -> None:
    assert found(SMALL, query) == []


def test_a_name_counts_more_than_a_description() -> None:
    toolbox = Toolbox([tool("a", "Knows of invoices."), tool("invoices_list", "Knows of them.")])
    assert found(toolbox, "invoices") == ["invoices_list", "a"]


def test_the_whole_name_of_a_tool_finds_it_first() -> None:
    toolbox = Toolbox([tool("shipments_list_all", "shipments list"), tool("shipments_list")])
    assert found(toolbox, "shipments_list")[0] == "shipments_list"


def test_aliases_are_names() -> None:
    raw: Json = {"type": "object", "x-aliases": ["parcels"]}
    toolbox = Toolbox([tool("b"), Tool("shipments", "", raw, None, Effects.READ)])
    assert found(toolbox, "parcel") == ["shipments"]


def test_tools_that_fit_equally_well_come_in_the_order_of_the_toolbox() -> None:
    names = [f"copy{n}_invoices" for n in (3, 1, 2)]
    toolbox = Toolbox([tool(name) for name in names])
    assert found(toolbox, "invoices") == names
    assert found(toolbox, "invoices", 2) == names[:2]
    assert found(toolbox, "invoices", 0) == []


def test_scores_fall_and_are_above_nothing() -> None:
    scores = [each.score for each in index_of(many()).search("late shipments export")]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_one_tool_of_two_thousand_is_found() -> None:
    assert found(many(), "archive the european sensors")[0] == "european_sensors_archive"


def test_a_toolbox_is_read_once_and_its_index_goes_with_it() -> None:
    toolbox = many(300)
    assert index_of(toolbox) is index_of(toolbox)
    assert index_of(many(300)) is not index_of(toolbox)
    before = sys.getrefcount(toolbox)
    index_of(toolbox).search("late")
    gc.collect()
    assert sys.getrefcount(toolbox) == before


@given(text=st.text(max_size=200))
def test_any_text_can_be_searched_for(text: str) -> None:
    index = ToolIndex(SMALL)
    assert index.search(text) == index.search(text)
    assert all(term for term in terms(text))


@given(word=st.text(alphabet="abcdeginorsxy", min_size=1, max_size=12))
def test_a_stem_is_a_beginning_or_ends_in_y(word: str) -> None:
    cut = stem(word)
    assert cut
    assert word.startswith(cut) or (cut.endswith("y") and word.startswith(cut[:-1]))


def test_scripts_without_spaces_are_found_by_neighbouring_characters() -> None:
    toolbox = Toolbox([tool("a", "天気予報を取得する"), tool("b", "メールを送る")])
    assert found(toolbox, "今日の天気") == ["a"]


def test_hostile_descriptions_take_no_time_and_no_room() -> None:
    huge = tool("huge", "word " * 500_000, x="y" * 1_000_000)
    odd = Tool("odd", "\x00\u202e" * 100, {"type": "object", "properties": [1]}, "nonsense")
    toolbox = Toolbox([huge, odd, tool("shipments", "Lists shipments.")])
    assert found(toolbox, "shipments") == ["shipments"]


def test_few_tools_are_shown_as_they_are() -> None:
    toolbox = many(FEW)
    assert relevant(toolbox, "late shipments") is toolbox
    assert relevant(DEMO, "late shipments") is DEMO


def test_of_many_tools_the_relevant_ones_are_shown_in_their_order() -> None:
    toolbox = many()
    shown = relevant(toolbox, "Which late shipments were exported?")
    assert len(shown) <= FEW
    assert "late_shipments_export" in shown
    order = list(toolbox)
    assert [order.index(name) for name in shown] == sorted(order.index(name) for name in shown)
    assert all(shown[name] is toolbox[name] for name in shown)
    assert list(relevant(toolbox, "Which late shipments were exported?")) == list(shown)


@given(limit=st.integers(min_value=0, max_value=60), question=st.sampled_from(["late", "", "zzz"]))
def test_never_more_tools_are_shown_than_wanted(limit: int, question: str) -> None:
    toolbox = many(60)
    assert len(relevant(toolbox, question, limit)) <= limit


def test_where_no_word_is_shared_the_beginning_is_shown() -> None:
    toolbox = many(100)
    assert list(relevant(toolbox, "xylophone", 10)) == list(toolbox)[:10]


def test_a_small_source_is_shown_whole() -> None:
    odd = [tool(f"harbour_{word}", "Of the harbour.", "harbour") for word in ("a", "b", "cranes")]
    toolbox = many(500).with_tools(*odd, tool("harbour_other", "", "elsewhere"))
    shown = relevant(toolbox, "How many cranes are there?")
    assert {"harbour_a", "harbour_b", "harbour_cranes"} <= set(shown)


def test_what_gives_a_required_identifier_is_shown_with_it() -> None:
    toolbox = many(500).with_tools(
        tool("pallets_track", "Where a pallet is.", warehouse_id="Of the warehouse."),
        tool("warehouses_find", "Finds them."),
    )
    assert {"pallets_track", "warehouses_find"} <= set(relevant(toolbox, "Where are my pallets?"))


def test_tools_that_compute_are_always_shown() -> None:
    sql = Tool(
        "sql",
        "Computes.",
        {"type": "object"},
        effects=Effects.READ,
        compute_output=lambda args, schemas: ComputedOutput(None),
    )
    assert "sql" in relevant(many(500).with_tools(sql), "Where are the late shipments?")
