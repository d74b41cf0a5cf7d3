import * as Tabs from '@radix-ui/react-tabs';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { client } from '../api/client';
import { emptyDraft, saveDraft } from '../drafts';
import type { RunOut, StepOut } from '../api/types';
import { PlanGraph } from '../parts/later';
import { Exact, plain } from '../parts/exact';
import { Result } from '../parts/Result';
import { FailureNote, Loading, RunNote, State, Trouble } from '../parts/small';
import { isObject, printPlan, type Json } from '../plan/plan';
import { go, href, setParams } from '../router';
import { Doubts } from '../run/Doubts';
import { criticalPath, type RunView } from '../run/fold';
import { Timeline } from '../run/Timeline';
import { useRun } from '../run/useRun';
import { moment, seconds, texts } from '../texts';
import { Decisions } from './Approve';
import { StepView } from './AskPanel';
import { keepReplanned, Replanned } from './Replanned';

const words = texts.run;
/** Maximum number of steps of a plan that is shown as a strip, so that the answer is in view. */
const STRIP = 3;

export function Run({ id, params }: { id: string; params: URLSearchParams }) {
  const { run, view, error, connection } = useRun(id);
  const needs = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const edge of run?.graph.edges ?? [])
      found.set(edge.target, [...(found.get(edge.target) ?? []), edge.source]);
    return found;
  }, [run?.graph]);
  const critical = useMemo(() => (view ? criticalPath(view.steps, needs) : []), [view, needs]);
  if (error && !run) {
    return (
      <div className="page">
        <h1>{words.title}</h1>
        <Trouble error={error} />
        <a href={href(['runs'])}>{texts.nav.runs}</a>
      </div>
    );
  }
  if (!run || !view) return <Loading title={words.title} />;
  const chosen = params.get('step') ?? undefined;
  const choose = (step: string): void => setParams({ step, tab: 'step' });
  const isDone = run.line.state === 'succeeded';
  return (
    <div className="page run">
      <Head run={run} view={view} connection={connection} />
      {error && <Trouble error={error} />}
      <Doubts id={id} steps={view.steps} isOpen={run.allowed.includes('decide')} />
      {run.error && <FailureNote failure={run.error} />}
      <div className="stacked">
        <section className={`pane graph-pane${run.graph.nodes.length <= STRIP ? ' strip' : ''}`}>
          <PlanGraph
            graph={run.graph}
            states={view.steps}
            critical={run.ended_at === null ? undefined : critical}
            label={words.graph}
            chosen={chosen}
            onChoose={choose}
          />
        </section>
        <section className="pane side-pane">
          <Panel
            run={run}
            view={view}
            critical={critical}
            chosen={chosen}
            onChoose={choose}
            tab={params.get('tab') ?? (isDone ? 'result' : 'timeline')}
          />
        </section>
      </div>
    </div>
  );
}

function Head({
  run,
  view,
  connection,
}: {
  run: RunOut;
  view: RunView;
  connection: keyof typeof words.connection;
}) {
  const steps = Object.values(view.steps);
  const done = steps.filter((each) => each.state === 'succeeded').length;
  return (
    <div className="run-head">
      <div className="row between">
        <h1>
          <Exact text={run.line.question || run.line.run} most={300} />
        </h1>
        <span role="status">
          <State state={run.line.state} />
        </span>
      </div>
      <p className="row muted small">
        {run.started_at !== null && (
          <span>
            {words.started} {moment(run.started_at)}
          </span>
        )}
        {run.took_s !== null && (
          <span>
            {words.took} {seconds(run.took_s)}
          </span>
        )}
        <span>
          {words.of(done, steps.length)} {texts.runs.steps.toLowerCase()}
        </span>
        <span className={`connection ${connection}`}>{words.connection[connection]}</span>
      </p>
      <Actions run={run} />
      <Decisions run={run} />
    </div>
  );
}

function Actions({ run }: { run: RunOut }) {
  const queries = useQueryClient();
  const decide = useMutation({
    mutationFn: (kind: 'cancel' | 'resume' | 'replan') =>
      client.decide(run.line.run, kind === 'replan' ? { kind, reason: '' } : { kind }),
    onSuccess: (decided) => {
      keepReplanned(run, decided);
      void queries.invalidateQueries({ queryKey: ['run', run.line.run] });
      void queries.invalidateQueries({ queryKey: ['runs'] });
      return decided;
    },
  });
  const allowed = new Set(run.allowed);
  return (
    <div className="stack">
      <div className="row">
        {(allowed.has('approve') || allowed.has('allow')) && (
          <a className="button primary" href={href(['approve', run.line.run])}>
            {texts.ask.review}
          </a>
        )}
        {(['cancel', 'resume', 'replan'] as const)
          .filter((kind) => allowed.has(kind) && !(kind === 'replan' && !run.line.question))
          .map((kind) => (
            <button
              key={kind}
              type="button"
              disabled={decide.isPending}
              onClick={() => decide.mutate(kind)}
            >
              {words[kind]}
            </button>
          ))}
        {run.ended_at !== null && (
          <button type="button" onClick={() => openPlan(run)}>
            {words.editPlan}
          </button>
        )}
      </div>
      <RunNote run={run} />
      {run.plan_fault && (
        <p className="notice warn">
          <Exact text={run.plan_fault} />
        </p>
      )}
      {decide.error && <Trouble error={decide.error} />}
      <Replanned run={run} />
    </div>
  );
}

/** Open the plan of a run as a draft, to change it or to run it again. */
function openPlan(run: RunOut): void {
  const draft = { ...emptyDraft(), question: run.line.question, text: printPlan(run.plan as Json) };
  saveDraft(draft);
  go(href(['ask', draft.id], { tab: 'text' }));
}

interface PanelProps {
  run: RunOut;
  view: RunView;
  critical: string[];
  chosen: string | undefined;
  onChoose: (step: string) => void;
  tab: string;
}

function Panel({ run, view, critical, chosen, onChoose, tab }: PanelProps) {
  const tabs = ['result', 'timeline', 'step', 'plan'] as const;
  const names = {
    result: words.result,
    timeline: words.timeline,
    step: words.step,
    plan: texts.ask.tabs.text,
  };
  return (
    <Tabs.Root
      className="tabs fill"
      value={tabs.find((each) => each === tab) ?? 'timeline'}
      onValueChange={(next) => setParams({ tab: next })}
    >
      <Tabs.List className="tab-list" aria-label={words.title}>
        {tabs.map((each) => (
          <Tabs.Trigger key={each} value={each} className="tab">
            {names[each]}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="result" className="tab-body">
        <Answer run={run} />
      </Tabs.Content>
      <Tabs.Content value="timeline" className="tab-body">
        <Timeline run={run} view={view} critical={critical} chosen={chosen} onChoose={onChoose} />
      </Tabs.Content>
      <Tabs.Content value="step" className="tab-body">
        <StepView plan={run.plan as Json} step={chosen} />
        {chosen !== undefined && view.steps[chosen] && (
          <StepResult run={run} step={chosen} state={view.steps[chosen]} />
        )}
      </Tabs.Content>
      <Tabs.Content value="plan" className="tab-body">
        <pre className="plan-text" tabIndex={0} role="region" aria-label={names.plan}>
          <PlanText plan={run.plan as Json} />
        </pre>
      </Tabs.Content>
    </Tabs.Root>
  );
}

/** The plan as it is printed; a part of its own, so that only a plan that is looked at is printed. */
function PlanText({ plan }: { plan: Json }) {
  const text = useMemo(() => printPlan(plan), [plan]);
  return <Exact text={text} most={20_000} />;
}

function Answer({ run }: { run: RunOut }) {
  const [said = '', ...others] = (run.answer_text ?? '').trim().split(/\n\s*\n/);
  if (run.ended_at === null || (run.output === null && !said))
    return <p className="muted">{words.noOutput}</p>;
  return (
    <div className="stack">
      {said && (
        <p className="answer-text">
          <Exact text={said} most={1200} />
        </p>
      )}
      {run.output_left_out && <p className="muted">{words.leftOut}</p>}
      {outputsOf(run).map(([name, value]) => (
        <section key={name} className="stack">
          {name !== '' && (
            <h3>
              <Exact text={name} most={80} />
            </h3>
          )}
          <Result value={value} label={name === '' ? words.result : plain(name)} />
        </section>
      ))}
      {others.length > 0 && (
        <details>
          <summary>{words.wholeAnswer}</summary>
          <pre className="whole-answer" tabIndex={0} role="region" aria-label={words.wholeAnswer}>
            <Exact text={run.answer_text ?? ''} most={8000} />
          </pre>
        </details>
      )}
    </div>
  );
}

/** Return the result by parts: an output that is keyed by steps is one part for each. */
function outputsOf(run: RunOut): [string, Json][] {
  const output = run.output as Json;
  if (output === null) return [];
  if (!isObject(output)) return [['', output]];
  const entries = Object.entries(output);
  const isBySteps = entries.length > 1 && entries.every(([name]) => Object.hasOwn(run.steps, name));
  return isBySteps ? entries : [['', output]];
}

/** A step with its output, which is fetched when somebody looks at it. */
function StepResult({ run, step, state }: { run: RunOut; step: string; state: StepOut }) {
  const detail = useQuery({
    queryKey: ['step', run.line.run, step, state.state, state.items_done],
    queryFn: () => client.step(run.line.run, step),
    placeholderData: (before) => (before?.step === step ? before : undefined),
  });
  const times =
    state.started_at !== null && state.ended_at !== null
      ? seconds(state.ended_at - state.started_at)
      : null;
  return (
    <div className="stack">
      <p className="row">
        <State state={state.state} /> <Exact text={run.step_notes[state.state] ?? ''} />
        {times !== null && (
          <span className="muted">
            {words.took} {times}
          </span>
        )}
        {state.attempts > 1 && (
          <span className="muted">
            {words.attempts}: {state.attempts}
          </span>
        )}
        {state.items !== null && (
          <span className="muted">
            {words.items}: {words.of(state.items_done, state.items)}
            {state.items_failed > 0 && `, ${words.failedItems(state.items_failed)}`}
          </span>
        )}
      </p>
      {state.error && <FailureNote failure={state.error} />}
      {detail.error && <Trouble error={detail.error} />}
      {detail.data && detail.data.output !== null && (
        <>
          <h4>{words.output}</h4>
          <Result value={detail.data.output as Json} label={words.output} />
        </>
      )}
      {detail.data && detail.data.items.length > 0 && (
        <>
          <h4>{words.items}</h4>
          <ul className="items">
            {detail.data.items.map((each) => (
              <li key={each.item}>
                <details>
                  <summary>
                    {words.item(each.item)}{' '}
                    {each.failure ? (
                      <span className="chip bad">{texts.states['failed']}</span>
                    ) : (
                      <span className="chip">{texts.states['succeeded']}</span>
                    )}
                  </summary>
                  {each.failure ? (
                    <FailureNote failure={each.failure} />
                  ) : (
                    <Result value={each.output as Json} label={words.item(each.item)} />
                  )}
                </details>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
