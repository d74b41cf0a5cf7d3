"""The lexicon: the meanings of each phrase, compiled from the schemas of the tools.

An entry says that a phrase can be a category (see `grammar.txt`) with a meaning.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

from toolplan_offline import words
from toolplan_offline.schemas import ENGLISH, Entity, Field, Report, Schemas


class Val(NamedTuple):
    """A value of a field; `cued`: its cue was said; `free`: no schema knows it."""

    entity: str
    field: str
    value: Any
    op: str = "="
    cued: bool = False
    free: bool = False


class Word(NamedTuple):
    """A phrase for a field: its name, a cue, or `unit`, which is `factor` of its own.

    `order`: desc or asc, of a word for the most or the least of it.
    """

    entity: str
    field: str
    factor: float = 1.0
    unit: str = ""
    order: str = ""


class Lexicon:
    """The meanings of the phrases of a question, for some tools."""

    def __init__(self, schemas: Schemas) -> None:
        """Compile the lexicon of the schemas of tools."""
        self.entities: dict[str, Entity] = schemas.entities
        self.reports: dict[str, Report] = schemas.reports
        self.rates = schemas.rates
        self.entries: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        self.light: set[str] = set()
        """verbs of the one date that things have: they mean nothing by themselves"""
        for entity in self.entities.values():
            self._enter(entity)
        for said in self.entries.values():  # the name of a field is no unit of another one
            named = {m[0]: m[1] for c, m in said if c == "F"}
            said[:] = [(c, m) for c, m in said if c != "U" or named.get(m[0], m[1]) == m[1]]
        for report in self.reports.values():
            for text in report.phrases:
                self.add(text, "REPORT", report.tool)
        self.longest = max((len(text.split()) for text in self.entries), default=1)

    def add(self, text: str, category: str, meaning: object) -> None:
        """Note that `text` can be `category` with `meaning`."""
        said = words.phrase(text)
        key = "A" if said == "a" else words.bare(said.split())  # the article is no value
        if "email" in key.split():
            self.add(key.replace("email", "e mail"), category, meaning)
        if key in ("email", "e mail", "phone", "telephone") and category == "F":
            self.add(f"{key} {'number' if 'phone' in key else 'address'}", category, meaning)
        if key and (category, meaning) not in self.entries[key]:
            self.entries[key].append((category, meaning))

    def field(self, word: Word | Val) -> Field:
        """Return the field of a word or a value."""
        return self.entities[word.entity].fields[word.field]

    def identities(self, text: str) -> list[tuple[str, str]]:
        """Return the things that an identity such as X17 can be, with it."""
        found = re.match(r"[A-Za-z]+", text)
        return [(e.name, text) for e in self.entities.values() if found and e.prefix == found[0]]

    def reach(self, here: str, there: str) -> bool:
        """Return whether a row of `here` names one of `there`, directly or over one more."""
        near = self.named(here)
        return there in near or any(there in self.named(each) for each in near)

    def linked(self, here: str, there: str) -> bool:
        """Return whether two things can be tied together."""
        shared = self._shared(here) & self._shared(there)
        return self.reach(here, there) or self.reach(there, here) or bool(shared)

    def named(self, entity: str) -> set[str]:
        """Return the things that a row of an entity names."""
        return {f.ref.split(".")[0] for f in self.entities[entity].keys} - {entity}

    def _shared(self, entity: str) -> set[str]:
        return {f.ref for f in self.entities[entity].keys if not f.ref.startswith(f"{entity}.")}

    # --- from entities to words

    def _enter(self, entity: Entity) -> None:
        kinds = {w for f in entity.fields.values() for w in f.words} - {*entity.nouns[:1]}
        for noun in entity.nouns:
            details = noun.endswith(" detail")
            many = "ND" if details else "NK" if noun in kinds else "N"
            fixed = noun.startswith("what ")  # "what came in" has no plural
            self.add(noun, "ND" if details else "N" if fixed else "N1", entity.name)
            if not fixed:
                self.add(words.plural(noun), many, entity.name)
        for text in (deed for noun in entity.nouns[:1] for deed in words.participles(noun)):
            self.add(text, "DONE", entity.name)
        if entity.label and entity.label.kind == "person":
            self.add("who", "WHO", entity.name)
            self.add("people", "N", entity.name)
        for each in entity.fields.values():
            self._enter_field(entity, each)

    def _enter_field(self, entity: Entity, found: Field) -> None:
        if found.ref and found.ref != f"{entity.name}.id":
            self._enter_names(found)
            return
        if found is entity.fields.get("id"):
            return
        word = Word(entity.name, found.name)
        of_time = found.kind == "date" or found.name == entity.year
        if of_time and (dated := re.fullmatch(r"(\w+?)_(on|at|date|year)", found.name)):
            # the verb that selects a date; it has no meaning with a single date
            dates = [f for f in entity.fields.values() if f.kind == "date"]
            own = dated[1] in ENGLISH.classes["acquired"] or entity.year
            if len(dates) > 1 or found.nullable or own:
                for form in (words.spoken(dated[1]), *words.participles(words.spoken(dated[1]))):
                    self.add(form, "F", word)
            else:
                self.light.add(words.spoken(dated[1]))
        self._enter_degrees(found, word)
        self._enter_words(entity, found, word)
        for cue in found.cues or (c for c, names in ENGLISH.cues.items() if found.name in names):
            self.add(cue, "C", word)
        self._enter_values(entity, found)

    def _enter_names(self, found: Field) -> None:
        """Enter the names of another thing, and those of its role for this one."""
        target = found.ref.split(".")[0]
        there = self.entities.get(target)
        said = {*found.words, re.sub(r" ids?$", "", words.spoken(found.name))}
        for text in said - {*there.nouns} if there else ():
            for form in (text, words.plural(text)):
                self.add(form, "R", Word(found.entity, found.name))
                self.add(form, "RN", target)
            if text.endswith(("er", "or")):  # things are managed by their manager
                deed = text.split()[-1][:-2] + "ed by"
                self.add(deed, "R", Word(found.entity, found.name))
        for identity, names in found.values.items():
            for text in names:
                if text != identity:
                    self.add(text, "ID", (target, identity))

    def _enter_degrees(self, found: Field, word: Word) -> None:
        if found.kind == "number":
            names = {w for text in found.words for w in text.split()} - ENGLISH.units.keys()
            said = names | {found.unit}  # the "min" of a min_age is no minute
            own = {*words.spoken(found.name).split()}
            greater = {*found.words} - own  # "long" is a place
            for up, down, about in ENGLISH.degrees:
                if said & about:
                    greater.add(up)
                    less, least = words.graded(down)
                    self.add(f"{less} than", "LESS", word)
                    self.add(least, "TOP", word._replace(order="asc"))
                    self.add(up, "HIGH", word)
            for adjective in greater:
                more, most = words.graded(adjective)
                self.add(f"{more} than", "MORE", word)
                self.add(most, "TOP", word._replace(order="desc"))

    def _enter_words(self, entity: Entity, found: Field, word: Word) -> None:
        times = found.words if found.unit in ("min", "h") else ()
        names = [*found.words, *(f"{each} time" for each in times)]  # "running_minutes"
        if found.name.startswith(f"{entity.name}_"):
            names.append(words.spoken(found.name[len(entity.name) + 1 :]))
        nouns = {noun.lower() for noun in entity.nouns}
        for text in names:
            one, many = ("GK", "GKS") if text.lower() in nouns else ("F", "FS")
            if text in ENGLISH.classes["totals"]:
                self.add(text, "TF", word)
            if found.kind in ("person", "organisation", "") and text.endswith(("er", "or")):
                self.add(f"{text[:-2]}ed by", "C", word)
                for form in ("ed", "s", "") if len(text) > 5 else ():
                    self.add(text[:-2] + form, "DID", word)
            self.add(text, one, word)
            self.add(words.plural(text), many, word)
        own = {found.unit.lower(): 1.0} if found.unit else {}
        for unit, factor in ENGLISH.units.get(found.unit, own).items():
            many = words.plural(words.singular(unit))
            for text in {words.singular(unit), many, unit}:
                meaning = word._replace(factor=factor, unit=many)
                self.add(text, "U", meaning)
                self.add(f"{'an' if text[0] in 'aeioh' else 'a'} {text}", "UN", meaning)

    def _enter_values(self, entity: Entity, found: Field) -> None:
        values = dict(found.values)
        if found.kind == "bool" and not values:
            values = _said_of_flag(found.name)
        kinds = found.kind == "enum" and "_" not in found.name  # "x_type" names the thing
        kinds = kinds or found.name.startswith("is_")
        nouns = found.name in ENGLISH.classes["nouns"] or bool({*found.words} & {*entity.nouns})
        for value, texts in values.items():
            meaning = Val(entity.name, found.name, value)
            for text in [way for each in texts for way in words.ways_to_have(each)]:
                behind = text.split()[0] in ENGLISH.classes["behind"]
                self.add(text, "VP" if behind else "V", meaning)
                one, many = words.singular(text), words.plural(text)
                for form in (one, many, text) if nouns else (many,) if kinds else ():
                    self.add(form, "VN1" if form == one != many else "VN", meaning)
                rated = (found.kind == "enum" or value is True) and re.fullmatch(r"\S+ed", text)
                for end in ("ion", "ance", "al", "") if rated else ():  # the acceptance rate
                    self.add(text[:-2] + end, "VR", meaning)
        if found.kind == "bool" and True in values:
            for text in found.words:
                self.add(text, "VR", Val(entity.name, found.name, True))


def _said_of_flag(name: str) -> dict[Any, list[str]]:
    said = re.sub(r"^(is|has|have|can) ", "", words.spoken(name))
    if name.startswith("has_"):
        return {True: [f"with {said}"], False: [f"without {said}"]}
    return {True: [said], False: [f"not {said}", f"non {said}", f"un{said}"]}
