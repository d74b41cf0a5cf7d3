import { expect, it } from 'vitest';
import type { RunEvent } from '../api/types';
import { criticalPath, fold, hasGap, PROGRESS, pendingStep, type RunView } from './fold';

const empty: RunView = { seq: 0, steps: {}, progress: {}, stale: 0 };

let seq = 0;
const event = (kind: string, more: Partial<RunEvent> = {}): RunEvent =>
  ({ kind, seq: seq++, at: seq, ...more }) as RunEvent;

const story = (): RunEvent[] => {
  seq = 0;
  return [
    event('run-started', { steps: ['a', 'b'] }),
    event('step-started', { step: 'a', items: 2 }),
    event('item-ended', { step: 'a', item: 0 }),
    event('item-ended', {
      step: 'a',
      item: 1,
      failure: { code: 'tool-error', message: 'no', pointer: '' },
    }),
    event('step-succeeded', { step: 'a', attempts: 1 }),
    event('step-started', { step: 'b' }),
    event('call-in-doubt', {
      step: 'b',
      failure: { code: 'lost', message: 'lost', pointer: '' },
      tool: 't',
      args: { x: 1 },
    }),
    event('run-parked', { status: 'in_doubt' }),
  ];
};

it('follows a run to a call in doubt', () => {
  const view = fold(empty, story());
  expect(view.steps['a']).toMatchObject({
    state: 'succeeded',
    items: 2,
    items_done: 2,
    items_failed: 1,
  });
  expect(view.steps['b']).toMatchObject({
    state: 'in_doubt',
    doubts: [{ tool: 't', args: { x: 1 } }],
  });
  // the state of the run is what the server says: it is asked again
  expect(view.stale).toBeGreaterThan(fold(empty, story().slice(0, -1)).stale);
});

it('counts no event twice, whatever comes again after a break', () => {
  const events = story();
  const once = fold(empty, events);
  for (let cut = 0; cut <= events.length; cut += 1) {
    const again = fold(fold(empty, events.slice(0, cut)), events);
    expect(again).toEqual(once);
  }
});

it('takes no event before those that come ahead of it, and says that they are missing', () => {
  const events = story();
  const older = fold(empty, events.slice(0, 2));
  const view = fold(older, events.slice(4));
  expect(view).toBe(older);
  expect(hasGap(view, 7)).toBe(true);
  expect(hasGap(fold(view, events.slice(2)), 7)).toBe(false);
});

it('progress has no place in the journal and moves none', () => {
  const view = fold(fold(empty, story().slice(0, 2)), [
    { ...event('step-progressed', { step: 'a', done: 3, message: 'm' }), seq: PROGRESS },
  ]);
  expect(view.seq).toBe(2);
  expect(view.progress['a']).toEqual({ done: 3, total: null, message: 'm' });
});

it('a resumed run keeps what is over and counts items on', () => {
  const view = fold(fold(empty, story()), [event('run-resumed')]);
  expect(view.steps['a']?.state).toBe('succeeded');
  expect(view.steps['b']).toEqual(pendingStep);
});

it('calls that wait go on waiting in a resumed run: the journal does not write them again', () => {
  const waiting = { ...pendingStep, state: 'waiting' as const, items: 2 };
  const view = fold({ ...empty, steps: { a: waiting } }, [event('run-resumed')]);
  expect(view.steps['a']).toEqual(waiting);
});

it('the critical path goes back from the last step, each time to the one that ended last', () => {
  const step = (from: number, to: number) => ({ ...pendingStep, started_at: from, ended_at: to });
  const steps = { a: step(0, 1), b: step(0, 5), c: step(5, 6), d: step(1, 2) };
  const needs = new Map([
    ['c', ['a', 'b']],
    ['d', ['a']],
  ]);
  expect(criticalPath(steps, needs)).toEqual(['b', 'c']);
});

it('keeps steps that are named as parts of every object', () => {
  seq = 0;
  const names = ['__proto__', 'constructor', 'toString'];
  const view = fold(empty, [
    event('run-started', { steps: names }),
    ...names.map((step) => event('step-started', { step })),
    event('step-progressed', { seq: PROGRESS, step: '__proto__', done: 1, total: 2, message: 'm' }),
  ]);
  expect(Object.keys(view.steps)).toEqual(names);
  for (const name of names) expect(view.steps[name]).toMatchObject({ state: 'running' });
  expect(view.progress['__proto__']).toMatchObject({ done: 1 });
  expect(view.progress['constructor']).toBeUndefined();
});
