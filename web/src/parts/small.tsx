// Small parts that several pages share.
import { useState, type FormEvent, type ReactNode } from 'react';
import { ApiError, client } from '../api/client';
import type { Diagnostic, Difference, Failure, RunOut } from '../api/types';
import type { Json } from '../plan/plan';
import { texts } from '../texts';
import { textOf } from './data';
import { Exact } from './exact';
import { Icon } from './Icon';

export function State({ state }: { state: string }) {
  return (
    <span className={`state state-${state}`}>
      <Icon name={state} />
      {texts.states[state] ?? state}
    </span>
  );
}

/** The sentence of a run's state; one that does not go on by itself stands out. */
export function RunNote({ run }: { run: RunOut }) {
  const isStuck = ['interrupted', 'no_worker', 'parked'].includes(run.line.state);
  return (
    <p className={isStuck ? 'notice warn' : 'muted'}>
      <Exact text={run.note} whole />
    </p>
  );
}

/** A page that waits for the server: it has its title already. */
export function Loading({ title }: { title: string }) {
  return (
    <div className="page">
      <h1>{title}</h1>
      <p className="muted">{texts.common.loading}</p>
    </div>
  );
}

/** An error as a sentence, and what to do. */
export function Trouble({ error, children }: { error: unknown; children?: ReactNode }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="notice bad" role="alert">
      <p>
        <Exact text={message} />
      </p>
      {error instanceof ApiError && error.help && (
        <p className="muted">
          <Exact text={error.help} />
        </p>
      )}
      {error instanceof ApiError && error.code === 'unauthorised' && <SignIn />}
      {children}
    </div>
  );
}

/** A field for the token, or for the whole address that has it; the page that was wanted stays. */
function SignIn() {
  const [given, setGiven] = useState('');
  const [fault, setFault] = useState('');
  const enter = (event: FormEvent): void => {
    event.preventDefault();
    const token = given.trim().replace(/^.*#token=/, '');
    client.login(token).then(
      () => window.location.reload(),
      (error: unknown) => setFault(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <form className="row" onSubmit={enter}>
      <label className="inline-field">
        <span>{texts.common.token}</span>
        <input
          type="password"
          autoComplete="off"
          required
          value={given}
          onChange={(event) => setGiven(event.target.value)}
        />
      </label>
      <button type="submit">{texts.common.enter}</button>
      {fault && <Exact text={fault} />}
    </form>
  );
}

export function FailureNote({ failure }: { failure: Failure }) {
  const help = texts.run.repairText[failure.code] ?? texts.run.repairText['default'];
  return (
    <div className="notice bad">
      <p>
        <code>
          <Exact text={failure.code} most={80} />
        </code>{' '}
        <Exact text={failure.message} />
      </p>
      <p className="muted">
        {texts.run.repair}: {help}
      </p>
    </div>
  );
}

export function Problems({
  found,
  onChoose,
}: {
  found: Diagnostic[];
  onChoose?: (found: Diagnostic) => void;
}) {
  if (found.length === 0) return <p className="muted">{texts.ask.problemsNone}</p>;
  return (
    <ul className="problems">
      {found.map((each, at) => (
        <li key={at} className={each.fixed ? 'fixed' : each.severity}>
          <div>
            <code>
              <Exact text={each.code} most={80} />
            </code>
            {each.fixed && <span className="chip">{texts.ask.fixed}</span>}
            {each.step !== null && onChoose && (
              <button type="button" className="link" onClick={() => onChoose(each)}>
                <Exact text={each.step} most={80} />
              </button>
            )}
          </div>
          <p>
            <Exact text={each.message} />
          </p>
          {each.help !== null && (
            <p className="muted">
              <Exact text={each.help} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

export function Args({ args, label }: { args: Record<string, Json>; label: string }) {
  const entries = Object.entries(args);
  if (entries.length === 0) return <p className="muted">{texts.common.none}</p>;
  return (
    <table className="facts">
      <caption className="visually-hidden">{label}</caption>
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              <Exact text={name} most={80} />
            </th>
            <td>
              <Exact text={textOf(value)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function DifferenceView({ difference }: { difference: Difference }) {
  if (difference.same) return <p className="notice ok">{texts.runs.same}</p>;
  return (
    <ul className="changes">
      {difference.steps.map((step, at) => (
        <li key={at} className={step.kind}>
          <p>
            <span className={`chip ${step.kind}`}>{texts.diff[step.kind]}</span>{' '}
            <Exact text={step.after ?? step.before ?? ''} most={80} />{' '}
            <span className="muted">
              <Exact text={step.tool} most={80} />
            </span>
          </p>
          <Changes changes={step.changes} />
        </li>
      ))}
      {difference.output.length > 0 && (
        <li className="changed">
          <p>
            <span className="chip changed">{texts.diff.output}</span>
          </p>
          <Changes changes={difference.output} />
        </li>
      )}
    </ul>
  );
}

export function Changes({ changes }: { changes: Difference['output'] }) {
  if (changes.length === 0) return null;
  return (
    <table className="facts">
      <thead className="visually-hidden">
        <tr>
          <th scope="col">{texts.diff.place}</th>
          <th scope="col">{texts.diff.before}</th>
          <th scope="col">{texts.diff.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((each, at) => (
          <tr key={at}>
            <th scope="row">
              <Exact text={each.pointer} most={120} />
            </th>
            <td>
              {each.has_before ? (
                <del>
                  <Exact text={textOf(each.before as Json) || '""'} />
                </del>
              ) : (
                <span className="muted">–</span>
              )}
            </td>
            <td>
              {each.has_after ? (
                <ins>
                  <Exact text={textOf(each.after as Json) || '""'} />
                </ins>
              ) : (
                <span className="muted">–</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
