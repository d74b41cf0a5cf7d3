// What a result looks like: a table, and whether a picture of it says something.
import { ExactNumber, isNumber } from '../api/exact-json';
import { isObject, type Json } from '../plan/plan';

export interface Table {
  columns: string[];
  rows: Json[][];
}

/** A value of a result that is in no table, with its path from the top. */
export interface Fact {
  path: string;
  value: Json;
}

export interface NamedTable extends Table {
  /** Where its rows are in the result; empty for the result itself. */
  path: string;
}

/** Return all of a result: each list of records as a table, the largest first, and all other values. */
export function partsOf(
  value: Json,
  path = '',
  depth = 3,
): { tables: NamedTable[]; facts: Fact[] } {
  if (Array.isArray(value) && value.length && value.every(isObject))
    return { tables: [{ path, ...tableOf(value) }], facts: [] };
  if (!isObject(value) || depth === 0 || Object.keys(value).length === 0)
    return { tables: [], facts: [{ path, value }] };
  const parts = Object.entries(value).map(([key, each]) =>
    partsOf(each ?? null, path ? `${path}.${key}` : key, depth - 1),
  );
  const tables = parts.flatMap((each) => each.tables);
  return {
    tables: tables.sort((one, other) => other.rows.length - one.rows.length),
    facts: parts.flatMap((each) => each.facts),
  };
}

function tableOf(records: Json[]): Table {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record as object)))];
  const rows = records.map((record) =>
    columns.map((key) =>
      isObject(record) && Object.hasOwn(record, key) ? (record[key] ?? null) : null,
    ),
  );
  return { columns, rows };
}

/** Return a table as CSV (RFC 4180): text and numbers as they are, null as nothing, empty text as "", the rest as JSON. */
export function csvOf(table: Table): string {
  const cell = (value: Json): string => {
    const text = textOf(value);
    return value === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [table.columns, ...table.rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

export interface Picture {
  kind: 'line' | 'points' | 'bars';
  x: string;
  y: string;
  /** Whether `ys` count the rows; else each is the value of one row. */
  counts: boolean;
  labels: string[];
  /** Over time: seconds since 1970. For bars: positions. */
  xs: number[];
  /** Null where a row has no value: nothing is drawn there. */
  ys: (number | null)[];
  /** The values as the result has them: `ys` may be rounded. */
  values: string[];
}

interface Column {
  name: string;
  values: Json[];
}

const DAY = /^\d{4}-\d{2}(-\d{2}([T ].*)?)?$/;
const MOST_BARS = 30;

const isFinite = (value: Json | undefined): value is number | ExactNumber =>
  isNumber(value) && Number.isFinite(Number(value));

/** Seconds since 1970. A time that states no zone is drawn as it is written, wherever the browser is. */
const seconds = (time: string): number => {
  const isLocal = /[T ]/.test(time) && !/(Z|[+-]\d{2}:?\d{2})$/i.test(time);
  return Date.parse(isLocal ? `${time.replace(' ', 'T')}Z` : time) / 1000;
};

/** Return the columns that a chart can have along its x axis, and those that it can draw. */
export function axesOf(table: Table): { times: Column[]; groups: Column[]; numbers: Column[] } {
  const all = table.columns.map((name, at) => ({
    name,
    values: table.rows.map((row) => row[at] ?? null),
  }));
  return {
    times: all.filter(({ values }) =>
      values.every(
        (each) => typeof each === 'string' && DAY.test(each) && !Number.isNaN(seconds(each)),
      ),
    ),
    groups: all.filter(
      ({ values }) =>
        values.every((each) => typeof each === 'string') &&
        new Set(values).size === values.length &&
        values.length <= MOST_BARS,
    ),
    numbers: all.filter(
      ({ name, values }) =>
        !/(^|_)id$/i.test(name) &&
        values.some(isFinite) &&
        values.every((each) => each === null || isFinite(each)),
    ),
  };
}

/** Draw column `y` by column `x`; without them, the first that can be: numbers over time, else bars of groups. */
export function pictureOf(table: Table, x?: string, y?: string): Picture | undefined {
  if (table.rows.length < 2) return undefined;
  const { times, groups, numbers } = axesOf(table);
  const along = [...times, ...groups];
  const by = along.find((each) => each.name === x) ?? along[0];
  const drawn = numbers.find((each) => each.name === y) ?? numbers[0];
  if (!by) return undefined;
  const labels = by.values as string[];
  if (times.includes(by))
    return drawn
      ? { x: by.name, y: drawn.name, counts: false, ...overTime(labels, drawn.values) }
      : { kind: 'line', x: by.name, y: 'count', counts: true, ...counted(labels) };
  if (!drawn) return undefined;
  return {
    kind: 'bars',
    x: by.name,
    y: drawn.name,
    counts: false,
    labels,
    xs: labels.map((_, at) => at),
    ys: drawn.values.map(height),
    values: drawn.values.map(textOf),
  };
}

type Drawing = Pick<Picture, 'labels' | 'xs' | 'ys' | 'values'>;

const height = (value: Json): number | null => (isFinite(value) ? Number(value) : null);

/** One place for each row: a line where each time has one, else points, since no line joins them. */
function overTime(times: string[], values: Json[]): Drawing & Pick<Picture, 'kind'> {
  const rows = times
    .map((time, at) => ({ time, x: seconds(time), value: values[at] ?? null }))
    .sort((one, other) => one.x - other.x);
  const isLine = new Set(rows.map((each) => each.x)).size === rows.length;
  return {
    kind: isLine ? 'line' : 'points',
    labels: rows.map((each) => each.time),
    xs: rows.map((each) => each.x),
    ys: rows.map((each) => height(each.value)),
    values: rows.map((each) => textOf(each.value)),
  };
}

function counted(times: string[]): Drawing {
  const counts = new Map<number, { label: string; count: number }>();
  for (const time of times) {
    const at = seconds(time);
    counts.set(at, { label: time, count: (counts.get(at)?.count ?? 0) + 1 });
  }
  const rows = [...counts].sort(([one], [other]) => one - other);
  return {
    labels: rows.map(([, each]) => each.label),
    xs: rows.map(([x]) => x),
    ys: rows.map(([, each]) => each.count),
    values: rows.map(([, each]) => String(each.count)),
  };
}

/** Return in words what a picture draws. */
export function saidOf(picture: Picture): string {
  if (picture.counts) return `Number of rows for each ${picture.x}.`;
  const gaps = picture.ys.filter((each) => each === null).length;
  const rows =
    picture.kind === 'points'
      ? ` Each point is a row: several rows have the same ${picture.x}, and nothing is added up.`
      : '';
  return `${picture.y} by ${picture.x}.${rows}${gaps ? ` ${gaps} ${gaps === 1 ? 'row has' : 'rows have'} no value and ${gaps === 1 ? 'is' : 'are'} not drawn.` : ''}`;
}

/** Compare values of a column: numbers by size, the rest as text; what is not there comes last. */
export function compare(one: Json, other: Json): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  // numbers that JavaScript takes for equal are compared digit by digit
  if (isNumber(one) && isNumber(other) && Number(one) !== Number(other))
    return Number(one) - Number(other);
  return textOf(one).localeCompare(textOf(other), 'en', { numeric: true });
}

export const textOf = (value: Json | undefined): string =>
  value === undefined || value === null
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
