// What a result looks like: a table, and whether a picture of it says something.
import { ExactNumber, isNumber } from '../api/exact-json';
import { isObject, type Json } from '../plan/plan';

export interface Table {
  columns: string[];
  rows: Json[][];
}

const MOST_COLUMNS = 60;

/** Return the list of records inside a result: itself, or the largest one some levels below. */
export function recordsOf(value: Json, depth = 3): Json[] | undefined {
  if (Array.isArray(value)) return value.length && value.every(isObject) ? value : undefined;
  if (!isObject(value) || depth === 0) return undefined;
  const lists = Object.values(value).flatMap((each) => {
    const found = recordsOf(each, depth - 1);
    return found === undefined ? [] : [found];
  });
  return lists.sort((one, other) => other.length - one.length)[0];
}

export function tableOf(value: Json): Table | undefined {
  const records = recordsOf(value);
  if (records === undefined) return undefined;
  const columns: string[] = [];
  const known = new Set<string>();
  for (const record of records) {
    for (const key of Object.keys(record as object)) {
      if (!known.has(key) && columns.length < MOST_COLUMNS) {
        known.add(key);
        columns.push(key);
      }
    }
  }
  const rows = records.map((record) => columns.map((key) => (isObject(record) && Object.hasOwn(record, key) ? (record[key] ?? null) : null)));
  return { columns, rows };
}

export interface Picture {
  kind: 'line' | 'bars';
  x: string;
  y: string;
  labels: string[];
  /** For a line: seconds since 1970. For bars: positions. */
  xs: number[];
  ys: number[];
}

const DAY = /^\d{4}-\d{2}(-\d{2}([T ].*)?)?$/;
const MOST_BARS = 30;

const isFinite = (value: Json | undefined): value is number | ExactNumber => isNumber(value) && Number.isFinite(Number(value));

/** Choose a picture by the data: a line for numbers over time, bars for numbers of groups. */
export function pictureOf(table: Table): Picture | undefined {
  if (table.rows.length < 2) return undefined;
  const column = (index: number): Json[] => table.rows.map((row) => row[index] ?? null);
  const all = table.columns.map((name, index) => ({ name, values: column(index) }));
  const numbers = all.filter(({ name, values }) => !/(^|_)id$/i.test(name) && values.some(isFinite) && values.every((each) => each === null || isFinite(each)));
  const time = all.find(({ values }) => values.every((each) => typeof each === 'string' && DAY.test(each) && !Number.isNaN(Date.parse(each))));
  const groups = all.find(({ values }) => values.every((each) => typeof each === 'string') && new Set(values).size === values.length && values.length <= MOST_BARS);
  const y = numbers[0];
  if (time && y) return { kind: 'line', x: time.name, y: y.name, ...summed(time.values as string[], y.values) };
  if (time) return { kind: 'line', x: time.name, y: 'count', ...summed(time.values as string[], time.values.map(() => 1)) };
  if (groups && y) {
    const labels = groups.values as string[];
    return { kind: 'bars', x: groups.name, y: y.name, labels, xs: labels.map((_, at) => at), ys: y.values.map((each) => (isFinite(each) ? Number(each) : 0)) };
  }
  return undefined;
}

function summed(times: string[], values: Json[]): Pick<Picture, 'labels' | 'xs' | 'ys'> {
  const sums = new Map<string, number>();
  times.forEach((time, index) => {
    const value = values[index];
    sums.set(time, (sums.get(time) ?? 0) + (isFinite(value) ? Number(value) : 0));
  });
  const labels = [...sums.keys()].sort();
  return { labels, xs: labels.map((each) => Date.parse(each) / 1000), ys: labels.map((each) => sums.get(each) ?? 0) };
}

/** Compare values of a column: numbers by size, the rest as text; what is not there comes last. */
export function compare(one: Json, other: Json): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  // numbers that JavaScript takes for equal are compared digit by digit
  if (isNumber(one) && isNumber(other) && Number(one) !== Number(other)) return Number(one) - Number(other);
  return textOf(one).localeCompare(textOf(other), 'en', { numeric: true });
}

export const textOf = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
