// Large parts whose scripts come when they are first shown: the first page is small.
import { lazy, Suspense, type ComponentType } from 'react';
import type { PlanEditorProps } from '../editor/PlanEditor';
import type { PlanGraphProps } from '../graph/PlanGraph';
import { texts } from '../texts';
import type { ChartProps } from './Chart';

const AGAIN_MS = 1_000;

/**
 * Load a script. It may not come, while the server is away: then it is asked for again, as often as it takes.
 *
 * Chromium remembers that a script did not come, and names it in the error: with a query it is another one.
 */
async function loaded<T>(load: () => Promise<T>): Promise<T> {
  let next = load;
  for (let count = 1; ; count += 1) {
    try {
      return await next();
    } catch (error) {
      const address = URL.parse(/https?:\S+\.js/.exec(String(error))?.[0] ?? '');
      if (address?.origin === window.location.origin) {
        next = () => import(/* @vite-ignore */ `${address.href}?${count}`) as Promise<T>;
      }
      await new Promise((again) => window.setTimeout(again, AGAIN_MS));
    }
  }
}

function later<Props extends object>(
  load: () => Promise<object>,
  name: string,
): ComponentType<Props> {
  const Part = lazy(async () => ({
    default: (await loaded(load))[name as never] as ComponentType<object>,
  }));
  return function Later(props: Props) {
    return (
      <Suspense fallback={<p className="muted pad">{texts.common.loading}</p>}>
        <Part {...props} />
      </Suspense>
    );
  };
}

const graph = () => import('../graph/PlanGraph');

export const PlanGraph = later<PlanGraphProps>(graph, 'PlanGraph');
export const PlanEditor = later<PlanEditorProps>(
  () => import('../editor/PlanEditor'),
  'PlanEditor',
);
export const Chart = later<ChartProps>(() => import('./Chart'), 'Chart');

/** Have the graph ready before the first plan comes. */
export const prepareGraph = (): void => void loaded(graph);
