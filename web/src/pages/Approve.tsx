import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { client, ApiError } from '../api/client';
import type { Effect, Flow, RunOut } from '../api/types';
import { PlanGraph } from '../parts/later';
import { remember, remembered } from '../drafts';
import { textOf } from '../parts/data';
import { Exact, lookalikes, plain } from '../parts/exact';
import { Loading, RunNote, State, Trouble } from '../parts/small';
import { refsOf, type Json } from '../plan/plan';
import { go, href } from '../router';
import { useRun } from '../run/useRun';
import { moment, texts } from '../texts';
import { WaitingCalls } from './Calls';
import { keepReplanned, Replanned } from './Replanned';

const words = texts.approve;
const MOST_WARNINGS = 20;

/** A run that waits: all that it will change, then one decision. */
export function Approve({ id }: { id: string }) {
  const { run, view, error } = useRun(id);
  const [shown, setShown] = useState<string>();
  if (run && shown === undefined) setShown(run.line.digest);
  if (error && !run) {
    return (
      <div className="page">
        <h1>{words.title}</h1>
        <Trouble error={error} />
      </div>
    );
  }
  if (!run || !view || shown === undefined) return <Loading title={words.title} />;
  const isOpen = run.allowed.includes('approve');
  const isReading = run.by_values && run.line.state === 'running' && run.calls.length === 0;
  const calls = run.allowed.includes('allow') ? run.calls : [];
  const waiting = new Set(calls.map((each) => each.step));
  const later = run.effects.filter((each) => !waiting.has(each.step));
  const others = (
    <>
      {calls.length > 0 && later.length > 0 && <h2>{words.others}</h2>}
      {later.map((each) => (
        <EffectCard
          key={each.step}
          effect={each}
          flows={run.flows.filter((flow) => flow.step === each.step)}
          tools={toolsOf(run)}
        />
      ))}
      <section className="pane graph-pane short">
        <PlanGraph graph={run.graph} states={view.steps} label={texts.ask.graph} />
      </section>
      <p className="muted small">
        {words.digest}{' '}
        <code className="digest">
          <Exact text={shown} whole />
        </code>
      </p>
    </>
  );
  return (
    <div className="page approve">
      <div className="row between">
        <h1>{words.title}</h1>
        <State state={run.line.state} />
      </div>
      <p className="lead">
        <Exact text={run.line.question} most={400} />
      </p>
      {isOpen && (
        <p className="notice warn">
          {words.intro(texts.common.calls(run.effects.reduce((sum, each) => sum + each.calls, 0)))}
        </p>
      )}
      {isReading && (
        <p className="notice info" role="status">
          {words.reading}
        </p>
      )}
      {calls.length > 0 && (
        <p className="notice warn">{words.values(texts.common.calls(calls.length))}</p>
      )}
      <RunNote run={run} />
      <Decisions run={run} />
      <Replanned run={run} />
      {calls.length > 0 ? (
        <WaitingCalls key={calls.map((each) => each.digest).join()} run={run} calls={calls}>
          {others}
        </WaitingCalls>
      ) : (
        others
      )}
      {shown !== run.line.digest ? (
        <div className="notice bad" role="alert">
          <p>{words.stale}</p>
          <button type="button" onClick={() => setShown(run.line.digest)}>
            {words.reload}
          </button>
        </div>
      ) : isOpen ? (
        <Decide run={run} digest={shown} />
      ) : calls.length > 0 ? null : (
        <p>
          <a className="button" href={href(['runs', id])}>
            {texts.run.title}
          </a>
        </p>
      )}
    </div>
  );
}

const toolsOf = (run: RunOut): Map<string, string> =>
  new Map(run.graph.nodes.map((each) => [each.id, each.tool]));

export function Decisions({ run }: { run: RunOut }) {
  if (run.decisions.length === 0) return null;
  return (
    <ul className="decisions">
      {run.decisions.map((each, at) => (
        <li key={at}>
          <span className="chip">
            {texts.decisionKinds[each.kind] ?? <Exact text={each.kind} most={80} />}
          </span>{' '}
          {each.step !== null && <Exact text={each.step} most={80} />}{' '}
          {each.by && (
            <span>
              {words.who} <Exact text={each.by} most={80} />,
            </span>
          )}{' '}
          <time dateTime={new Date(each.at * 1000).toISOString()}>{moment(each.at)}</time>
          {each.reason && (
            <q>
              <Exact text={each.reason} />
            </q>
          )}
        </li>
      ))}
    </ul>
  );
}

function EffectCard({
  effect,
  flows,
  tools,
}: {
  effect: Effect;
  flows: Flow[];
  tools: Map<string, string>;
}) {
  const isBad = effect.effects === 'destructive' || effect.effects === 'unknown';
  const look = lookalikes([effect.step, effect.tool, JSON.stringify(effect.args)].join(' '));
  const warnings = [
    ...new Set([...effect.warnings, ...look.map((each) => `${words.lookalike}: ${each}`)]),
  ];
  const rows: [string, Json][] = Object.entries(effect.args as Record<string, Json>);
  return (
    <section className={`effect ${isBad ? 'bad' : 'warn'}`} aria-label={plain(effect.step)}>
      <div className="row between">
        <h2>
          <Exact text={effect.step} whole />
        </h2>
        <span className={`chip ${isBad ? 'bad' : 'warn'}`}>
          {words.effectKinds[effect.effects] ?? <Exact text={effect.effects} most={80} />}
        </span>
      </div>
      <p>
        <code>
          <Exact text={effect.tool} whole />
        </code>{' '}
        · {effect.exact ? words.exactly(effect.calls) : words.atMost(effect.calls)}
        {effect.for_each !== null && (
          <>
            {' '}
            · {texts.ask.forEach}{' '}
            <code>
              <Exact text={effect.for_each_shown ?? textOf(effect.for_each as Json)} whole />
            </code>
          </>
        )}
        {effect.when_shown !== null && (
          <>
            {' '}
            · {words.conditional}{' '}
            <code>
              <Exact text={effect.when_shown} whole />
            </code>
          </>
        )}
      </p>
      {warnings.slice(0, MOST_WARNINGS).map((each, at) => (
        <p key={at} className="notice bad">
          <Exact text={each} whole />
        </p>
      ))}
      {warnings.length > MOST_WARNINGS && (
        <p className="notice bad">{words.moreWarnings(warnings.length - MOST_WARNINGS)}</p>
      )}
      <div
        className="scroll-x"
        tabIndex={0}
        role="region"
        aria-label={`${texts.ask.args}: ${plain(effect.step)}`}
      >
        <table className="as-cards">
          <thead>
            <tr>
              <th scope="col">{words.argument}</th>
              <th scope="col">{words.value}</th>
              <th scope="col">{words.source}</th>
              <th scope="col">{words.label}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, value]) => (
              <ArgumentRow
                key={name}
                name={name}
                value={value}
                shown={shownOf(effect.shown, name)}
                tools={tools}
                flow={flows.find((each) => isAt(each.pointer, name))}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const isAt = (pointer: string, name: string): boolean => {
  const key = name.replaceAll('~', '~0').replaceAll('/', '~1');
  const inner = pointer.slice(Math.max(pointer.indexOf('/args/'), 0));
  return inner === `/args/${key}` || inner.startsWith(`/args/${key}/`);
};

/** The exact text of an argument: the server writes it, since numbers of a browser are not exact. */
const shownOf = (shown: Record<string, string>, name: string): string =>
  Object.hasOwn(shown, name) ? (shown[name] ?? '') : '';

function ArgumentRow({
  name,
  value,
  shown,
  tools,
  flow,
}: {
  name: string;
  value: Json;
  shown: string;
  tools: Map<string, string>;
  flow: Flow | undefined;
}) {
  const refs = refsOf(value);
  const source =
    flow && flow.sources.length > 0
      ? flow.sources.map((each) => `${each.step}${each.path} (${each.tool})`).join(', ')
      : refs
          .map((each) => (tools.has(each) ? `${each} (${tools.get(each) ?? ''})` : each))
          .join(', ');
  return (
    <tr>
      <th scope="row">
        <Exact text={name} whole />
      </th>
      <td className="exact-value" data-name={words.value}>
        <Exact text={shown} whole />
        {refs.length > 0 && <div className="muted small">{words.later}</div>}
      </td>
      <td data-name={words.source}>{source ? <Exact text={source} whole /> : words.inPlan}</td>
      <td data-name={words.label}>
        {flow ? (
          <span className={`chip ${flow.label === 'untrusted' ? 'bad' : ''}`}>
            {words.trust[flow.label] ?? <Exact text={flow.label} most={80} />}
          </span>
        ) : refs.length === 0 ? (
          <span className="chip">{words.trust['said']}</span>
        ) : (
          <span className="muted">–</span>
        )}
        {flow && flow.verdict !== 'allow' && (
          <div className="small">
            {words.verdicts[flow.verdict]}{' '}
            <span className="muted">({words.needs(flow.needs)})</span>
          </div>
        )}
      </td>
    </tr>
  );
}

function Decide({ run, digest }: { run: RunOut; digest: string }) {
  const queries = useQueryClient();
  const key = `reason.${run.line.run}`;
  const [reason, setReason] = useState(() => remembered(key) ?? '');
  const [isRefusing, setRefusing] = useState(reason !== '');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (isRefusing) field.current?.focus();
  }, [isRefusing]);
  const decide = useMutation({
    mutationFn: (kind: 'approve' | 'refuse') =>
      client.decide(run.line.run, kind === 'approve' ? { kind, digest } : { kind, digest, reason }),
    onSuccess: async (decided, kind) => {
      remember(key, null);
      keepReplanned(run, decided);
      await queries.invalidateQueries({ queryKey: ['run', run.line.run] });
      if (kind === 'approve') go(href(['runs', run.line.run]));
    },
    onError: (error) => {
      if (error instanceof ApiError)
        void queries.invalidateQueries({ queryKey: ['run', run.line.run] });
    },
  });
  return (
    <section className="decide" aria-label={words.title}>
      {decide.error && <Trouble error={decide.error} />}
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={decide.isPending}
          onClick={() => decide.mutate('approve')}
        >
          {words.approve}
        </button>
        <button
          type="button"
          aria-expanded={isRefusing}
          disabled={decide.isPending}
          onClick={() => setRefusing(!isRefusing)}
        >
          {words.refuse} …
        </button>
      </div>
      {isRefusing && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            decide.mutate('refuse');
          }}
        >
          <label>
            <span className="field-name">{words.reason}</span>
            <textarea
              ref={field}
              rows={3}
              maxLength={20_000}
              value={reason}
              onChange={(event) => {
                setReason(event.target.value);
                remember(key, event.target.value);
              }}
            />
          </label>
          <div>
            <button type="submit" className="danger" disabled={decide.isPending}>
              {words.refuseNow}
            </button>
          </div>
        </form>
      )}
    </section>
  );
}
