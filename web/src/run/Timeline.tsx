import { useEffect, useState } from 'react';
import { Icon } from '../parts/Icon';
import { Exact, plain } from '../parts/exact';
import { seconds, texts } from '../texts';
import type { RunOut } from '../api/types';
import type { RunView } from './fold';

const words = texts.run;
const MOST = 100;

interface TimelineProps {
  run: RunOut;
  view: RunView;
  critical: string[];
  chosen: string | undefined;
  onChoose: (step: string) => void;
}

/** One bar a step, by time; the steps that the run waited for are marked. */
export function Timeline({ run, view, critical, chosen, onChoose }: TimelineProps) {
  const isRunning = run.line.state === 'running'; // else no clock goes on
  const now = useNow(isRunning);
  const [most, setMost] = useState(MOST);
  const from = run.started_at ?? 0;
  const all = Object.values(view.steps);
  const last = Math.max(
    from + 0.001,
    ...all.map((each) => each.ended_at ?? each.started_at ?? 0),
    isRunning ? now : 0,
    run.ended_at ?? 0,
  );
  const width = last - from;
  const onPath = new Set(critical);
  const names = run.graph.nodes
    .map((each) => each.id)
    .filter((name) => view.steps[name] !== undefined);
  const share = (at: number): number => Math.min(100, Math.max(0, ((at - from) / width) * 100));
  return (
    <div className="timeline">
      <table>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">{texts.common.step}</th>
            <th scope="col">{texts.runs.state}</th>
            <th scope="col">{words.took}</th>
          </tr>
        </thead>
        <tbody>
          {names.slice(0, most).map((name) => {
            const step = view.steps[name];
            if (!step) return null;
            const end =
              step.ended_at ??
              (isRunning && step.state === 'running' ? now : (step.started_at ?? 0));
            const start = step.started_at;
            const progress = view.progress[name];
            return (
              <tr
                key={name}
                title={plain(run.step_notes[step.state] ?? '')}
                className={[
                  onPath.has(name) ? 'is-critical' : '',
                  chosen === name ? 'is-chosen' : '',
                ].join(' ')}
              >
                <th scope="row">
                  <button type="button" className="link" onClick={() => onChoose(name)}>
                    <Icon name={step.state} />
                    <Exact text={name} most={60} />
                  </button>
                </th>
                <td>
                  <span className="visually-hidden">
                    {texts.states[step.state]}. {plain(run.step_notes[step.state] ?? '')}
                    {onPath.has(name) ? ` (${words.critical})` : ''}
                  </span>
                  <svg
                    className="bar"
                    width="100%"
                    height="18"
                    aria-hidden="true"
                    focusable="false"
                  >
                    {start !== null && (
                      <>
                        <rect className="wait" x="0" y="7" height="4" width={`${share(start)}%`} />
                        <rect
                          className={`work state-${step.state}`}
                          x={`${share(start)}%`}
                          y="2"
                          height="14"
                          rx="3"
                          width={`${Math.max(0.6, share(end) - share(start))}%`}
                        />
                      </>
                    )}
                  </svg>
                  {progress && step.state === 'running' && (
                    <span className="muted small">
                      {progress.total === null
                        ? progress.done
                        : words.of(progress.done, progress.total)}{' '}
                      <Exact text={progress.message} most={120} />
                    </span>
                  )}
                </td>
                <td className="number">
                  {step.items !== null && (
                    <span className="muted">{words.of(step.items_done, step.items)} · </span>
                  )}
                  {start === null || (step.ended_at === null && !isRunning)
                    ? '–'
                    : seconds(Math.max(0, end - start))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {names.length > most && (
        <button type="button" className="quiet" onClick={() => setMost(most + 5 * MOST)}>
          {words.more(Math.min(names.length - most, 5 * MOST))}
        </button>
      )}
      <p className="legend muted small">
        <span className="key wait" /> {words.waiting}
        <span className="key work" /> {words.working}
        <span className="key critical" /> {words.critical}
      </p>
    </div>
  );
}

function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = window.setInterval(() => setNow(Date.now() / 1000), 250);
    return () => window.clearInterval(timer);
  }, [isRunning]);
  return now;
}
