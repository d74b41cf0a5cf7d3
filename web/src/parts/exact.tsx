// Text from tools, models and plans: shown as text, with what cannot be seen made visible.
import { useState } from 'react';
import type { Json } from '../plan/plan';
import { texts } from '../texts';

// Controls, zero-width and bidi characters, tags, fillers and private use: each could hide a part
// of what a person approves.
export const HIDDEN =
  // eslint-disable-next-line no-control-regex, no-misleading-character-class -- these it finds
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ue000-\uf8ff]|[\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/gu;
const MOST_SHOWN = 600;

export interface Piece {
  text: string;
  code?: string;
}

/** Split text into what is seen and the codes of what is not. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > last) found.push({ text: text.slice(last, match.index) });
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    found.push({ text: match[0], code: `U+${code}` });
    last = match.index + match[0].length;
  }
  if (last < text.length) found.push({ text: text.slice(last) });
  return found;
}

/** Replace hidden characters in text that has no marks: attributes, labels, canvas. */
export const plain = (text: string, most = 200): string => {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return pieces(cut)
    .map((each) => (each.code ? `‹${each.code}›` : each.text))
    .join('');
};

/** JSON for a person to correct: hidden characters are escapes of JSON, so it is the same value. */
export const visibleJson = (value: Json): string =>
  (JSON.stringify(value, null, 1) ?? 'null').replaceAll(HIDDEN, (found) =>
    Array.from(
      { length: found.length },
      (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

/** Text of others. Long text is cut with a button to show all of it; `whole` never cuts. */
export function Exact({
  text,
  whole = false,
  most = MOST_SHOWN,
}: {
  text: string;
  whole?: boolean;
  most?: number;
}) {
  const [isOpen, setOpen] = useState(false);
  const isCut = !whole && !isOpen && text.length > most;
  return (
    <>
      <bdi className="exact">
        {pieces(isCut ? text.slice(0, most) : text).map((each, index) =>
          each.code ? (
            <span key={index} className="hidden-char" title={texts.common.hidden(each.code)}>
              {each.code}
            </span>
          ) : (
            each.text
          ),
        )}
        {isCut ? '…' : ''}
      </bdi>
      {isCut && (
        <button type="button" className="link" onClick={() => setOpen(true)}>
          {texts.common.whole(text.length)}
        </button>
      )}
    </>
  );
}

const SCRIPTS: [string, RegExp][] = [
  ['Cyrillic', /\p{Script=Cyrillic}/u],
  ['Greek', /\p{Script=Greek}/u],
  ['Armenian', /\p{Script=Armenian}/u],
  ['Cherokee', /\p{Script=Cherokee}/u],
];

/** Return words that mix Latin letters with those of a script that looks alike. */
export function lookalikes(text: string): string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (!/\p{Script=Latin}/u.test(word)) continue;
    for (const [name, script] of SCRIPTS) {
      for (const letter of word)
        if (script.test(letter)) found.add(`${letter} (${name}) in “${word.slice(0, 40)}”`);
    }
  }
  return [...found];
}
