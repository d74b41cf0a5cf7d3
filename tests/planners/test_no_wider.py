"""No plan gives more than was asked for, and what an answer leaves open is said."""

from __future__ import annotations

import pytest

from tests.planners.planned import arguments, document, propose
from toolplan.path import Json
from toolplan.planners import Clarification


def asked(question: str) -> Clarification:
    """Return what is asked back on `question`; fail where it is planned or refused."""
    found = propose(question)
    assert isinstance(found, Clarification), (question, found)
    return found


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "shipments that contain lead and mercury",
            [
                ("contaminants_list", {"type": "Lead"}),
                ("shipments_list", {"ids": "${contaminants.data[*].shipment_id}"}),
                ("contaminants_list", {"type": "Mercury"}),
            ],
        ),
        (
            "facilities where both asbestos and lead were found",
            [
                ("contaminants_list", {"type": "Asbestos"}),
                ("facilities_list", {"ids": "${contaminants.data[*].facility_id}"}),
                ("contaminants_list", {"type": "Lead"}),
            ],
        ),
    ],
)
def test_what_must_hold_two_things_holds_both(question: str, steps: list[tuple[str, Json]]) -> None:
    *reads, (tool, chosen) = arguments(question)
    assert reads == steps
    assert tool == "sql"
    assert isinstance(chosen, dict)
    assert " IN (SELECT " in str(chosen["sql"])


def test_what_belongs_to_either_is_listed_for_each() -> None:
    """A contaminant lies in one shipment: it cannot be in a plastic and a paper load."""
    calls = arguments("contaminants in plastic and paper loads")
    assert [tool for tool, _ in calls] == ["shipments_list"] * 2 + ["contaminants_list"] * 2


@pytest.mark.parametrize(
    "question",
    [
        "shipments with one contaminant",
        "shipments with only one contaminant",
        "the inspections of their loads",
        "shipments with their contaminants, this week",
        "shipments and their contaminants this month",
    ],
)
def test_what_may_be_said_of_another_thing_is_asked_about(question: str) -> None:
    asked(question)


def test_exactly_one_is_counted() -> None:
    (_, _), (_, counted) = arguments("shipments having exactly one contaminant")
    assert isinstance(counted, dict)
    assert "HAVING count(*) = 1" in str(counted["sql"])


def test_one_thing_of_many_is_one() -> None:
    (call,) = arguments("show me one shipment to Berlin")
    assert call == ("shipments_list", {"destination": "Berlin", "limit": 1})


def test_from_which_city_asks_for_the_origin() -> None:
    (_, given), (_, counted) = arguments("from which city do most contaminated loads come?")
    assert given == {"has_contaminants": True}
    assert isinstance(counted, dict)
    assert str(counted["sql"]).startswith("SELECT origin, count(*)")


def test_those_point_past_the_thing_that_is_asked_for() -> None:
    question = "rejected inspections this week: which contaminants were in those loads?"
    (_, rejected), (tool, found) = arguments(question)
    assert isinstance(rejected, dict)
    assert rejected["status"] == "rejected"
    assert tool == "contaminants_list"
    assert found == {"shipment_ids": "${inspections.data[*].shipment_id}"}


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("newest shipment", "newest: others with the same date may be left out"),
        (
            "which facility had the fewest inspections",
            '"facility": only those that these rows have are counted',
        ),
        ("facilities for Smith", '"for Smith" is taken as the location'),
    ],
)
def test_what_an_answer_leaves_open_is_said(question: str, note: str) -> None:
    metadata = document(question)["metadata"]
    assert isinstance(metadata, dict)
    notes = metadata["notes"]
    assert isinstance(notes, list)
    assert note in notes


def test_exceeds_leaves_the_bound_out() -> None:
    (_, _), (_, chosen) = arguments("facilities whose capacity exceeds 800 t")
    assert isinstance(chosen, dict)
    assert chosen["sql"] == "SELECT * FROM facilities WHERE capacity_tons > 800"


@pytest.mark.parametrize(
    "question",
    [
        "mark S5 as delivered tomorrow",
        "mark shipment S5 as delivered on 2025-10-11",
        "update S5 to tomorrow",
        "mark one shipment as delivered",
        "mark S5 and S6 as delivered",
        "mark the newest shipment to Berlin as rejected",
    ],
)
def test_a_change_that_is_not_said_in_full_is_asked_about(question: str) -> None:
    """A day behind a change is when it happened, or shall: the record's date is not it."""
    asked(question)


def test_a_date_is_changed_where_it_is_named() -> None:
    assert arguments("change the date of shipment S5 to 2025-10-14") == [
        ("shipments_update", {"id": "S5", "date": "2025-10-14"})
    ]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("inspections done in Agust", "Agust"),
        ("shipments from Decembr", "Decembr"),
        ("loads to Ocotber", "Ocotber"),
        ("inspections in Mondy", "Mondy"),
        ("inspections in Summer", "Summer"),
        ("loads from Pendng", "Pendng"),
        ("loads in Disposl", "Disposl"),
    ],
)
def test_a_misspelt_word_is_no_place(question: str, word: str) -> None:
    assert asked(question).unexplained == (word,)


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("inspections with location Agust", {"location": "Agust"}),
        ('facilities in "Agust"', {"location": "Agust"}),
        ("facilities in Essen", {"location": "Essen"}),
        ("facilities in Augsburg", {"location": "Augsburg"}),
        ("facilities in Sundayville", {"location": "Sundayville"}),
    ],
)
def test_a_place_that_is_named_as_one_is_a_place(question: str, args: Json) -> None:
    assert arguments(question)[0] == ("facilities_list", args)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("full facilities", "full"),
        ("which facilities are too full", "full"),
        ("arriving shipments", "arriving"),
        ("shipments that are arriving", "arriving"),
        ("coming shipments", "coming"),
        ("the next inspections", "next"),
        ("which inspections are done", "done"),
        ("flagged inspections", "flagged"),
        ("received loads", "received"),
        ("how many loads were received", "received"),
        ("shipments sent to Hamburg that were received", "received"),
        ("available facilities", "available"),
    ],
)
def test_a_state_that_no_tool_knows_is_asked_about(question: str, word: str) -> None:
    assert word in asked(question).unexplained


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("shipments arriving today", {"date_from": "2025-10-12", "date_to": "2025-10-12"}),
        ("the full list of shipments", {}),
        ("loads sent to Hamburg", {"destination": "Hamburg"}),
        ("the shipments handled by EcoTrans", {"carrier": "EcoTrans"}),
        ("next, the shipments of EcoTrans", {"carrier": "EcoTrans"}),
        ("loads marked as rejected", {"status": "rejected"}),
        ("shipments Berlin to Hamburg", {"origin": "Berlin", "destination": "Hamburg"}),
        ("shipments Lyon to Metz", {"origin": "Lyon", "destination": "Metz"}),
    ],
)
def test_a_word_that_ties_is_used_as_such(question: str, args: Json) -> None:
    assert arguments(question) == [("shipments_list", args)]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("how many of the last 10 loads were contaminated", "contaminated"),
        ("which of the 3 heaviest loads were contaminated", "contaminated"),
        ("was the last inspection at F2 accepted?", "accepted"),
        ("is the heaviest load of EcoTrans contaminated?", "contaminated"),
        ("were any of the last 20 loads rejected?", "rejected"),
        ("did any of the last 20 loads contain asbestos?", "asbestos"),
        ("do the last 5 loads have contaminants?", "contaminants"),
        ("is the longest inspection at F2?", "F2"),
        ("the 5 biggest plants are in Berlin", "Berlin"),
        ("Of the last 10 loads, which were contaminated?", "contaminated"),
        ("is the facility with the highest capacity in Berlin", "Berlin"),
        ("is F3 the biggest facility", "F3"),
        ("did EcoTrans carry the heaviest load", "EcoTrans"),
        ("which of the last 5 loads contain lead", "lead"),
    ],
)
def test_what_is_said_of_what_was_chosen_does_not_choose(question: str, said: str) -> None:
    """The heaviest contaminated load does not say whether the heaviest load is contaminated."""
    found = asked(question)
    assert said in found.unexplained
    assert "before the choice" in found.question


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("the last 10 loads that were contaminated", {"has_contaminants": True, "limit": 10}),
        ("the last 10 contaminated loads", {"has_contaminants": True, "limit": 10}),
        ("the heaviest load which was rejected", {"status": "rejected"}),
        ("list all of the last 10 loads from Lyon", {"origin": "Lyon", "limit": 10}),
        ("which was the heaviest load from Lyon", {"origin": "Lyon"}),
    ],
)
def test_what_is_said_of_all_chooses_before(question: str, args: Json) -> None:
    assert arguments(question)[0] == ("shipments_list", args)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("loads other than S5", "id <> 'S5'"),
        ("loads except S5 and S9", "id NOT IN ('S5', 'S9')"),
        ("all loads apart from S5", "id <> 'S5'"),
        ("which loads are not S5", "id <> 'S5'"),
        ("non-S5 loads", "id <> 'S5'"),
        ("facilities outside F2", "id <> 'F2'"),
        ("show anything but F2", "id <> 'F2'"),
        ("how many loads except S5", "id <> 'S5'"),
    ],
)
def test_an_identity_that_is_denied_is_left_out(question: str, condition: str) -> None:
    (_, args), (tool, chosen) = arguments(question)
    assert args == {}
    assert tool == "sql"
    assert isinstance(chosen, dict)
    assert f"WHERE {condition}" in str(chosen["sql"])


def test_what_belongs_to_an_identity_that_is_denied_is_left_out() -> None:
    loads, selected, contaminants = arguments("the contaminants of loads other than S5")
    assert [loads[0], selected[0]] == ["shipments_list", "sql"]
    assert contaminants[1] == {"shipment_ids": "${shipments_selected.data[*].id}"}


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("are all loads at F2 contaminated?", "all"),
        ("is every load from Lyon contaminated?", "every"),
        ("do all plants have inspections?", "all"),
        ("were the loads all rejected", "all"),
        ("facilities with only accepted inspections", "only"),
        ("loads with only low risk contaminants", "only"),
        ("facilities that only have pending inspections", "only"),
        ("loads under 1 t and over 3 t", "over"),
        ("inspections over 60 minutes and under 30 minutes", "under"),
        ("contaminants above 50 ppm and below 10 ppm", "and below"),
    ],
)
def test_what_no_choice_of_rows_says_is_asked_about(question: str, word: str) -> None:
    assert word in asked(question).unexplained


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("only contaminated loads", {"has_contaminants": True}),
        ("show only the loads of EcoTrans", {"carrier": "EcoTrans"}),
        ("loads only from Berlin", {"origin": "Berlin"}),
        ("are any loads pending?", {"status": "pending"}),
    ],
)
def test_only_and_any_of_the_thing_itself_choose_it(question: str, args: Json) -> None:
    assert arguments(question) == [("shipments_list", args)]


@pytest.mark.parametrize(
    ("question", "contaminants"),
    [
        (
            "loads with contaminants found this month",
            {"date_from": "2025-10-01", "date_to": "2025-10-12"},
        ),
        (
            "loads with contaminants detected on Monday",
            {"date_from": "2025-10-06", "date_to": "2025-10-06"},
        ),
        ("loads with contaminants detected at F2", {"facility_id": "F2"}),
    ],
)
def test_when_something_was_found_is_said_of_it(question: str, contaminants: Json) -> None:
    assert arguments(question)[0] == ("contaminants_list", contaminants)


@pytest.mark.parametrize(
    "question",
    [
        "loads with lead found this month",
        "loads with lead detected on Monday",
        "loads with lead found at F2",
    ],
)
def test_when_it_was_found_is_not_said_of_what_holds_it(question: str) -> None:
    asked(question)


@pytest.mark.parametrize("name", ["Jonas", "Weber", "Jonas Weber"])
def test_a_person_is_known_by_either_name(name: str) -> None:
    assert arguments(f"inspections by {name}") == [
        ("inspections_list", {"inspector": "Jonas Weber"})
    ]


@pytest.mark.parametrize(
    "question",
    [
        "contaminated shipments without inspections from last week",
        "loads that were inspected by Weber and rejected",
        "loads inspected at F2 and rejected",
        "loads inspected this week and pending",
    ],
)
def test_what_either_of_two_things_may_be_is_asked_about(question: str) -> None:
    asked(question)


def test_two_states_behind_one_verb_are_of_the_nearest_thing() -> None:
    loads, _ = arguments("inspections of loads that are contaminated and pending")
    assert loads == ("shipments_list", {"status": "pending", "has_contaminants": True})


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("mark all loads but S5 as delivered", "but"),
        ("mark all loads S5 as delivered", "all"),
        ("mark any load S5 as delivered", "any"),
        ("set only S5 to delivered", "only"),
        ("add some inspections for S5", "some"),
        ("mark S5 as delivered and list the loads", "list"),
        ("set S5 to delivered if it is pending", "pending"),
    ],
)
def test_a_change_of_more_or_less_than_one_thing_is_asked_about(question: str, word: str) -> None:
    assert word in asked(question).unexplained


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("the heaviest loads per facility", "heaviest: all of them, the highest first"),
        ("what were the heaviest loads last month", "heaviest: all of them, the highest first"),
        ("the lightest loads of EcoTrans", "lightest: all of them, the lowest first"),
    ],
)
def test_an_order_without_a_number_is_named(question: str, note: str) -> None:
    metadata = document(question)["metadata"]
    assert isinstance(metadata, dict)
    assert isinstance(metadata["notes"], list)
    assert note in metadata["notes"]


def test_a_running_total_is_asked_about() -> None:
    asked("cumulative weight per month")
