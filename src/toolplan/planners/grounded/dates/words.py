"""The words of English that speak of time, and the patterns made of them.

All patterns run on folded text (`fold`), which is lower case, has one kind of dash, of apostrophe
and of blank, and is as long as the text it comes from, so that offsets mean the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from msgspec import Struct

_FOLDED: Final = str.maketrans(
    ascii_uppercase + "‘’ʼ′" + "‐‑‒–—−" + "\u00a0\u2009\u202f",  # the last three are blanks
    ascii_lowercase + "''''" + "------" + "   ",
)

MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAY_NAMES: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip

MONTHS: Final = {name.lower(): number for number, name in enumerate(MONTH_NAMES, 1)}
MONTH_ABBREVIATIONS: Final = {name[:3]: number for name, number in MONTHS.items() if name != "may"}
MONTH_ABBREVIATIONS["sept"] = 9

WEEKDAYS: Final = {name.lower(): number for number, name in enumerate(WEEKDAY_NAMES)}
WEEKDAY_ABBREVIATIONS: Final = {name[:3]: number for name, number in WEEKDAYS.items()} | {
    "tues": 1, "thur": 3, "thurs": 3,
}  # fmt: skip

# what is said of times and read as no date: a name that is one of these is no name
OTHER_TIMES: Final = (
    "spring", "summer", "autumn", "fall", "winter", "easter", "christmas", "xmas", "ramadan",
    "passover", "diwali", "pentecost", "thanksgiving", "halloween", "today", "yesterday",
    "tomorrow", "tonight", "morning", "noon", "afternoon", "evening", "night", "midnight",
    "weekend", "week", "month", "quarter", "year",
)  # fmt: skip

# what people are called, too: behind "by" these are never months
GIVEN_NAMES: Final = frozenset({"jan", "april", "may", "june", "august"})

_SMALL_NUMBERS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
NUMBERS: Final = {word: number for number, word in enumerate(_SMALL_NUMBERS, 1)} | {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90,
    "a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2,
}  # fmt: skip

_SMALL_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
    "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
    "seventeenth", "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
ORDINALS: Final = (
    {word: number for number, word in enumerate(_SMALL_ORDINALS, 1)}
    | {f"twenty-{word}": number for number, word in enumerate(_SMALL_ORDINALS[:9], 21)}
    | {"thirtieth": 30, "thirty-first": 31}
)

UNITS: Final = (
    "day", "week", "fortnight", "month", "quarter", "half-year", "half year", "year",
    "decade",
)  # fmt: skip

# what a number may count besides days: "October 5 tons", "from 2000 kg"
MEASURES: Final = (
    "kg|kgs|kilo|kilos|kilogram|kilograms|g|gram|grams|t|ton|tons|tonne|tonnes|lb|lbs|km|m|m3|"
    "l|litre|litres|liter|liters|ppm|percent|per cent|eur|euro|euros|usd|dollar|dollars|"
    "items?|rows?|pieces?|units?|times|%|€|[$]|°"
)


def one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of `words`, the longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace("\\ ", " ") for word in longest_first)


MONTH: Final = rf"(?P<month>(?:{one_of(MONTHS)}|(?:{one_of(MONTH_ABBREVIATIONS)})\b\.?))"
WEEKDAY: Final = rf"(?P<weekday>(?:{one_of(WEEKDAYS)}|(?:{one_of(WEEKDAY_ABBREVIATIONS)})\b\.?))"
YEAR: Final = r"(?P<year>(?:1[89]|20|21)[0-9]{2})"
# the year of a day, a month, a quarter: "2025", ", 2025", "of 2025", "last year", "of this year"
OF_YEAR: Final = (
    rf"(?:(?:,\s*| (?:of |in )?){YEAR}|,? (?:of |in )?(?P<which>this|last|previous|next) year)"
)
DAY: Final = r"(?P<day>[0-9]{1,2})(?P<suffix>st|nd|rd|th)?"
NUMBER: Final = rf"(?P<number>[0-9]{{1,4}}|{one_of(NUMBERS)})"
UNIT: Final = rf"(?P<unit>{one_of(UNITS)})"
UNIT_OR_HOUR: Final = rf"(?P<unit>hour|{one_of(UNITS)})"
ORDINAL: Final = rf"(?P<ordinal>[0-9]{{1,2}}(?:st|nd|rd|th)|{one_of(ORDINALS)})"

# what stands in a text with one of these, as a `Spelling` needs it
A_DIGIT: Final = "0|1|2|3|4|5|6|7|8|9"
A_MONTH: Final = "|".join(name[:3] for name in MONTHS)
A_WEEKDAY: Final = "|".join(name[:3] for name in WEEKDAYS)
A_UNIT: Final = "|".join(UNITS)
A_NUMBER: Final = "|".join(f"{each} " for each in (*A_DIGIT.split("|"), *NUMBERS))
AN_ORDINAL: Final = "|".join((A_DIGIT, *ORDINALS))


def fold(text: str) -> str:
    """Return `text` in lower case with plain dashes, apostrophes and blanks, equally long."""
    return text.translate(_FOLDED)


def month_number(word: str) -> int:
    """Return the month that a match of `MONTH` names, 1 to 12."""
    plain = word.rstrip(".")
    return MONTHS.get(plain) or MONTH_ABBREVIATIONS[plain]


def weekday_number(word: str) -> int:
    """Return the day of the week that a match of `WEEKDAY` names, 0 (Monday) to 6."""
    plain = word.rstrip(".")
    number = WEEKDAYS.get(plain)
    return WEEKDAY_ABBREVIATIONS[plain] if number is None else number


def number_of(word: str) -> int:
    """Return what a match of `NUMBER` says."""
    plain = " ".join(word.split())
    return int(plain) if plain.isdecimal() else NUMBERS[plain]


def ordinal_number(word: str) -> int:
    """Return what a match of `ORDINAL` says."""
    return int(word[:-2]) if word[0].isdecimal() else ORDINALS[word]


class Text(Struct, frozen=True):
    """A question as it was asked, and folded."""

    original: str
    folded: str

    def begins_sentence(self, at: int) -> bool:
        """Return whether nothing of the same sentence stands before `at`."""
        before = self.original[max(0, at - 20) : at].rstrip().rstrip("\"'(")
        return not before or before[-1] in ".!?:;"

    def behind(self, at: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return what of `pattern` begins at `at`; behind the end there is nothing."""
        return pattern.match(self.folded, at) if at < len(self.folded) else None

    def previous_word(self, at: int) -> str:
        """Return the word that ends right before `at`, only blanks and dashes between, or `""`."""
        found = _LAST_WORD.search(self.folded, max(0, at - 40), at)
        return found[1] if found else ""


_LAST_WORD: Final = re.compile(r"([\w%']+)[\s-]*\Z")


class Found(Struct, frozen=True):
    """Where a pattern matched, with the cue word that stands before it (`""` for none)."""

    match: re.Match[str]
    text: Text
    cue: str

    def get(self, group: str) -> str:
        """Return the text of a named group, `""` where it took no part or is not there."""
        return self.match.groupdict().get(group) or ""

    @property
    def capitalised(self) -> bool:
        """Whether the user wrote the first letter as a capital within a sentence."""
        at = self.match.start()
        return self.text.original[at].isupper() and not self.text.begins_sentence(at)

    @property
    def counts_something(self) -> bool:
        """Whether a unit of measure follows, so that the number here is not a date."""
        return _MEASURE.match(self.text.folded, self.match.end()) is not None

    @property
    def before_name(self) -> bool:
        """Whether a capitalised word follows, as in the name `June Smith`."""
        return _CAPITALISED.match(self.text.original, self.match.end()) is not None


_MEASURE: Final = re.compile(rf"\s*(?:{MEASURES})(?![\w-])")
_CAPITALISED: Final = re.compile(r"\s+[A-Z][a-z]")
