"""Statements by which a value of an outsider's making might come out as a better one.

`a.iban` and `a.due` are trusted, `m.id` is listed; outsiders write all else.
"""

from typing import Final

from tests.flows.mails import flows, step
from tests.flows.test_attacks import ACCOUNTS, INBOX, TABLES
from toolplan.policy import Trust

WRITTEN: Final = (
    ("SELECT json_extract_string(note,'$.a') AS r FROM a", "data[0].r"),
    ("SELECT json_object('k', note) AS r FROM a", "data[0].r"),
    ("SELECT json_object(note, iban) AS r FROM a", "data[0].r"),
    ("SELECT MAP {note: iban} AS r FROM a", "data[0].r"),
    ("SELECT {'k': note}.k AS r FROM a", "data[0].r"),
    ("SELECT struct_pack(k := note).k AS r FROM a", "data[0].r"),
    ("SELECT row(note, iban) AS r FROM a", "data[0].r"),
    ("SELECT to_json(a) AS r FROM a", "data[0].r"),
    ("SELECT a AS r FROM a", "data[0].r"),
    ("SELECT m AS iban FROM m", "data[0].iban"),
    ("SELECT json_keys(json_object(note, 1)) AS r FROM a", "data[0].r"),
    ("SELECT string_agg(iban, note) AS r FROM a", "data[0].r"),
    ("SELECT count(DISTINCT note) AS r FROM a", "data[0].r"),
    ("SELECT count(note) AS r FROM a", "data[0].r"),
    ("SELECT sum(length(note)) AS r FROM a", "data[0].r"),
    ("SELECT r FROM a, LATERAL (SELECT note AS r)", "data[0].r"),
    (
        "(SELECT iban AS r FROM a LIMIT 1) UNION ALL (SELECT text FROM m) UNION ALL"
        " SELECT iban FROM a",
        "data[0].r",
    ),
    (
        "WITH RECURSIVE t(r) AS (SELECT iban FROM a UNION SELECT text FROM m, t) SELECT r FROM t",
        "data[0].r",
    ),
    ("WITH t AS MATERIALIZED (SELECT note AS iban FROM a) SELECT iban AS r FROM t", "data[0].r"),
    ("WITH a AS (SELECT note AS iban FROM a) SELECT iban AS r FROM a", "data[0].r"),
    ("WITH x AS (SELECT text AS iban FROM m), a AS (FROM x) SELECT iban AS r FROM a", "data[0].r"),
    ("WITH t(iban) AS (SELECT note FROM a) SELECT iban AS r FROM t", "data[0].r"),
    (
        "WITH t AS (SELECT iban, note FROM a), u AS (SELECT note AS iban FROM t) SELECT"
        " iban AS r FROM u",
        "data[0].r",
    ),
    (
        "SELECT (WITH a AS (SELECT text AS iban FROM m) SELECT max(iban) FROM a) AS r FROM a",
        "data[0].r",
    ),
    ("SELECT a.iban AS r FROM (SELECT text, id FROM m) AS a(iban, b)", "data[0].r"),
    ("SELECT note AS iban, * EXCLUDE (iban) FROM a", "data[0].iban"),
    ("SELECT t.* FROM (SELECT note AS iban FROM a) t", "data[0].iban"),
    ("SELECT a.iban, b.* FROM a, (SELECT text AS iban FROM m) b", "data[0].iban"),
    ("SELECT COLUMNS(*) FROM a", "data[0].note"),
    ("SELECT COLUMNS('n(.*)e') AS iban FROM a", "data[0].iban"),
    ("SELECT COLUMNS(c -> c = 'note') AS iban FROM a", "data[0].iban"),
    ('SELECT a.note AS "iban" FROM a', "data[0].iban"),
    ('SELECT note AS "IBAN" FROM a', "data[0].IBAN"),
    ("SELECT iban, note AS iban FROM a", "data[0].iban"),
    ("SELECT iban, note AS iban FROM a", "data[0].iban_1"),
    ("SELECT iban, note AS iban FROM a", 'data[0]["iban:1"]'),
    ("UNPIVOT a ON iban, note INTO NAME k VALUE r", "data[0].r"),
    ("SELECT r FROM a UNPIVOT (r FOR k IN (iban, note))", "data[0].r"),
    ("SELECT r FROM (VALUES ((SELECT max(text) FROM m))) t(r)", "data[0].r"),
    ("VALUES ((SELECT max(text) FROM m))", "data[0].col0"),
    ("SELECT r FROM unnest((SELECT list(text) FROM m)) t(r)", "data[0].r"),
    ("SELECT r FROM range((SELECT count(*) FROM m)) t(r)", "data[0].r"),
    ("SELECT unnest(range(length(note))) AS r FROM a", "data[0].r"),
    ("SELECT list_reduce([iban], (x, y) -> x || note) AS r FROM a", "data[0].r"),
    ("SELECT substr(iban, length(note)) AS r FROM a", "data[0].r"),
    ("SELECT replace('x', 'x', note) AS r FROM a", "data[0].r"),
    ("SELECT repeat('x', length(note)) AS r FROM a", "data[0].r"),
    ("SELECT format('{}', note) AS r FROM a", "data[0].r"),
    ("SELECT chr(ascii(note)) AS r FROM a", "data[0].r"),
    ("SELECT regexp_extract('abc', note) AS r FROM a", "data[0].r"),
    ("SELECT CASE WHEN iban = 'x' THEN note END AS r FROM a", "data[0].r"),
    ("SELECT string_agg(CASE WHEN note='a' THEN 'a' ELSE 'b' END, '') AS r FROM a", "data[0].r"),
    ("SELECT note IS NULL AS r FROM a", "data[0].r"),
    ("SELECT coalesce(NULL, note) AS r FROM a", "data[0].r"),
    ("SELECT try_cast(note AS INT) AS r FROM a", "data[0].r"),
    ("SELECT DATE '2020-01-01' + length(note)::INT AS r FROM a", "data[0].r"),
    ("SELECT (SELECT note FROM a a2 WHERE a2.iban = a.iban LIMIT 1) AS r FROM a", "data[0].r"),
    ("SELECT e.key AS r FROM a, entries(MAP {note: 1}) e", "data[0].r"),
    ("SELECT count(*) AS r FROM a WHERE note = 'x'", "data[0].r"),
    ("SELECT count(*) AS r FROM m", "data[0].r"),
    ("SELECT text FROM m", "count"),
    ("SELECT md5(note) AS r FROM a", "data[0].r"),
)
"""What outsiders write is in the value."""

CHOSEN: Final = (
    ("SELECT first_value(iban) OVER (ORDER BY note) AS r FROM a", "data[0].r"),
    ("SELECT nth_value(iban, 2) OVER (PARTITION BY note) AS r FROM a", "data[0].r"),
    (
        "SELECT iban AS r FROM a WINDOW w AS (ORDER BY note) QUALIFY row_number() OVER w = 1",
        "data[0].r",
    ),
    ("SELECT first_value(iban) OVER w AS r FROM a WINDOW w AS (ORDER BY note)", "data[0].r"),
    ("SELECT sum(1) OVER (ORDER BY note) AS r FROM a", "data[0].r"),
    ("SELECT ntile(3) OVER (ORDER BY m.text) AS r FROM m", "data[0].r"),
    ("SELECT count(*) OVER () AS r FROM m", "data[0].r"),
    ("SELECT rank() OVER (ORDER BY (SELECT max(text) FROM m)) AS r FROM a", "data[0].r"),
    (
        "SELECT max(iban) OVER (ROWS BETWEEN (SELECT count(*) FROM m) PRECEDING AND"
        " CURRENT ROW) AS r FROM a",
        "data[0].r",
    ),
    ("SELECT arg_max(iban, note) AS r FROM a", "data[0].r"),
    ("SELECT max_by(iban, note) AS r FROM a", "data[0].r"),
    ("SELECT string_agg(iban ORDER BY note) AS r FROM a", "data[0].r"),
    ("SELECT any_value(iban) AS r FROM (SELECT iban FROM a ORDER BY note)", "data[0].r"),
    ("SELECT first(iban) AS r FROM a GROUP BY note", "data[0].r"),
    ("SELECT iban AS r, note AS s FROM a ORDER BY ALL DESC", "data[0].r"),
    ("SELECT iban AS r FROM a GROUP BY ROLLUP(iban, note)", "data[0].r"),
    ("SELECT iban AS r FROM a GROUP BY GROUPING SETS ((iban),(note))", "data[0].r"),
    ("SELECT grouping(note) AS r FROM a GROUP BY CUBE(note)", "data[0].r"),
    ("SELECT iban AS r, note n FROM a GROUP BY 1, 2", "data[0].r"),
    ("SELECT iban AS r, note n FROM a ORDER BY 2", "data[0].r"),
    ("SELECT DISTINCT iban AS r, note FROM a", "data[0].r"),
    ("SELECT iban AS r FROM a LIMIT (SELECT length(text) FROM m LIMIT 1)", "data[0].r"),
    ("SELECT iban AS r FROM a, m WHERE a.iban = 'I1'", "data[0].r"),
    ("SELECT iban AS r FROM a CROSS JOIN m", "data[0].r"),
    ("SELECT iban AS r FROM a POSITIONAL JOIN m", "data[0].r"),
    ("SELECT iban AS r FROM a ASOF JOIN m ON a.due >= m.text", "data[0].r"),
    ("SELECT iban AS r FROM a NATURAL JOIN m", "data[0].r"),
    ("SELECT iban AS r FROM a SEMI JOIN m ON a.note = m.text", "data[0].r"),
    ("SELECT iban AS r FROM a JOIN m ON TRUE", "data[0].r"),
    ("SELECT iban AS r FROM m LEFT JOIN a ON FALSE", "data[0].r"),
    ("SELECT r FROM a, LATERAL (SELECT iban AS r WHERE note='x')", "data[0].r"),
    ("SELECT iban AS r FROM a EXCEPT SELECT text FROM m", "data[0].r"),
    ("SELECT iban AS r FROM a INTERSECT ALL SELECT text FROM m", "data[0].r"),
    ("(SELECT iban AS r FROM a ORDER BY note) UNION ALL (SELECT due FROM a)", "data[0].r"),
    ("SELECT iban AS r FROM a UNION ALL SELECT iban FROM a WHERE note = 'x'", "data[3].r"),
    ("SELECT iban AS r FROM a WHERE note='x' UNION ALL SELECT iban FROM a", "data[0].r"),
    ("SELECT unnest([iban]) AS r, unnest(string_split(note, ',')) AS s FROM a", "data[0].r"),
    ("SELECT iban AS r, unnest(string_split(note, ',')) AS s FROM a", "data[1].r"),
    ("SELECT iban AS r FROM a, unnest(string_split(a.note, ',')) u(x)", "data[1].r"),
    ("SELECT unnest(string_split(note,',')) AS s, 'x' AS r FROM a", "data[1].r"),
    ("SELECT [x FOR x IN [iban] IF note = 'q'] AS r FROM a", "data[0].r"),
    ("SELECT list_filter([iban, due], x -> x = note) AS r FROM a", "data[0].r"),
    ("SELECT list_sort([iban, due], note) AS r FROM a", "data[0].r"),
    ("SELECT [iban, due][length(note)] AS r FROM a", "data[0].r"),
    ("SELECT CASE note WHEN 'x' THEN iban ELSE due END AS r FROM a", "data[0].r"),
    ("SELECT CASE WHEN note='a' THEN 'a' WHEN note='b' THEN 'b' END AS r FROM a", "data[0].r"),
    ("SELECT iban COLLATE NOCASE AS r FROM a ORDER BY note COLLATE NOCASE", "data[0].r"),
    ("SELECT iban AS r FROM a WHERE iban IN (SELECT text FROM m)", "data[0].r"),
    ("SELECT iban AS r FROM a WHERE iban = ANY (SELECT text FROM m)", "data[0].r"),
    ("SELECT iban AS r FROM a WHERE (SELECT count(*) FROM m) > 2", "data[0].r"),
    ("SELECT max(iban) AS r FROM a HAVING (SELECT count(*) FROM m) > 2", "data[0].r"),
    ("SELECT 'x' AS r FROM m GROUP BY text", "data[*].r"),
    ("SELECT e.value AS r FROM a, entries(MAP {note: iban}) e", "data[0].r"),
    ("SELECT iban AS r FROM a WHERE note='x'", "count"),
    ("SELECT 'x' AS r FROM a WHERE note='x'", "data[0].r"),
    (
        "SELECT 'p' AS r, 1 AS o FROM a WHERE note='x' UNION ALL SELECT 'q', 2 ORDER BY o",
        "data[0].r",
    ),
    ("SELECT typeof(note) AS r FROM a", "data[0].r"),
    ("SELECT iban AS r FROM a ORDER BY hash(note)", "data[0].r"),
    ("SELECT iban AS r FROM a ORDER BY (SELECT max(text) FROM m)", "data[0].r"),
)
"""What outsiders write decides at least which value it is."""


def labels(statements: tuple[tuple[str, str], ...]) -> dict[str, Trust]:
    """Return the label of a part of the result of each statement; one plan has them all."""
    made = [step(f"q{at}", "sql", sql=sql, tables=TABLES) for at, (sql, _) in enumerate(statements)]
    sent = [
        step(f"s{at}", "send", to=f"${{q{at}.{path}}}", body="x")
        for at, (_, path) in enumerate(statements)
    ]
    found = flows(INBOX, ACCOUNTS, *made, *sent)
    tos = {each.step: each.label.trust for each in found if each.pointer.endswith("/to")}
    return {f"{sql}: {path}": tos[f"s{at}"] for at, (sql, path) in enumerate(statements)}


def test_what_outsiders_write_stays_untrusted() -> None:
    found = labels(WRITTEN)
    assert {sql for sql, trust in found.items() if trust is not Trust.UNTRUSTED} == set()


def test_what_outsiders_choose_is_at_most_listed() -> None:
    found = labels(CHOSEN)
    assert {sql for sql, trust in found.items() if trust > Trust.LISTED} == set()
