// JSON whose numbers stay as they were written. JavaScript alone rounds 9007199254740993, and takes 1.0 for 1.
import type { Json } from '../plan/plan';

interface SourceJson {
  rawJSON: (text: string) => unknown;
  parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown;
}
const sources = JSON as unknown as SourceJson;

/** A number that JavaScript would print otherwise: it calculates like any number, and is shown and sent as written. */
export class ExactNumber extends Number {
  constructor(readonly source: string) {
    super(source);
  }

  override toString(): string {
    return this.source;
  }

  toJSON(): unknown {
    return sources.rawJSON(this.source);
  }
}

/** Return whether this browser can read and write numbers as they stand; the page does not work without. */
export const keepsNumbers = (): boolean => typeof sources.rawJSON === 'function';

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const isPlain = (source: string): boolean => String(Number(source)) === source;

/** Return whether a number of this text would change. Numbers in strings are texts. */
function hasExact(text: string): boolean {
  for (const [token] of text.matchAll(TOKEN))
    if (!token.startsWith('"') && !isPlain(token)) return true;
  return false;
}

/** Parse JSON. Most texts take the short way: a function for each value takes ten times as long. */
export function parseJson(text: string): Json {
  if (!hasExact(text)) return JSON.parse(text) as Json;
  return sources.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isPlain(source)
      ? new ExactNumber(source)
      : value,
  ) as Json;
}

export const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === 'number' || value instanceof ExactNumber;
