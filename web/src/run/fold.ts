// The steps of a run: what the server said, and every event since. The state of the run itself is what
// the server says: an event that may change it makes the view stale, and the page asks.
import { bare } from '../parts/bare';
import type { Doubt, RunEvent, RunOut, StepOut } from '../api/types';

export interface Span {
  step: string;
  item: number | null;
  from: number;
  to: number | null;
}

export interface RunView {
  seq: number;
  steps: Record<string, StepOut>;
  progress: Record<string, { done: number; total: number | null; message: string }>;
  /** Something changed that only the server can say: the state of the run, outputs, what may be done next. */
  stale: number;
}

/** The position of an event that is not in the journal. */
export const PROGRESS = -1;

export const pendingStep: StepOut = {
  state: 'pending',
  output: null,
  output_left_out: false,
  error: null,
  started_at: null,
  ended_at: null,
  attempts: 0,
  items: null,
  items_done: 0,
  items_failed: 0,
  doubts: [],
};

export function viewOf(run: RunOut): RunView {
  return {
    seq: run.seq,
    steps: bare(run.steps),
    progress: bare({}),
    stale: 0,
  };
}

/**
 * Return `view` after events. Those that it has already had are dropped, so none counts twice; an event
 * that is not the next one is not taken, so none is missed: `hasGap` says so.
 */
export function fold(view: RunView, events: RunEvent[]): RunView {
  let next = view;
  let steps: Record<string, StepOut> | null = null;
  for (const event of events) {
    if (event.seq !== next.seq && event.seq !== PROGRESS) continue;
    if (next === view) next = { ...view };
    steps ??= bare(view.steps);
    if (event.seq !== PROGRESS) next.seq = event.seq + 1;
    applyOne(next, steps, event);
  }
  if (steps) next.steps = steps;
  return next;
}

/** Return whether events between `view` and `last`, the newest that has come, are not in it. */
export const hasGap = (view: RunView, last: number): boolean => last >= view.seq;

export const kindOf = (event: RunEvent): string =>
  event.kind.replaceAll(/[^a-z]/gi, '').toLowerCase();

function applyOne(view: RunView, steps: Record<string, StepOut>, event: RunEvent): void {
  switch (kindOf(event)) {
    case 'runstarted':
      for (const name of event.steps ?? []) steps[name] = pendingStep;
      view.stale += 1;
      return;
    case 'runresumed':
      for (const [name, step] of Object.entries(steps)) steps[name] = resumed(step);
      view.stale += 1;
      return;
    case 'plansettled':
    case 'runwaiting':
    case 'approvalstaged':
    case 'runapproved':
    case 'runparked':
    case 'runended':
      view.stale += 1;
      return;
  }
  if (event.step === null || event.step === undefined) return;
  const before = steps[event.step] ?? pendingStep;
  steps[event.step] = applyToStep(before, event);
  if (kindOf(event) === 'stepprogressed') {
    view.progress = bare(view.progress);
    view.progress[event.step] = {
      done: Number(event.done ?? 0),
      total: event.total == null ? null : Number(event.total),
      message: event.message ?? '',
    };
  }
  if (['callindoubt', 'calldecided', 'callwaiting', 'consentgiven'].includes(kindOf(event)))
    view.stale += 1;
}

function applyToStep(step: StepOut, event: RunEvent): StepOut {
  const failure = event.failure ?? null;
  switch (kindOf(event)) {
    case 'steparrived':
      return pendingStep;
    case 'stepstarted':
      return { ...step, state: 'running', started_at: event.at, items: event.items ?? null };
    case 'attemptfailed':
      return { ...step, attempts: event.attempt ?? step.attempts };
    case 'itemended':
      return {
        ...step,
        items_done: step.items_done + 1,
        items_failed: step.items_failed + (failure ? 1 : 0),
      };
    case 'callindoubt': {
      const doubt: Doubt = {
        step: event.step ?? '',
        item: event.item ?? null,
        attempt: event.attempt ?? 0,
        tool: event.tool ?? '',
        args: event.args ?? null,
        failure: failure ?? { code: '', message: '', pointer: '' },
        result: null,
      };
      return { ...step, state: 'in_doubt', error: failure, doubts: [...step.doubts, doubt] };
    }
    case 'calldecided': {
      const doubts = step.doubts.filter((each) => each.item !== (event.item ?? null));
      return { ...step, state: doubts.length ? 'in_doubt' : 'running', doubts };
    }
    case 'callwaiting':
      return { ...step, state: 'waiting' };
    case 'consentgiven':
      return { ...step, state: 'running' };
    case 'stepsucceeded':
      return {
        ...step,
        state: 'succeeded',
        attempts: event.attempts ?? step.attempts,
        error: failure,
        ended_at: event.at,
        output_left_out: true,
      };
    case 'stepfailed':
      return {
        ...step,
        state: 'failed',
        error: failure,
        attempts: event.attempts ?? step.attempts,
        ended_at: event.at,
      };
    case 'stepskipped':
      return { ...step, state: 'skipped', error: failure, ended_at: event.at };
    case 'stepcancelled':
      return { ...step, state: 'cancelled', ended_at: event.at };
    default:
      return step;
  }
}

function resumed(step: StepOut): StepOut {
  if (['succeeded', 'failed', 'skipped', 'waiting'].includes(step.state)) return step;
  return {
    ...pendingStep,
    items: step.items,
    items_done: step.items_done,
    items_failed: step.items_failed,
  };
}

/** Return the chain of steps that ended last, each after the last of those that it needed. */
export function criticalPath(
  steps: Record<string, StepOut>,
  needs: Map<string, string[]>,
): string[] {
  const end = (name: string): number => steps[name]?.ended_at ?? -Infinity;
  const latest = (names: string[]): string | undefined =>
    names.reduce<string | undefined>(
      (best, name) => (end(name) > (best === undefined ? -Infinity : end(best)) ? name : best),
      undefined,
    );
  const path: string[] = [];
  let at = latest(Object.keys(steps).filter((name) => steps[name]?.started_at != null));
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = latest((needs.get(at) ?? []).filter((name) => steps[name]?.started_at != null));
  }
  return path.reverse();
}
