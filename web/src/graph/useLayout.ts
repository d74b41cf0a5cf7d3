import { useEffect, useState } from 'react';
import type { LayoutAnswer, LayoutRequest } from './layers';

const AGAIN_MS = 1_000;

interface Asked {
  request: LayoutRequest;
  then: (answer: LayoutAnswer) => void;
}

let worker: Worker | undefined;
let asked = 0;
const waiting = new Map<number, Asked>();

/** Have the worker ready while the first plan is on its way. */
export const prepareLayout = (): void => void (worker ??= start());

/** Start the worker. Its script may not come, while the server is away: then it is asked for again. */
function start(): Worker {
  const started = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
  started.onmessage = (event: MessageEvent<LayoutAnswer>) => {
    waiting.get(event.data.id)?.then(event.data);
    waiting.delete(event.data.id);
  };
  started.onerror = (event) => {
    if (event instanceof ErrorEvent) return; // its script came, and has a fault
    started.terminate();
    window.setTimeout(() => {
      worker = start();
      for (const { request } of waiting.values()) worker.postMessage(request);
    }, AGAIN_MS);
  };
  return started;
}

function ask(request: Omit<LayoutRequest, 'id'>, then: (answer: LayoutAnswer) => void): () => void {
  worker ??= start();
  asked += 1;
  const id = asked;
  waiting.set(id, { request: { ...request, id }, then });
  worker.postMessage({ ...request, id });
  return () => waiting.delete(id);
}

/** Return the places of the steps once the worker has them; the former ones until then. */
export function useLayout(
  nodes: string[],
  edges: [string, string][],
  direction: 'LR' | 'TB',
): LayoutAnswer | undefined {
  const [answer, setAnswer] = useState<LayoutAnswer>();
  const key = JSON.stringify([nodes, edges, direction]);
  useEffect(() => {
    const [names, pairs, way] = JSON.parse(key) as [string[], [string, string][], 'LR' | 'TB'];
    return ask({ nodes: names, edges: pairs, direction: way }, setAnswer);
  }, [key]);
  return answer;
}
