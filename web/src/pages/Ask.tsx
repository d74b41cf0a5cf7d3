import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState, type FormEvent } from 'react';
import { client } from '../api/client';
import type { CheckedPlan, Clarification, GraphData, NodeData } from '../api/types';
import { emptyDraft, newId, remember, useDraft, type Draft } from '../drafts';
import { PlanEditor, PlanGraph, prepareGraph } from '../parts/later';
import { Exact } from '../parts/exact';
import { Trouble } from '../parts/small';
import { parseText, readPlan, refsOf, type Json } from '../plan/plan';
import { go, href, setParams } from '../router';
import { texts } from '../texts';
import { AskPanel } from './AskPanel';

const CHECK_AFTER_MS = 250;

export function Ask({ id, params }: { id: string | undefined; params: URLSearchParams }) {
  const [known] = useState(() => id ?? emptyDraft().id);
  useEffect(() => {
    remember('draft', known);
    if (id === undefined) go(href(['ask', known]), 'replace');
  }, [id, known]);
  const [draft, change] = useDraft(known);
  const asking = useAsking(draft, change);
  const plan = usePlanOf(draft);
  const outcome = draft.proposed?.outcome;
  return (
    <div className="page ask">
      <h1 className="visually-hidden">{texts.ask.title}</h1>
      <QuestionForm draft={draft} change={change} asking={asking} />
      {asking.error && <Trouble error={asking.error} />}
      {!draft.proposed && draft.text === null && !asking.isPending && <Start onAsk={asking.ask} />}
      {asking.isPending && <Planning steps={asking.steps} onStop={asking.stop} />}
      {!asking.isPending && draft.proposed?.clarification && (
        <Clarify
          found={draft.proposed.clarification}
          reason={draft.proposed.reason}
          question={draft.proposed.question}
          onAsk={asking.ask}
        />
      )}
      {!asking.isPending && outcome === 'refusal' && draft.proposed && (
        <section className="notice warn">
          <h2>{texts.ask.refused}</h2>
          <p>
            <Exact text={draft.proposed.reason} />
          </p>
        </section>
      )}
      {!asking.isPending && plan.checked && (
        <PlanView draft={draft} change={change} plan={plan} params={params} />
      )}
    </div>
  );
}

interface Asking {
  ask: (question: string) => void;
  stop: () => void;
  isPending: boolean;
  /** The steps so far, while the plan is written. */
  steps: NodeData[];
  error: Error | null;
}

function useAsking(draft: Draft, change: (changes: Partial<Draft>) => void): Asking {
  const stopper = useRef<AbortController | undefined>(undefined);
  const [steps, setSteps] = useState<NodeData[]>([]);
  const asked = useMutation({
    mutationFn: (question: string) => {
      stopper.current = new AbortController();
      setSteps([]);
      prepareGraph();
      const add = (step: NodeData): void =>
        setSteps((before) => [...before.filter((each) => each.id !== step.id), step]);
      return client.plan(
        { question, conversation: draft.conversation },
        add,
        stopper.current.signal,
      );
    },
    onSuccess: (proposed, question) => {
      const before = draft.proposed?.question;
      const earlier =
        before && before !== question ? [...draft.earlier, before].slice(-20) : draft.earlier;
      change({ proposed, text: null, question, earlier });
      setParams({ step: undefined });
    },
  });
  return {
    ask: (question) => {
      if (question.trim() === '') return;
      change({ question });
      asked.mutate(question);
    },
    stop: () => {
      stopper.current?.abort();
      asked.reset();
    },
    isPending: asked.isPending,
    steps,
    error: asked.error?.name === 'AbortError' ? null : asked.error,
  };
}

function QuestionForm({
  draft,
  change,
  asking,
}: {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  asking: Asking;
}) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    asking.ask(draft.question);
  };
  return (
    <form className="question" onSubmit={submit}>
      <div className="question-row">
        <label className="grow">
          <span className="field-name">{texts.ask.question}</span>
          <textarea
            rows={Math.min(
              6,
              Math.max(1, Math.ceil(draft.question.length / 90), draft.question.split('\n').length),
            )}
            value={draft.question}
            maxLength={20_000}
            placeholder={texts.ask.placeholder}
            onChange={(event) => change({ question: event.target.value })}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing)
                submit(event);
            }}
          />
        </label>
        <button
          type="submit"
          className="primary"
          disabled={asking.isPending || draft.question.trim() === ''}
        >
          {texts.ask.plan}
        </button>
      </div>
      {(draft.proposed !== null || draft.earlier.length > 0) && (
        <div className="row muted small">
          {draft.earlier.length > 0 && (
            <details className="grow">
              <summary>
                {texts.ask.earlier} ({draft.earlier.length})
              </summary>
              <ol>
                {draft.earlier.map((each, at) => (
                  <li key={at}>
                    <Exact text={each} most={200} />
                  </li>
                ))}
              </ol>
            </details>
          )}
          <span className="grow">{texts.ask.follow}</span>
          <a href={href(['ask', emptyDraft().id])}>{texts.ask.newOne}</a>
        </div>
      )}
    </form>
  );
}

function Start({ onAsk }: { onAsk: (question: string) => void }) {
  const about = useQuery({ queryKey: ['about'], queryFn: client.about, staleTime: 60_000 });
  const examples = about.data?.examples ?? [];
  return (
    <section className="start">
      <p className="lead">{texts.ask.start}</p>
      {about.error && <Trouble error={about.error} />}
      {examples.length > 0 && (
        <>
          <h2 className="quiet-head">{texts.ask.examples}</h2>
          <ul className="choices">
            {examples.map((each) => (
              <li key={each}>
                <button type="button" className="choice" onClick={() => onAsk(each)}>
                  <Exact text={each} most={200} />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Planning({ steps, onStop }: { steps: NodeData[]; onStop: () => void }) {
  const graph = useMemo(() => graphOf(steps), [steps]);
  return (
    <section className="planning" aria-busy="true">
      <p role="status">{texts.ask.planning}</p>
      {steps.length > 0 ? (
        <div className="pane graph-pane">
          <PlanGraph graph={graph} label={texts.ask.graph} />
        </div>
      ) : (
        <div className="ghosts" aria-hidden="true">
          <span />
          <span />
          <span />
        </div>
      )}
      <button type="button" onClick={onStop}>
        {texts.ask.stop}
      </button>
    </section>
  );
}

/** The graph of the steps so far; the check gives the whole one when the plan is complete. */
function graphOf(steps: NodeData[]): GraphData {
  const names = new Set(steps.map((each) => each.id));
  const edges = steps.flatMap((step) =>
    refsOf(step.args as Json)
      .filter((name) => names.has(name) && name !== step.id)
      .map((source) => ({ source, target: step.id, kind: 'value' as const })),
  );
  return { nodes: steps, edges, layers: [] };
}

function Clarify({
  found,
  reason,
  question,
  onAsk,
}: {
  found: Clarification;
  reason: string;
  question: string;
  onAsk: (question: string) => void;
}) {
  return (
    <section className="notice info clarify" aria-label={texts.ask.clarify}>
      <h2>{texts.ask.clarify}</h2>
      <p>
        <Exact text={found.question || reason} />
      </p>
      {found.unexplained.length > 0 && (
        <p>
          {texts.ask.unexplained}:{' '}
          {found.unexplained.map((each, at) => (
            <span key={at} className="chip">
              <Exact text={each} most={80} />
            </span>
          ))}
        </p>
      )}
      <ul className="choices">
        {[...found.options, ...found.examples.filter((each) => each !== question)].map(
          (each, at) => (
            <li key={at}>
              <button type="button" className="choice" onClick={() => onAsk(each)}>
                <Exact text={each} most={300} />
              </button>
            </li>
          ),
        )}
      </ul>
    </section>
  );
}

export interface PlanState {
  checked: CheckedPlan | undefined;
  /** The text as it is now, maybe not checked yet. */
  text: string;
  isChecking: boolean;
  error: Error | null;
  jsonError: string | undefined;
}

/** The plan of the draft: as planned, or as edited and checked a moment after the last key. */
function usePlanOf(draft: Draft): PlanState {
  const planned = draft.proposed?.checked ?? undefined;
  const text = draft.text ?? planned?.text ?? '';
  const isEdited = draft.text !== null && draft.text !== planned?.text;
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), CHECK_AFTER_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  const check = useQuery({
    queryKey: ['check', settled],
    queryFn: ({ signal }) => client.check(settled, signal),
    enabled: isEdited && settled !== '',
    staleTime: Infinity,
    gcTime: 60_000,
    placeholderData: (before) => before,
  });
  const jsonError = useMemo(() => (isEdited ? parseText(text).error : undefined), [isEdited, text]);
  const checked = isEdited ? (check.data ?? planned) : planned;
  const isChecking = isEdited && (settled !== text || check.isFetching || check.isPlaceholderData);
  return { checked, text, isChecking, error: isEdited ? check.error : null, jsonError };
}

interface PlanViewProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  plan: PlanState;
  params: URLSearchParams;
}

function PlanView({ draft, change, plan, params }: PlanViewProps) {
  const { checked, text } = plan;
  const tools = useQuery({ queryKey: ['tools'], queryFn: client.tools, staleTime: 60_000 });
  const schema = useQuery({ queryKey: ['schema'], queryFn: client.schema, staleTime: Infinity });
  const chosen = params.get('step') ?? undefined;
  const choose = (step: string | undefined): void => setParams({ step });
  const steps = useMemo(
    () => readPlan(parseText(text).document).steps.map((each) => each.id),
    [text],
  );
  const index = chosen === undefined ? -1 : steps.indexOf(chosen);
  const known = useMemo(
    () => ({ schema: (schema.data ?? null) as never, tools: tools.data?.tools ?? [] }),
    [schema.data, tools.data],
  );
  const running = useRunning(draft, plan);
  if (!checked) return null;
  return (
    <>
      <PlanBar draft={draft} change={change} plan={plan} running={running} />
      {running.error && <Trouble error={running.error} />}
      {plan.error && <Trouble error={plan.error} />}
      <div className="split">
        <section className="pane graph-pane">
          <PlanGraph
            graph={checked.graph}
            label={texts.ask.graph}
            chosen={chosen}
            onChoose={choose}
            critical={checked.forecast?.critical_path}
          />
        </section>
        <section className="pane side-pane">
          <AskPanel
            checked={checked}
            plan={plan}
            chosen={chosen}
            onChoose={choose}
            tab={params.get('tab') ?? undefined}
            editor={
              <PlanEditor
                text={text}
                found={plan.isChecking ? [] : checked.diagnostics}
                known={known}
                chosen={index < 0 ? undefined : index}
                onChange={(edited) =>
                  change({ text: edited === draft.proposed?.checked?.text ? null : edited })
                }
                onStep={(at) => choose(steps[at])}
              />
            }
          />
        </section>
      </div>
    </>
  );
}

function useRunning(draft: Draft, plan: PlanState) {
  // a request whose answer was lost is sent again with the name of its run: nothing is started twice
  const names = useRef(new Map<string, string>());
  return useMutation({
    mutationFn: (checked: CheckedPlan) => {
      const digest = checked.digest ?? '';
      const run = names.current.get(digest) ?? newId(16);
      names.current.set(digest, run);
      return client.run({
        text: checked.text,
        digest,
        approve: false,
        values: checked.by_values,
        run,
      });
    },
    onSuccess: (line) => {
      names.current.delete(line.digest);
      const needs = plan.checked?.needs_approval ?? false;
      go(href([needs ? 'approve' : 'runs', line.run], { draft: draft.id }));
    },
  });
}

function PlanBar({
  draft,
  change,
  plan,
  running,
}: Omit<PlanViewProps, 'params'> & { running: ReturnType<typeof useRunning> }) {
  const { checked, isChecking, jsonError } = plan;
  if (!checked) return null;
  const errors = checked.diagnostics.filter(
    (each) => each.severity === 'error' && !each.fixed,
  ).length;
  const canRun =
    checked.valid &&
    checked.digest !== null &&
    !isChecking &&
    jsonError === undefined &&
    !plan.error;
  const status =
    jsonError !== undefined
      ? `${texts.ask.notJson}: ${jsonError}`
      : isChecking
        ? texts.ask.checking
        : checked.valid
          ? texts.ask.valid
          : texts.ask.invalid(Math.max(errors, 1));
  return (
    <div className="plan-bar">
      <h2 className="visually-hidden">{texts.ask.plan}</h2>
      <p role="status" className={canRun ? 'verdict ok' : isChecking ? 'verdict' : 'verdict bad'}>
        <Exact text={status} most={200} />
      </p>
      {checked.effects.length > 0 && (
        <span className="chip warn">{texts.ask.effects(checked.effects.length)}</span>
      )}
      {draft.text !== null && draft.proposed !== null && (
        <span className="muted small">
          {texts.ask.changed}{' '}
          <button type="button" className="link" onClick={() => change({ text: null })}>
            {texts.ask.revert}
          </button>
        </span>
      )}
      <span className="grow" />
      <button
        type="button"
        className="primary"
        disabled={!canRun || running.isPending}
        onClick={() => running.mutate(checked)}
      >
        {running.isPending
          ? texts.ask.starting
          : checked.needs_approval
            ? texts.ask.review
            : texts.ask.run}
      </button>
    </div>
  );
}
