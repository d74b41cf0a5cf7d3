import { describe, expect, it } from 'vitest';
import { compare, partsOf, pictureOf, textOf } from '../parts/data';
import { at, isObject, parseText, printPlan, refsOf } from '../plan/plan';
import { ExactNumber, parseJson } from './exact-json';

const WRITTEN = [
  '9007199254740993',
  '-9007199254740993',
  '1152921504606846977',
  '1.0',
  '-0',
  '-0.0',
  '1e+16',
  '1E5',
  '0.10',
  '123456789012345678901234567890',
  '3.141592653589793238',
  '1e400',
];

describe('numbers', () => {
  it.each(WRITTEN)('%s is shown and sent as it was written', (source) => {
    for (const text of [source, `[${source}]`, `{"a":{"b":[1,${source},"${source}"]}}`]) {
      const found = parseJson(text);
      expect(JSON.stringify(found)).toBe(text);
      expect(textOf(found)).toBe(text);
    }
    expect(printPlan(parseJson(`{"steps":[${source}]}`))).toContain(source);
    expect(textOf(parseText(source).document ?? null)).toBe(source);
  });

  it.each([
    '1',
    '-1',
    '0',
    '1.5',
    '1763856313.1234567',
    '9007199254740991',
    '0.1',
    '1e+22',
    '"9007199254740993"',
    '"1.0"',
    '"\\"1.0"',
    '{"1.0":"2.0"}',
  ])('%s is the value of JavaScript', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect(JSON.stringify(parseJson(text))).toBe(text);
  });

  it('are no objects with keys, and calculate', () => {
    const value = parseJson('2.50');
    expect(isObject(value)).toBe(false);
    expect(value).toBeInstanceOf(ExactNumber);
    expect(Number(value) * 2).toBe(5);
    expect(refsOf(value)).toEqual([]);
    expect(textOf(at(parseJson('{"a":[1.0]}'), '/a/0') ?? null)).toBe('1.0');
  });

  it('are sorted by size, also where they differ by less than JavaScript knows', () => {
    const values = ['9007199254740993', '9007199254740992', '1.0', '-3', '20'].map(parseJson);
    expect([...values].sort(compare).map(String)).toEqual([
      '-3',
      '1.0',
      '20',
      '9007199254740992',
      '9007199254740993',
    ]);
  });

  it('make a table and a picture', () => {
    const table = partsOf(
      parseJson('[{"name":"a","size":1.0},{"name":"b","size":9007199254740993}]'),
    ).tables[0];
    expect(table?.rows[1]?.map(textOf)).toEqual(['b', '9007199254740993']);
    expect(table && pictureOf(table)?.ys).toEqual([1, 9007199254740992]);
  });

  it('of a text with many signs are found quickly', () => {
    const text = JSON.stringify(`${'\\"'.repeat(500_000)}x1.0`);
    expect(parseJson(text)).toBe(JSON.parse(text));
    expect(() => parseJson(`"${'a'.repeat(1_000_000)}`)).toThrow(SyntaxError);
  });
});
