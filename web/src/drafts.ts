// What a person is writing, kept in this browser: a reload loses no question and no edit.
import { useCallback, useSyncExternalStore } from 'react';
import { parseJson } from './api/exact-json';
import type { Difference, Proposed } from './api/types';

export interface Draft {
  id: string;
  question: string;
  conversation: string;
  earlier: string[];
  proposed: Proposed | null;
  /** From the plan of an earlier run, where it is to replace that one. */
  difference: Difference | null;
  /** The plan as edited; null while it is as planned. */
  text: string | null;
  at: number;
}

const PREFIX = 'toolplan.draft.';
const MOST = 30;
const listeners = new Set<() => void>();
const memory = new Map<string, string>();

export const newId = (size = 8): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(size));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
};

export const emptyDraft = (id = newId()): Draft => ({
  id,
  question: '',
  conversation: `studio-${newId()}`,
  earlier: [],
  proposed: null,
  difference: null,
  text: null,
  at: Date.now(),
});

function read(id: string): string | null {
  const held = memory.get(id);
  if (held !== undefined) return held;
  try {
    return localStorage.getItem(PREFIX + id);
  } catch {
    return null;
  }
}

export function loadDraft(id: string): Draft {
  try {
    const found = parseJson(read(id) ?? 'null') as unknown as Partial<Draft> | null;
    return found === null ? emptyDraft(id) : { ...emptyDraft(id), ...found, id };
  } catch {
    return emptyDraft(id);
  }
}

export function saveDraft(draft: Draft): void {
  const text = JSON.stringify({ ...draft, at: Date.now() });
  memory.set(draft.id, text);
  // a full store keeps this draft rather than older ones
  for (const most of [MOST, 5, 0]) {
    try {
      dropOldest(most);
      localStorage.setItem(PREFIX + draft.id, text);
      break;
    } catch {
      // full, or forbidden: then the draft lives as long as the page
    }
  }
  listeners.forEach((each) => each());
}

function dropOldest(most: number): void {
  const kept: { key: string; at: number }[] = [];
  for (let index = 0; index < localStorage.length; index += 1) {
    const key = localStorage.key(index);
    if (!key?.startsWith(PREFIX)) continue;
    const at = /"at":(\d+)\}$/.exec(localStorage.getItem(key) ?? '')?.[1];
    kept.push({ key, at: Number(at ?? 0) });
  }
  kept.sort((one, other) => other.at - one.at);
  for (const { key } of kept.slice(most)) localStorage.removeItem(key);
}

export function useDraft(id: string): [Draft, (changes: Partial<Draft>) => void] {
  const subscribe = useCallback((changed: () => void) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, []);
  const text = useSyncExternalStore(subscribe, () => read(id));
  const draft = useCached(id, text);
  const change = useCallback(
    (changes: Partial<Draft>) => saveDraft({ ...loadDraft(id), ...changes }),
    [id],
  );
  return [draft, change];
}

const cached = new Map<string, { text: string | null; draft: Draft }>();

function useCached(id: string, text: string | null): Draft {
  const held = cached.get(id);
  if (held && held.text === text) return held.draft;
  const draft = loadDraft(id);
  cached.set(id, { text, draft });
  return draft;
}

const values = new Map<string, string | null>();

/** Return a small value that the page has kept in this browser. */
export function remembered(key: string): string | null {
  const held = values.get(key);
  if (held !== undefined) return held;
  try {
    return localStorage.getItem(`toolplan.${key}`);
  } catch {
    return null;
  }
}

/** Keep one small value of the page in this browser. */
export function remember(key: string, value: string | null): void {
  try {
    values.delete(key);
    if (value === null) localStorage.removeItem(`toolplan.${key}`);
    else localStorage.setItem(`toolplan.${key}`, value);
  } catch {
    values.set(key, value); // full, or forbidden: the value lives as long as the page
  }
}
