import { expect, it } from 'vitest';
import { compare, pictureOf, tableOf } from './data';

it('the largest list of records is the table, with every key as a column', () => {
  const table = tableOf({ meta: [{ a: 1 }], shipments: { data: [{ id: 'x', kg: 1 }, { id: 'y', t: 2 }] } });
  expect(table).toEqual({ columns: ['id', 'kg', 't'], rows: [['x', 1, null], ['y', null, 2]] });
});

it.each([null, 3, 'x', [], {}, [1, 2], { a: [] }, [[{}]]])('%j is no table', (value) => {
  expect(tableOf(value)).toBeUndefined();
});

it('numbers over days are a line, with the sum of each day in order', () => {
  const table = tableOf([
    { date: '2026-11-03', kg: 5 },
    { date: '2026-11-01', kg: 1 },
    { date: '2026-11-03', kg: 2 },
  ]);
  const picture = table && pictureOf(table);
  expect(picture).toMatchObject({ kind: 'line', labels: ['2026-11-01', '2026-11-03'], ys: [1, 7] });
});

it('numbers of groups are bars', () => {
  const table = tableOf([
    { city: 'Berlin', count: 3 },
    { city: 'Bremen', count: 1 },
  ]);
  expect(table && pictureOf(table)).toMatchObject({ kind: 'bars', labels: ['Berlin', 'Bremen'], ys: [3, 1] });
});

it('text without numbers has no picture', () => {
  const table = tableOf([{ a: 'x' }, { a: 'x' }]);
  expect(table && pictureOf(table)).toBeUndefined();
});

it('numbers are ordered by size, and what is not there is last', () => {
  expect([10, null, 9].sort(compare)).toEqual([9, 10, null]);
});
