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

/** Return a table as CSV (RFC 4180): text and numbers as they are, null empty, the rest as JSON. */
export function csvOf(table: Table): string {
  const cell = (text: string): string =>
    /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return [table.columns, ...table.rows.map((row) => row.map(textOf))]
    .map((row) => `${row.map(cell).join(',')}\r\n`)
    .join('');
}

export interface Picture {
  kind: 'line' | 'points' | 'bars';
  x: string;
  y: string;
  /** Whether `ys` count the rows; else each is the value of one row. */
  counts: boolean;
  labels: string[];
  /** For a line: seconds since 1970. For bars: positions. */
  xs: number[];
  /** Null where a row has no value: nothing is drawn there. */
  ys: (number | null)[];
}

const DAY = /^\d{4}-\d{2}(-\d{2}([T ].*)?)?$/;
const MOST_BARS = 30;

const isFinite = (value: Json | undefined): value is number | ExactNumber =>
  isNumber(value) && Number.isFinite(Number(value));

/** Choose a picture by the data: a line for numbers over time, bars for numbers of groups. */
export function pictureOf(table: Table): Picture | undefined {
  if (table.rows.length < 2) return undefined;
  const column = (index: number): Json[] => table.rows.map((row) => row[index] ?? null);
  const all = table.columns.map((name, index) => ({ name, values: column(index) }));
  const numbers = all.filter(
    ({ name, values }) =>
      !/(^|_)id$/i.test(name) &&
      values.some(isFinite) &&
      values.every((each) => each === null || isFinite(each)),
  );
  const time = all.find(({ values }) =>
    values.every(
      (each) => typeof each === 'string' && DAY.test(each) && !Number.isNaN(Date.parse(each)),
    ),
  );
  const groups = all.find(
    ({ values }) =>
      values.every((each) => typeof each === 'string') &&
      new Set(values).size === values.length &&
      values.length <= MOST_BARS,
  );
  const y = numbers[0];
  if (time && y)
    return {
      x: time.name,
      y: y.name,
      counts: false,
      ...overTime(time.values as string[], y.values),
    };
  if (time)
    return {
      kind: 'line',
      x: time.name,
      y: 'count',
      counts: true,
      ...counted(time.values as string[]),
    };
  if (groups && y) {
    const labels = groups.values as string[];
    return {
      kind: 'bars',
      x: groups.name,
      y: y.name,
      counts: false,
      labels,
      xs: labels.map((_, at) => at),
      ys: y.values.map(drawn),
    };
  }
  return undefined;
}

const drawn = (value: Json): number | null => (isFinite(value) ? Number(value) : null);
const seconds = (time: string): number => Date.parse(time) / 1000;

/** One place for each row: a line where each time has one, else points, since no line joins them. */
function overTime(times: string[], values: Json[]): Pick<Picture, 'kind' | 'labels' | 'xs' | 'ys'> {
  const rows = times
    .map((time, at) => ({ time, x: seconds(time), y: drawn(values[at] ?? null) }))
    .sort((one, other) => one.x - other.x);
  const isLine = new Set(rows.map((each) => each.x)).size === rows.length;
  return {
    kind: isLine ? 'line' : 'points',
    labels: rows.map((each) => each.time),
    xs: rows.map((each) => each.x),
    ys: rows.map((each) => each.y),
  };
}

function counted(times: string[]): Pick<Picture, 'labels' | 'xs' | 'ys'> {
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
