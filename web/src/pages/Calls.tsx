// Calls that wait with their values: each value, where it comes from, and one decision for each step or for all.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { client } from '../api/client';
import type { Call, Origin, RunOut } from '../api/types';
import { remember, remembered } from '../drafts';
import { Exact, plain } from '../parts/exact';
import { Trouble } from '../parts/small';
import { go, href } from '../router';
import { texts } from '../texts';

const words = texts.approve;
const MOST_SHOWN = 200;
const MOST_WARNINGS = 20;

const byStep = (calls: Call[]): [string, Call[]][] => {
  const found = new Map<string, Call[]>();
  for (const each of calls) found.set(each.step, [...(found.get(each.step) ?? []), each]);
  return [...found];
};

/** The calls of a run that wait. What is decided names their digests: it is about these values and no others. */
export function WaitingCalls({
  run,
  calls,
  children,
}: {
  run: RunOut;
  calls: Call[];
  children: ReactNode;
}) {
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const steps = byStep(calls);
  const isAllSeen = steps.every(([step, own]) => own.length <= MOST_SHOWN || whole.has(step));
  return (
    <>
      {steps.map(([step, own]) => (
        <StepCalls
          key={step}
          run={run}
          calls={own}
          isWhole={own.length <= MOST_SHOWN || whole.has(step)}
          showWhole={() => setWhole(new Set([...whole, step]))}
          isOnly={steps.length === 1}
        />
      ))}
      {children}
      <section className="decide" aria-label={words.title}>
        {!isAllSeen && <p>{words.seeAll}</p>}
        <Consent
          run={run}
          calls={calls}
          name=""
          isReady={isAllSeen}
          words={{ allow: words.allowAll(calls.length), deny: words.denyAll }}
        />
      </section>
    </>
  );
}

interface StepCallsProps {
  run: RunOut;
  calls: Call[];
  isWhole: boolean;
  showWhole: () => void;
  isOnly: boolean;
}

function StepCalls({ run, calls, isWhole, showWhole, isOnly }: StepCallsProps) {
  const first = calls[0];
  if (!first) return null;
  const isBad = first.effects === 'destructive' || first.effects === 'unknown';
  const names = [...new Set(calls.flatMap((each) => Object.keys(each.shown)))];
  const shown = isWhole ? calls : calls.slice(0, MOST_SHOWN);
  const warnings = [...new Set(calls.flatMap((each) => each.warnings))];
  return (
    <section className={`effect ${isBad ? 'bad' : 'warn'}`} aria-label={plain(first.step)}>
      <div className="row between">
        <h2>
          <Exact text={first.step} whole />
        </h2>
        <span className={`chip ${isBad ? 'bad' : 'warn'}`}>
          {words.effectKinds[first.effects] ?? <Exact text={first.effects} most={80} />}
        </span>
      </div>
      <p>
        <code>
          <Exact text={first.tool} whole />
        </code>{' '}
        · {words.exactly(calls.length)}
      </p>
      {warnings.slice(0, MOST_WARNINGS).map((each) => (
        <p key={each} className="notice bad">
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
        aria-label={`${texts.ask.args}: ${plain(first.step)}`}
      >
        <table className="calls as-cards">
          <thead>
            <tr>
              {first.item !== null && <th scope="col">{words.call}</th>}
              {names.map((name) => (
                <th key={name} scope="col">
                  <Exact text={name} whole />
                  <OriginNote
                    origin={Object.hasOwn(first.origins, name) ? first.origins[name] : undefined}
                  />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((each) => (
              <tr key={each.item ?? ''}>
                {each.item !== null && <th scope="row">{each.item + 1}</th>}
                {names.map((name) => (
                  <td key={name} className="exact-value" data-name={plain(name)}>
                    {Object.hasOwn(each.shown, name) ? (
                      <Exact text={each.shown[name] ?? ''} whole />
                    ) : (
                      <span className="muted">{words.absent}</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {Object.entries(first.choices).map(([place, origin]) => (
        <div key={place} className="row small">
          <span>
            {words.choice}{' '}
            <code>
              <Exact text={place} whole />
            </code>
          </span>
          <OriginNote origin={origin} />
        </div>
      ))}
      {!isWhole && (
        <div>
          <button type="button" onClick={showWhole}>
            {words.showAll(calls.length)}
          </button>
        </div>
      )}
      {!isOnly && (
        <Consent
          run={run}
          calls={calls}
          name={first.step}
          isReady={isWhole}
          words={{ allow: words.allowThese, deny: words.denyThese }}
        />
      )}
    </section>
  );
}

/** Where the values under a name come from, and how far they are trusted. */
function OriginNote({ origin }: { origin: Origin | undefined }) {
  if (!origin) return null;
  const sources = origin.sources.map((each) => `${each.step}${each.path} (${each.tool})`);
  const from = sources.length > 0 ? sources : origin.refs;
  return (
    <div className="origin">
      <span className="muted small">
        {from.length > 0 ? <Exact text={from.join(', ')} whole /> : words.inPlan}
      </span>{' '}
      <span className={`chip ${origin.label === 'untrusted' ? 'bad' : ''}`}>
        {words.trust[origin.label] ?? <Exact text={origin.label} most={80} />}
      </span>
      {origin.asked && origin.needs && <span className="small">{words.needs(origin.needs)}</span>}
    </div>
  );
}

interface ConsentProps {
  run: RunOut;
  calls: Call[];
  /** The step, or empty for all steps. */
  name: string;
  isReady: boolean;
  words: { allow: string; deny: string };
}

function Consent({ run, calls, name, isReady, words: own }: ConsentProps) {
  const queries = useQueryClient();
  const id = run.line.run;
  const key = `deny.${id}.${name}`;
  const [reason, setReason] = useState(() => remembered(key) ?? '');
  const [isRefusing, setRefusing] = useState(reason !== '');
  const decide = useMutation({
    mutationFn: (kind: 'calls' | 'refused') => {
      const given = calls.map(({ step, item, digest }) => ({ step, item, digest }));
      const both = { calls: [], refused: [], [kind]: given };
      return client.decide(id, {
        kind: 'allow',
        ...both,
        reason: kind === 'refused' ? reason : '',
      });
    },
    onSuccess: async () => {
      remember(key, null);
      await queries.invalidateQueries({ queryKey: ['run', id] });
      if (name === '') go(href(['runs', id]));
    },
    onError: () => void queries.invalidateQueries({ queryKey: ['run', id] }),
  });
  return (
    <>
      {decide.error && <Trouble error={decide.error} />}
      <div className="row">
        <button
          type="button"
          className={name === '' ? 'primary' : ''}
          disabled={!isReady || decide.isPending}
          onClick={() => decide.mutate('calls')}
        >
          {own.allow}
        </button>
        <button
          type="button"
          aria-expanded={isRefusing}
          disabled={decide.isPending}
          onClick={() => setRefusing(!isRefusing)}
        >
          {own.deny} …
        </button>
      </div>
      {isRefusing && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            decide.mutate('refused');
          }}
        >
          <label>
            <span className="field-name">{words.reason}</span>
            <textarea
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
              {words.denyNow}
            </button>
          </div>
        </form>
      )}
    </>
  );
}
