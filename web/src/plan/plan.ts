// A plan as JSON, as far as the page reads it: its steps and what they refer to.

import { ExactNumber, parseJson } from '../api/exact-json';

export type Json =
  null | boolean | number | ExactNumber | string | Json[] | { [key: string]: Json };

export interface PlanStep {
  id: string;
  tool: string;
  args: Record<string, Json>;
  forEach: Json | undefined;
  when: Json | undefined;
  thought: string | undefined;
  needs: string[];
}

export interface PlanView {
  steps: PlanStep[];
  metadata: Record<string, Json>;
}

export interface Understood {
  /** JSON pointer of the argument, as /steps/0/args/status. */
  pointer: string;
  step: string;
  argument: string;
  value: Json | undefined;
  text: string;
}

export const isObject = (value: unknown): value is Record<string, Json> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Return the ids of steps that text refers to: ${id…}; `$${` is a plain `${`. */
export function refsOfText(text: string): string[] {
  const found: string[] = [];
  for (const match of text.matchAll(/(\$*)\$\{([A-Za-z0-9_][A-Za-z0-9_-]{0,63})/g)) {
    if ((match[1] ?? '').length % 2 === 0 && match[2]) found.push(match[2]);
  }
  return found;
}

/** Return the ids that `value` refers to, without repetition. */
export function refsOf(value: Json | undefined): string[] {
  const found = new Set<string>();
  const stack: (Json | undefined)[] = [value];
  while (stack.length) {
    const part = stack.pop();
    if (typeof part === 'string') refsOfText(part).forEach((id) => found.add(id));
    else if (Array.isArray(part)) stack.push(...part);
    else if (isObject(part)) stack.push(...Object.values(part));
  }
  return [...found];
}

/** Read a plan leniently: what has no id is left out, so that a plan shows while it is written. */
export function readPlan(document: Json | undefined): PlanView {
  if (!isObject(document)) return { steps: [], metadata: {} };
  const listed = Array.isArray(document['steps']) ? document['steps'] : [];
  const steps: PlanStep[] = [];
  const seen = new Set<string>();
  for (const each of listed) {
    if (!isObject(each)) continue;
    const id = textOf(each['id']);
    if (id === undefined || id === '' || seen.has(id)) continue;
    seen.add(id);
    const after = Array.isArray(each['after'])
      ? each['after'].filter((a): a is string => typeof a === 'string')
      : [];
    const needs = [
      ...refsOf(each['args']),
      ...refsOf(each['for_each']),
      ...refsOf(each['when']),
      ...after,
    ];
    steps.push({
      id,
      tool: textOf(each['tool']) ?? '',
      args: isObject(each['args']) ? each['args'] : {},
      forEach: each['for_each'],
      when: each['when'],
      thought: textOf(each['thought']),
      needs: [...new Set(needs)].filter(
        (name) => name !== id && name !== 'item' && name !== 'index',
      ),
    });
  }
  for (const step of steps) step.needs = step.needs.filter((name) => seen.has(name));
  const metadata = isObject(document['metadata']) ? document['metadata'] : {};
  return { steps, metadata };
}

/** Return the value at a JSON Pointer, undefined where there is none. */
export function at(document: Json | undefined, pointer: string): Json | undefined {
  let here: Json | undefined = document;
  for (const raw of pointer.split('/').slice(1)) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(here)) here = here[Number(key)];
    else if (isObject(here)) here = Object.hasOwn(here, key) ? here[key] : undefined;
    else return undefined;
  }
  return here;
}

/** Return which words of the question became which arguments, from the plan's provenance. */
export function understood(document: Json | undefined): Understood[] {
  const provenance =
    isObject(document) && isObject(document['metadata'])
      ? document['metadata']['provenance']
      : undefined;
  if (!isObject(provenance)) return [];
  const found: Understood[] = [];
  for (const [pointer, origin] of Object.entries(provenance)) {
    const place = /^\/steps\/(\d+)\/(?:args\/)?(.*)$/.exec(pointer);
    if (!place || !isObject(origin) || typeof origin['text'] !== 'string') continue;
    const step = at(document, `/steps/${place[1]}/id`);
    found.push({
      pointer,
      step: typeof step === 'string' ? step : '',
      argument: (place[2] ?? '').replaceAll('~1', '/').replaceAll('~0', '~'),
      value: at(document, pointer),
      text: origin['text'],
    });
  }
  return found;
}

export function parseText(text: string): { document?: Json; error?: string } {
  try {
    return { document: parseJson(text) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Return JSON as a plan is printed: steps by lines, short values on one line. */
export function printPlan(document: Json): string {
  return pretty(document, '', 88);
}

function pretty(value: Json, indent: string, width: number): string {
  const flat = inline(value);
  const isRoot = indent === '';
  const inner = indent + '  ';
  if (!isRoot && flat.length + indent.length <= width) return flat;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((each) => inner + pretty(each, inner, width)).join(',\n')}\n${indent}]`;
  }
  if (!isObject(value)) return flat;
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  return `{\n${entries.map(([key, each]) => `${inner}${JSON.stringify(key)}: ${pretty(each, inner, width)}`).join(',\n')}\n${indent}}`;
}

function inline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, each]) => `${JSON.stringify(key)}: ${inline(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}
