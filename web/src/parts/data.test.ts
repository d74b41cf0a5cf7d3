import { expect, it } from 'vitest';
import type { Json } from '../plan/plan';
import { parseJson } from '../api/exact-json';
import { compare, csvOf, partsOf, pictureOf, saidOf } from './data';

const tableOf = (value: Json) => partsOf(value).tables[0];

it('each list of records is a table with every key as a column, and all other values are there', () => {
  const { tables, facts } = partsOf({
    meta: [{ a: 1 }],
    warning: 'old',
    shipments: {
      data: [
        { id: 'x', kg: 1 },
        { id: 'y', t: 2 },
      ],
      errors: [],
      next: null,
    },
  });
  expect(tables).toEqual([
    {
      path: 'shipments.data',
      columns: ['id', 'kg', 't'],
      rows: [
        ['x', 1, null],
        ['y', null, 2],
      ],
    },
    { path: 'meta', columns: ['a'], rows: [[1]] },
  ]);
  expect(facts).toEqual([
    { path: 'warning', value: 'old' },
    { path: 'shipments.errors', value: [] },
    { path: 'shipments.next', value: null },
  ]);
});

it('no column is dropped', () => {
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`c${at}`, at]));
  expect(tableOf([wide])?.columns).toHaveLength(200);
});

it.each([null, 3, 'x', [], {}, [1, 2], { a: [] }, [[{}]]])('%j is no table', (value) => {
  expect(tableOf(value)).toBeUndefined();
});

it('rows of one day are points, and are not added up', () => {
  const table = tableOf([
    { date: '2026-11-03', rate: 0.3 },
    { date: '2026-11-01', rate: null },
    { date: '2026-11-03', rate: 0.4 },
  ]);
  const picture = table && pictureOf(table);
  expect(picture).toMatchObject({
    kind: 'points',
    labels: ['2026-11-01', '2026-11-03', '2026-11-03'],
    ys: [null, 0.3, 0.4],
  });
  expect(picture && saidOf(picture)).toBe(
    'rate by date. Each point is a row: several rows have the same date, and nothing is added up. 1 row has no value and is not drawn.',
  );
});

it('one row for each day is a line, in order, with a gap for null', () => {
  const table = tableOf([
    { date: '2026-11-03', kg: null },
    { date: '2026-11-01', kg: 1 },
  ]);
  expect(table && pictureOf(table)).toMatchObject({
    kind: 'line',
    labels: ['2026-11-01', '2026-11-03'],
    ys: [1, null],
  });
});

it('rows without numbers are counted for each time, and that is said', () => {
  const table = tableOf([{ date: '2026-11-03' }, { date: '2026-11-01' }, { date: '2026-11-03' }]);
  const picture = table && pictureOf(table);
  expect(picture).toMatchObject({ kind: 'line', counts: true, ys: [1, 2] });
  expect(picture && saidOf(picture)).toBe('Number of rows for each date.');
});

it('a group without a number has no bar', () => {
  const table = tableOf([
    { city: 'Berlin', count: 3 },
    { city: 'Bremen', count: null },
  ]);
  expect(table && pictureOf(table)).toMatchObject({ kind: 'bars', ys: [3, null] });
});

it('CSV keeps text as it is, also with quotes and lines', () => {
  const table = tableOf([
    { a: 'x,"y"', b: 1 },
    { a: 'one\ntwo', b: null },
    { a: '', b: [1, 2] },
  ]);
  expect(table && csvOf(table)).toBe('a,b\r\n"x,""y""",1\r\n"one\ntwo",\r\n"","[1,2]"\r\n');
});

it('numbers of groups are bars', () => {
  const table = tableOf([
    { city: 'Berlin', count: 3 },
    { city: 'Bremen', count: 1 },
  ]);
  expect(table && pictureOf(table)).toMatchObject({
    kind: 'bars',
    labels: ['Berlin', 'Bremen'],
    ys: [3, 1],
  });
});

it('any column of numbers is drawn by any time or group', () => {
  const table = tableOf([
    { city: 'Berlin', opened: '2020-01-01', count: 3, kg: 1 },
    { city: 'Bremen', opened: '2019-01-01', count: 1, kg: 2 },
  ])!;
  expect(pictureOf(table)).toMatchObject({ kind: 'line', x: 'opened', y: 'count', ys: [1, 3] });
  expect(pictureOf(table, 'city', 'kg')).toMatchObject({ kind: 'bars', x: 'city', ys: [1, 2] });
  expect(pictureOf(table, 'opened', 'kg')).toMatchObject({ kind: 'line', ys: [2, 1] });
});

it('the row under the pointer has the digits of the result', () => {
  const exact = parseJson(
    '[{"day":"2026-01-02","n":0.12345678901234567890},{"day":"2026-01-01","n":null}]',
  );
  const table = tableOf(exact)!;
  expect(pictureOf(table)?.values).toEqual(['', '0.12345678901234567890']);
});

it.each([
  ['2026-03-10T05:00', '2026-03-10T05:00Z'],
  ['2026-03-10 05:00:30', '2026-03-10T05:00:30Z'],
  ['2026-03-10T05:00:00+02:00', '2026-03-10T03:00Z'],
  ['2026-03-10', '2026-03-10T00:00Z'],
  ['2026-03', '2026-03-01T00:00Z'],
])('%s is drawn at %s wherever the browser is', (time, same) => {
  const table = tableOf([
    { t: time, n: 1 },
    { t: '1999-01-01', n: 2 },
  ])!;
  expect(pictureOf(table)?.xs[1]).toBe(Date.parse(same) / 1000);
});

it('text without numbers has no picture', () => {
  const table = tableOf([{ a: 'x' }, { a: 'x' }]);
  expect(table && pictureOf(table)).toBeUndefined();
});

it('numbers are ordered by size, and what is not there is last', () => {
  expect([10, null, 9].sort(compare)).toEqual([9, 10, null]);
});
