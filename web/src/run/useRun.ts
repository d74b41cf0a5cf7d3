import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { client } from '../api/client';
import { parseJson } from '../api/exact-json';
import type { RunEvent, RunOut } from '../api/types';
import { fold, hasGap, PROGRESS, viewOf, type RunView } from './fold';

export type Connection = 'live' | 'polled' | 'again' | 'done';

const DRAW_MS = 100;
const AGAIN_MS = 1_000;
const POLL_MS = 2_000;
/** While events come: whoever works on the run may have died, which is no event. */
const LOOK_MS = 5_000;

const isOver = (state: string): boolean =>
  ['succeeded', 'failed', 'cancelled', 'refused'].includes(state);

export const runQuery = (id: string) => ({
  queryKey: ['run', id],
  queryFn: () => client.oneRun(id),
});

/**
 * The run as it is now: one answer of the server, then its events; it connects again by itself.
 *
 * A browser opens six connections to a host, so one page of it has the events of a run that works; all
 * others ask every two seconds.
 */
export function useRun(id: string): {
  run: RunOut | undefined;
  view: RunView | undefined;
  error: Error | null;
  connection: Connection;
} {
  const queries = useQueryClient();
  const [live, setLive] = useState<{ base: RunOut; view: RunView }>();
  const [stream, setStream] = useState<'live' | 'again'>('again');
  const known = queries.getQueryData<RunOut>(runQuery(id).queryKey);
  const isFirst = useFirst(known?.line.state === 'running');
  const {
    data: run,
    error,
    failureCount,
  } = useQuery({
    ...runQuery(id),
    refetchInterval: ({ state: { data } }) =>
      data && isOver(data.line.state) ? false : isFirst ? LOOK_MS : POLL_MS,
  });
  const base = useMemo(() => (run ? viewOf(run) : undefined), [run]);
  const view = live && live.base === run ? live.view : base;
  const current = useRef<{ run: RunOut; view: RunView } | undefined>(undefined);
  useLayoutEffect(() => {
    current.current = run && view ? { run, view } : undefined;
  });
  const received = useRef(-1);
  const [opened, setOpened] = useState(0);
  const isKnown = run !== undefined;
  const state = run?.line.state;

  // An answer may be older than the events that came while it was on its way: they are asked for again.
  useEffect(() => {
    if (run && hasGap(viewOf(run), received.current)) setOpened((count) => count + 1);
  }, [run]);

  useEffect(() => {
    received.current = -1;
    if (!isKnown || !isFirst) return undefined;
    let queue: RunEvent[] = [];
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      const held = current.current;
      if (!held || queue.length === 0) return;
      const next = fold(held.view, queue);
      queue = [];
      if (hasGap(next, received.current)) setOpened((count) => count + 1);
      if (next === held.view) return;
      current.current = { run: held.run, view: next };
      setLive({ base: held.run, view: next });
      if (next.stale !== held.view.stale) void queries.invalidateQueries({ queryKey: ['run', id] });
    };
    const take = (event: MessageEvent<string>): void => {
      const found = parseJson(event.data) as unknown as RunEvent;
      // progress is not in the journal, so it has no position of its own
      queue.push(event.type === 'progress' ? { ...found, seq: PROGRESS } : found);
      if (event.type !== 'progress') received.current = Math.max(received.current, found.seq);
      // one drawing for all events of a tenth of a second
      if (frame === 0) frame = window.setTimeout(flush, DRAW_MS);
    };
    let source: EventSource;
    let again = 0;
    let wasLost = false;
    const open = (): void => {
      source = new EventSource(client.eventsOf(id, current.current?.view.seq ?? 0));
      source.addEventListener('open', () => {
        setStream('live');
        // the server may have been started again: what may be done next is not in events
        if (wasLost) void queries.invalidateQueries({ queryKey: ['run', id] });
        wasLost = false;
      });
      source.addEventListener('event', take as EventListener);
      source.addEventListener('progress', take as EventListener);
      source.addEventListener('error', () => {
        setStream('again');
        wasLost = true;
        // a server that answers with an error closes the stream for good: open another one
        if (source.readyState === EventSource.CLOSED) again = window.setTimeout(open, AGAIN_MS);
        void queries.invalidateQueries({ queryKey: ['run', id] });
      });
    };
    open();
    return () => {
      source.close();
      window.clearTimeout(again);
      if (frame) window.clearTimeout(frame);
    };
  }, [id, isKnown, isFirst, opened, queries]);

  const connection =
    state && isOver(state) ? 'done' : isFirst ? stream : failureCount > 0 ? 'again' : 'polled';
  return { run, view, error, connection };
}

/** Return whether this page is the one of the browser that has a stream; the next one follows it. */
function useFirst(isWanted: boolean): boolean {
  const [isFirst, setFirst] = useState(false);
  useEffect(() => {
    // without a secure address there are no locks: then all pages ask
    if (!isWanted || !('locks' in navigator)) return undefined;
    const stop = new AbortController();
    let release = (): void => undefined;
    const held = (): Promise<void> =>
      new Promise((resolve) => {
        release = resolve;
        setFirst(true);
      });
    navigator.locks
      .request('toolplan.stream', { signal: stop.signal }, held)
      .catch(() => undefined);
    return () => {
      stop.abort();
      release();
      setFirst(false);
    };
  }, [isWanted]);
  return isFirst;
}
