import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../api/exact-json';
import { Exact, lookalikes, pieces, plain, visibleJson } from './exact';

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

function rendered(text: string, whole = false): HTMLElement {
  const box = document.createElement('div');
  act(() => createRoot(box).render(<Exact text={text} whole={whole} />));
  return box;
}

describe('text of others', () => {
  it.each([
    '\u202e',
    '\u200b',
    '\u2066',
    '\u0000',
    '\u001b',
    '\ufeff',
    '\u00ad',
    '\u{e0041}',
    '\ue000',
    '\u3164',
  ])('%j is shown by its code', (hidden) => {
    const found = pieces(`a${hidden}b`);
    expect(found.map((each) => each.code !== undefined)).toEqual([false, true, false]);
    expect(plain(`a${hidden}b`)).not.toContain(hidden);
  });

  it('stays as it is where it can be seen', () => {
    const text = 'Grüße, 你好 שלום\n\t– 👍';
    expect(pieces(text)).toEqual([{ text }]);
  });

  it('is text, whatever markup it has', () => {
    const box = rendered('<img src=x onerror="boom()"><script>boom()</script>');
    expect(box.querySelector('img, script')).toBeNull();
    expect(box.textContent).toContain('<script>');
  });

  it('is cut where it is long, and never where a person approves it', () => {
    const long = 'x'.repeat(5000);
    expect(rendered(long).querySelector('button')).not.toBeNull();
    expect(rendered(long, true).textContent).toBe(long);
  });
});

describe('letters that look like others', () => {
  it('are named where they are mixed with Latin', () => {
    expect(lookalikes('pаypal')).toHaveLength(1);
    expect(lookalikes('Москва and Paris, Ελλάδα')).toEqual([]);
  });
});

describe('JSON to correct', () => {
  it.each(['{"a":"\u202etxt\u2066","b":[9007199254740993,1.0]}', '"\u{e0041}\u2800"', 'null'])(
    '%j has no hidden character, and is the same value',
    (text) => {
      const found = visibleJson(parseJson(text));
      expect(pieces(found).every((each) => each.code === undefined)).toBe(true);
      expect(JSON.stringify(parseJson(found))).toBe(text);
    },
  );
});
