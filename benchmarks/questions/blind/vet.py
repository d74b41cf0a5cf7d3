"""A group of veterinary practices: its rows, and tools with and without hints."""

from __future__ import annotations

import datetime
import json
import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

from benchmarks.questions.blind.fields import (
    Node,
    arguments,
    at_least,
    at_most,
    date_range,
    hinted,
    limit,
    many,
    nullable,
    one,
    row,
    texts,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError
from toolplan_sql import sql_tool

TODAY: Final = datetime.date(2026, 3, 18)
_TOWNS: Final = ("Alderley", "Brackwater", "Castleford", "Dunmore", "Eastham")
_BRANCHES: Final = ("Northgate", "Riverside", "Old Town")
_SPECIALTIES: Final = ("general", "surgery", "dentistry", "dermatology", "exotics")
_SPECIES: Final = ("dog", "cat", "rabbit", "parrot", "tortoise")
_KINDS: Final = ("checkup", "vaccination", "surgery", "dental", "emergency")
_VETS: Final = (
    "Helen Marsh", "Omar Farouk", "Ingrid Solberg", "Tom Whitlock", "Priya Nair",
    "Daniel Okafor", "Rosa Delgado", "Simon Pryce",
)  # fmt: skip
_OWNERS: Final = (
    "Martha Quinn", "Peter Lund", "Aisha Rahman", "George Tully", "Nina Petrova", "Carl Jensen",
    "Lucy Arden", "Victor Hale", "Emma Foss", "Raj Patel", "Olivia Stone", "Henry Cole",
    "Fiona Gray", "Marco Rossi", "Julia Brandt", "Sam Okoye", "Theresa May Lin", "Ian Frost",
    "Beth Carver", "Yusuf Demir", "Clare Dunn", "Oscar Wilde Hunt", "Paula Reyes", "Liam Byrne",
    "Grace Holm", "Viktor Novak", "Sara Lindqvist", "Eddie Marsh",
)  # fmt: skip
_PETS: Final = (
    "Biscuit", "Luna", "Rocky", "Pepper", "Milo", "Shadow", "Daisy", "Coco", "Ziggy", "Bella",
    "Oscar", "Willow", "Simba", "Hazel", "Max", "Olive", "Rusty", "Nala", "Gizmo", "Poppy",
    "Archie", "Misty", "Bruno", "Ivy", "Teddy", "Cleo", "Duke", "Maple", "Toby", "Ruby", "Jasper",
    "Honey", "Felix", "Juno", "Sunny", "Monty", "Fern", "Loki", "Penny", "Chester", "Tilly", "Kiwi",
    "Mango", "Sheldon", "Franklin",
)  # fmt: skip
_CREATE: Final = """
CREATE TABLE vets (id TEXT, name TEXT, branch TEXT, specialty TEXT, hired_on TEXT);
CREATE TABLE owners (id TEXT, name TEXT, town TEXT, email TEXT, newsletter INTEGER, joined_on TEXT);
CREATE TABLE patients (id TEXT, name TEXT, species TEXT, owner_id TEXT, born_on TEXT,
    weight_kg NUMERIC, neutered INTEGER, insured INTEGER);
CREATE TABLE appointments (id TEXT, patient_id TEXT, vet_id TEXT, date TEXT, kind TEXT,
    status TEXT, duration_minutes INTEGER);
CREATE TABLE invoices (id TEXT, appointment_id TEXT, owner_id TEXT, date TEXT, amount_eur NUMERIC,
    status TEXT);
"""
_BOOLEANS: Final = frozenset({"newsletter", "neutered", "insured"})
_WEIGHTS: Final = {"dog": 22.0, "cat": 4.4, "rabbit": 2.1, "parrot": 0.5, "tortoise": 3.2}
_PRICES: Final[Mapping[str, int]] = dict(zip(_KINDS, (55, 40, 620, 210, 330), strict=True))
_MINUTES: Final[Mapping[str, int]] = dict(zip(_KINDS, (20, 10, 110, 50, 60), strict=True))


@cache
def database() -> sqlite3.Connection:
    """Return a database with about 300 rows, the same ones in each process."""
    found = sqlite3.connect(":memory:", check_same_thread=False)
    found.executescript(_CREATE)
    draw = random.Random(1907)
    day = partial(_day, draw)
    tables: dict[str, list[tuple[str | float | None, ...]]] = {
        "vets": [
            (f"V{n}", name, _BRANCHES[n % 3], _SPECIALTIES[n * 2 % 5], day(2200, -60))
            for n, name in enumerate(_VETS, 1)
        ],
        "owners": [
            (
                f"O{n}",
                name,
                draw.choice(_TOWNS),
                f"{name.split()[0].lower()}@mail.example" if n % 6 else None,
                draw.random() < 0.5,
                day(1500, 0),
            )
            for n, name in enumerate(_OWNERS, 1)
        ],
    }
    tables["patients"] = [_patient(draw, n, name) for n, name in enumerate(_PETS, 1)]
    tables["appointments"] = [_appointment(draw, n) for n in range(1, 131)]
    owner_of = {each[0]: each[3] for each in tables["patients"]}
    done = [each for each in tables["appointments"] if each[5] == "completed"]
    tables["invoices"] = [
        _invoice(draw, n, each, owner_of[each[1]]) for n, each in enumerate(done, 1) if n % 9
    ]
    for name, rows in tables.items():
        marks = ", ".join("?" for _ in rows[0])
        found.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608 — our names
    return found


def _day(draw: random.Random, first: int, last: int) -> str:
    """Return a day from `first` to `last` days before today."""
    return (TODAY - datetime.timedelta(days=draw.randint(last, first))).isoformat()


def _patient(draw: random.Random, n: int, name: str) -> tuple[str | float | None, ...]:
    species = draw.choices(_SPECIES, (14, 12, 6, 4, 3))[0]
    owner = f"O{draw.randint(1, len(_OWNERS) - 2)}"
    weight = round(_WEIGHTS[species] * draw.uniform(0.5, 1.7), 1)
    born = _day(draw, 4400, 90)
    return f"P{n}", name, species, owner, born, weight, draw.random() < 0.6, draw.random() < 0.4


def _appointment(draw: random.Random, n: int) -> tuple[str | float | None, ...]:
    date = _day(draw, 380, -28)
    kind = draw.choices(_KINDS, (9, 7, 3, 3, 2))[0]
    past = draw.choices(("completed", "cancelled", "no_show"), (8, 1, 1))[0]
    status = past if date < TODAY.isoformat() else draw.choice(("booked", "booked", "cancelled"))
    minutes = round(_MINUTES[kind] * draw.uniform(0.6, 1.6) / 5) * 5
    patient, vet = f"P{draw.randint(1, len(_PETS) - 3)}", f"V{draw.randint(1, len(_VETS))}"
    return f"A{n}", patient, vet, date, kind, status, minutes


def _invoice(
    draw: random.Random, n: int, done: Sequence[str | float | None], owner: str | float | None
) -> tuple[str | float | None, ...]:
    amount = round(_PRICES[str(done[4])] * draw.uniform(0.7, 1.8), 2)
    status = draw.choices(("paid", "open", "overdue"), (7, 2, 1))[0]
    return f"N{n}", done[0], owner, done[3], amount, status


def _enum(description: str, values: Sequence[str], *synonyms: str, **said: Sequence[str]) -> Node:
    hints: Node = {"x-synonyms": texts(synonyms)} if synonyms else {}
    words: Node = {name: texts(forms) for name, forms in said.items()}
    node: Node = {"type": "string", "enum": texts(values), "description": description, **hints}
    return {**node, "x-values": words} if words else node


def _flag(description: str, true: Sequence[str], false: Sequence[str]) -> Node:
    words: Node = {"true": texts(true), "false": texts(false)}
    return {"type": "boolean", "description": description, "x-values": words}


def _date(description: str, *synonyms: str) -> Node:
    node: Node = {"type": "string", "format": "date", "description": description}
    return {**node, "x-synonyms": texts(synonyms)} if synonyms else node


def _number(description: str, unit: str, *synonyms: str) -> Node:
    node: Node = {"type": "number", "minimum": 0, "description": description}
    return {**node, "x-unit": unit, "x-synonyms": texts(synonyms)}


def _id(entity: str, description: str, *synonyms: str) -> Node:
    node: Node = {"type": "string", "description": description, "x-ref": f"{entity}.id"}
    return {**node, "x-kind": "code", **({"x-synonyms": texts(synonyms)} if synonyms else {})}


def _ids(entity: str, description: str, field: str, *synonyms: str) -> Node:
    return {
        "type": "array",
        "items": {"type": "string"},
        "description": description,
        "x-ref": f"{entity}.id",
        "x-kind": "code",
        "x-field": field,
        "x-synonyms": texts(synonyms),
    }


def _name(description: str, kind: str, known: Sequence[str] = ()) -> Node:
    node: Node = {"type": "string", "description": description, "x-kind": kind}
    return {**node, "x-gazetteer": texts(known)} if known else node


_BRANCH: Final = _enum("The branch at which the vet works.", _BRANCHES, "practice", "location")
_SPECIALTY: Final = _enum(
    "What the vet specialises in.",
    _SPECIALTIES,
    "speciality",
    "field",
    surgery=["surgeon", "surgical"],
    dentistry=["dentist", "dental"],
    dermatology=["dermatologist", "skin"],
    exotics=["exotic animals", "exotic"],
)
_VET_NAME: Final = _name("The vet's name.", "person", _VETS)
_OWNER_NAME: Final = _name("The owner's name.", "person", _OWNERS)
_PATIENT_NAME: Final = _name("The animal's name.", "name", _PETS)
_TOWN: Final = hinted(
    _name("The town in which the owner lives.", "place", _TOWNS),
    {"x-synonyms": ["city", "place"], "x-cue": ["in", "from", "living in"]},
)
_NEWSLETTER: Final = _flag(
    "Whether the owner gets the newsletter.",
    ("subscribed", "with newsletter", "who get the newsletter"),
    ("unsubscribed", "without newsletter", "not subscribed"),
)
_SPECIES_NODE: Final = _enum(
    "The animal's species.",
    _SPECIES,
    "animal",
    "kind of animal",
    dog=["dogs", "puppy", "canine"],
    cat=["cats", "kitten", "feline"],
    rabbit=["rabbits", "bunny"],
    parrot=["parrots", "bird"],
    tortoise=["tortoises", "turtle"],
)
_NEUTERED: Final = _flag(
    "Whether the animal is neutered.",
    ("neutered", "spayed", "castrated"),
    ("not neutered", "unneutered", "intact", "not spayed"),
)
_INSURED: Final = _flag(
    "Whether the animal is insured.",
    ("insured", "with insurance"),
    ("uninsured", "not insured", "without insurance"),
)
_KIND: Final = _enum(
    "What the appointment is for.",
    _KINDS,
    "type",
    "reason",
    checkup=["check-up", "check-ups", "routine visit"],
    vaccination=["vaccinations", "jab", "shot"],
    surgery=["operation", "operations", "surgeries"],
    dental=["teeth", "dental work"],
    emergency=["emergencies", "urgent"],
)
_APPOINTMENT_STATUS: Final = _enum(
    "How far the appointment is.",
    ("booked", "completed", "cancelled", "no_show"),
    "state",
    booked=["upcoming", "planned", "scheduled"],
    completed=["done", "finished", "held"],
    cancelled=["canceled", "called off"],
    no_show=["no-show", "no-shows", "missed", "did not show up"],
)
_INVOICE_STATUS: Final = _enum(
    "Whether the invoice is paid.",
    ("open", "paid", "overdue"),
    "state",
    open=["unpaid", "outstanding"],
    paid=["settled"],
    overdue=["late", "past due"],
)
_ROWS: Final[Mapping[str, tuple[str, Node]]] = {
    "vets": (
        "vet",
        {
            "id": _id("vet", "The vet's id."),
            "name": _VET_NAME,
            "branch": _BRANCH,
            "specialty": _SPECIALTY,
            "hired_on": _date("The day on which the vet was hired.", "hired", "start date"),
        },
    ),
    "owners": (
        "owner",
        {
            "id": _id("owner", "The owner's id."),
            "name": _OWNER_NAME,
            "town": _TOWN,
            "email": nullable({"type": "string", "description": "The owner's e-mail address."}),
            "newsletter": _NEWSLETTER,
            "joined_on": _date("The day on which the owner registered.", "joined", "registered"),
        },
    ),
    "patients": (
        "patient",
        {
            "id": _id("patient", "The animal's id."),
            "name": _PATIENT_NAME,
            "species": _SPECIES_NODE,
            "owner_id": _id("owner", "The animal's owner.", "owner"),
            "born_on": _date("The day on which the animal was born.", "born", "birthday"),
            "weight_kg": _number("Weight in kilograms.", "kg", "weight", "heavy"),
            "neutered": _NEUTERED,
            "insured": _INSURED,
        },
    ),
    "appointments": (
        "appointment",
        {
            "id": _id("appointment", "The appointment's id."),
            "patient_id": _id("patient", "The animal that is seen.", "patient"),
            "vet_id": _id("vet", "The vet who sees it.", "vet"),
            "date": _date("The day of the appointment.", "day"),
            "kind": _KIND,
            "status": _APPOINTMENT_STATUS,
            "duration_minutes": _number("How long it takes, in minutes.", "min", "duration"),
        },
    ),
    "invoices": (
        "invoice",
        {
            "id": _id("invoice", "The invoice's id."),
            "appointment_id": _id("appointment", "The appointment that is billed.", "appointment"),
            "owner_id": _id("owner", "The owner who pays.", "owner"),
            "date": _date("The day of the invoice.", "day"),
            "amount_eur": _number("The amount in euros.", "EUR", "amount", "price", "cost"),
            "status": _INVOICE_STATUS,
        },
    ),
}


class _Listing(NamedTuple):
    """A tool that lists a table. Each argument has a condition with one mark for its value."""

    table: str
    description: str
    synonyms: Sequence[str]
    order: str
    filters: Mapping[str, tuple[Node, str]]


def _between(field: str, what: str) -> dict[str, tuple[Node, str]]:
    return {
        name: (_node(node), f"{field} {sign} ?")
        for (name, node), sign in zip(date_range(field, what).items(), (">=", "<="), strict=True)
    }


def _node(value: Json) -> Node:
    return value if isinstance(value, dict) else {}


def _same(node: Node, name: str) -> tuple[Node, str]:
    return node, f"lower({name}) = lower(?)"


def _among(entity: str, description: str, field: str, *synonyms: str) -> tuple[Node, str]:
    node = _ids(entity, description, field, *synonyms)
    return node, f"{field} IN (SELECT value FROM json_each(?))"  # noqa: S608 — fixed text


_LISTINGS: Final = (
    _Listing(
        "vets",
        "Lists vets by branch and specialty.",
        ("veterinarian", "doctor"),
        "name",
        {
            "ids": _among("vet", "The vets themselves.", "id"),
            "name": _same(_VET_NAME, "name"),
            "branch": _same(_BRANCH, "branch"),
            "specialty": _same(_SPECIALTY, "specialty"),
        },
    ),
    _Listing(
        "owners",
        "Lists the owners of animals by name, town and newsletter.",
        ("client", "customer", "pet owner"),
        "name",
        {
            "ids": _among("owner", "The owners themselves.", "id"),
            "name": _same(_OWNER_NAME, "name"),
            "town": _same(_TOWN, "town"),
            "newsletter": (_NEWSLETTER, "newsletter = ?"),
            **_between("joined_on", "the owner registered"),
        },
    ),
    _Listing(
        "patients",
        "Lists animals by name, species, owner, weight, neutering and insurance.",
        ("pet", "animal"),
        "name",
        {
            "ids": _among("patient", "The animals themselves.", "id"),
            "owner_ids": _among("owner", "The owners of the animals.", "owner_id", "owner"),
            "name": _same(_PATIENT_NAME, "name"),
            "species": _same(_SPECIES_NODE, "species"),
            "neutered": (_NEUTERED, "neutered = ?"),
            "insured": (_INSURED, "insured = ?"),
            "min_weight_kg": (at_least("weight_kg", "kg", "weight", "weight"), "weight_kg >= ?"),
            "max_weight_kg": (at_most("weight_kg", "kg", "weight", "weight"), "weight_kg <= ?"),
        },
    ),
    _Listing(
        "appointments",
        "Lists appointments by animal, vet, date, kind and status, the newest first.",
        ("visit", "consultation", "booking"),
        "date DESC, id",
        {
            "ids": _among("appointment", "The appointments themselves.", "id"),
            "patient_ids": _among("patient", "The animals that are seen.", "patient_id", "patient"),
            "vet_ids": _among("vet", "The vets who see them.", "vet_id", "vet"),
            **_between("date", "the appointment takes place"),
            "kind": _same(_KIND, "kind"),
            "status": _same(_APPOINTMENT_STATUS, "status"),
        },
    ),
    _Listing(
        "invoices",
        "Lists invoices by owner, appointment, date, amount and status, the newest first.",
        ("bill",),
        "date DESC, id",
        {
            "owner_ids": _among("owner", "The owners who pay.", "owner_id", "owner"),
            "appointment_ids": _among(
                "appointment", "The appointments that are billed.", "appointment_id", "appointment"
            ),
            **_between("date", "the invoice was written"),
            "min_amount_eur": (
                at_least("amount_eur", "EUR", "amount", "amount"),
                "amount_eur >= ?",
            ),
            "max_amount_eur": (at_most("amount_eur", "EUR", "amount", "amount"), "amount_eur <= ?"),
            "status": _same(_INVOICE_STATUS, "status"),
        },
    ),
)


def _rows(sql: str, values: Sequence[Any]) -> list[Json]:
    found = database().execute(sql, values)
    names = [each[0] for each in found.description]
    return [
        {name: bool(v) if name in _BOOLEANS else v for name, v in zip(names, cells, strict=True)}
        for cells in found
    ]


def _list(listing: _Listing, given: Arguments) -> Json:
    used = [name for name in listing.filters if name in given]
    conditions = " AND ".join(["1", *(listing.filters[name][1] for name in used)])
    values = [json.dumps(given[n]) if isinstance(given[n], list) else given[n] for n in used]
    sql = f"SELECT * FROM {listing.table} WHERE {conditions} ORDER BY {listing.order} LIMIT ?"  # noqa: S608 — fixed text
    rows = _rows(sql, [*values, given.get("limit", -1)])
    return {"data": rows, "count": len(rows)}


def _get(given: Arguments) -> Json:
    rows = _rows("SELECT * FROM patients WHERE id = ?", [given["id"]])
    if not rows:
        raise ToolError(f"Patient {given['id']!r} not found.")
    return {"data": rows[0]}


def _plain(value: Json) -> Json:
    """Return a schema without its hints."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items() if name[:2] != "x-"}
        case list():
            return [*map(_plain, value)]
        case _:
            return value


@cache
def tools(*, hints: bool) -> Toolbox:
    """Return the tools, with the hints that an engineer writes, or with names and types only.

    The one that computes is there too, as it is in the demo.
    """
    kept: Callable[[Json], Json] = (lambda value: value) if hints else _plain

    def made(name: str, about: str, takes: Node, gives: Node, work: Callable[..., Json]) -> Tool:
        async def call(given: Arguments) -> Json:
            return work(given)

        return Tool(
            name=name,
            description=about,
            raw_input=kept(takes),
            raw_output=kept(gives),
            effects=Effects.READ,
            call=call,
        )

    def listed(each: _Listing) -> Tool:
        entity, fields = _ROWS[each.table]
        takes: Node = {name: node for name, (node, _) in each.filters.items()}
        schema = arguments(
            entity,
            "list",
            {**takes, "limit": limit()},
            synonyms=each.synonyms,
            aliases=(each.table,),
            order=each.order.split(",")[0].lower(),
        )
        work = partial(_list, each)
        return made(f"{each.table}_list", each.description, schema, many(row(entity, fields)), work)

    identity = arguments(
        "patient", "get", {"id": _id("patient", "The animal's id.")}, required=("id",)
    )
    patient = one(row(*_ROWS["patients"]))
    getter = made("patients_get", "Gets one animal by its id.", identity, patient, _get)
    return Toolbox([*map(listed, _LISTINGS), getter, sql_tool()])
