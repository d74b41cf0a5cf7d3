import { useEffect, useState } from 'react';
import type { LayoutAnswer, LayoutRequest } from './layers';

let worker: Worker | undefined;
let asked = 0;
const waiting = new Map<number, (answer: LayoutAnswer) => void>();

function ask(request: Omit<LayoutRequest, 'id'>, then: (answer: LayoutAnswer) => void): () => void {
  if (worker === undefined) {
    worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (event: MessageEvent<LayoutAnswer>) => {
      waiting.get(event.data.id)?.(event.data);
      waiting.delete(event.data.id);
    };
  }
  asked += 1;
  const id = asked;
  waiting.set(id, then);
  worker.postMessage({ ...request, id });
  return () => waiting.delete(id);
}

/** Return the places of the steps once the worker has them; the former ones until then. */
export function useLayout(nodes: string[], edges: [string, string][], direction: 'LR' | 'TB'): LayoutAnswer | undefined {
  const [answer, setAnswer] = useState<LayoutAnswer>();
  const key = JSON.stringify([nodes, edges, direction]);
  useEffect(() => {
    const [names, pairs, way] = JSON.parse(key) as [string[], [string, string][], 'LR' | 'TB'];
    return ask({ nodes: names, edges: pairs, direction: way }, setAnswer);
  }, [key]);
  return answer;
}
