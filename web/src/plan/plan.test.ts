import { describe, expect, it } from 'vitest';
import { at, printPlan, readPlan, refsOf, refsOfText, type Json } from './plan';

describe('references', () => {
  it('are found in text, and a plain ${ is none', () => {
    expect(refsOfText('${a.id} and ${b[0]}')).toEqual(['a', 'b']);
    expect(refsOfText('$${a} costs $$$${b}, $$${c}')).toEqual(['c']);
  });

  it('are found at any depth, each once', () => {
    expect(refsOf({ to: ['${a}', { x: '${a.b} ${c}' }] }).sort()).toEqual(['a', 'c']);
  });
});

describe('readPlan', () => {
  it('reads what is there of a plan that is being written', () => {
    const plan = readPlan({
      steps: [
        { id: 'a', tool: 't' },
        { tool: 'x' },
        null,
        { id: 'b', args: { v: '${a} ${zz}' }, after: ['a', 3] },
      ],
    });
    expect(plan.steps.map((each) => [each.id, each.needs])).toEqual([
      ['a', []],
      ['b', ['a']],
    ]);
  });

  it.each([null, 3, 'x', [], {}, { steps: 'no' }, { steps: [[]] }] as Json[])(
    'is empty for %j',
    (document) => {
      expect(readPlan(document).steps).toEqual([]);
    },
  );

  it('keeps a step whose id is a name of every object', () => {
    expect(readPlan({ steps: [{ id: '__proto__', tool: 'constructor' }] }).steps[0]?.tool).toBe(
      'constructor',
    );
  });
});

it('a pointer leads to its value and never to what an object inherits', () => {
  const document = { steps: [{ args: { 'a/b~c': 1 } }] };
  expect(at(document, '/steps/0/args/a~1b~0c')).toBe(1);
  expect(at(document, '/steps/0/args/toString')).toBeUndefined();
});

it('what is printed reads back as the same', () => {
  const document: Json = {
    toolplan: 1,
    steps: [
      {
        id: 'a',
        tool: 't',
        args: { text: 'ü "q" \u202e', list: [], none: null, deep: { of: [1, 2, { x: true }] } },
      },
    ],
  };
  expect(JSON.parse(printPlan(document))).toEqual(document);
});
