import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { client } from '../api/client';
import type { Doubt, StepOut } from '../api/types';
import { remember, remembered } from '../drafts';
import { textOf } from '../parts/data';
import { Exact, visibleJson } from '../parts/exact';
import { Args, Trouble } from '../parts/small';
import { isObject, parseText, type Json } from '../plan/plan';
import { texts } from '../texts';

const words = texts.run;
const CHOICES = [
  ['done', words.resolve, words.resolveHint],
  ['again', words.retry, words.retryHint],
  ['failed', words.abort, words.abortHint],
] as const;

/** Calls whose outcome is not known, each with its arguments and the three decisions. */
export function Doubts({
  id,
  steps,
  isOpen,
}: {
  id: string;
  steps: Record<string, StepOut>;
  isOpen: boolean;
}) {
  const doubts = Object.values(steps).flatMap((each) => each.doubts);
  if (doubts.length === 0) return null;
  return (
    <section className="doubts" aria-label={words.doubt}>
      <h2>
        {words.doubt} ({doubts.length})
      </h2>
      {doubts.map((each) => (
        <DoubtCard key={`${each.step} ${each.item ?? ''}`} id={id} doubt={each} isOpen={isOpen} />
      ))}
    </section>
  );
}

function DoubtCard({ id, doubt, isOpen }: { id: string; doubt: Doubt; isOpen: boolean }) {
  const queries = useQueryClient();
  const key = `doubt.${id}.${doubt.step}.${doubt.item ?? ''}`;
  const [choice, setChoice] = useState(
    () => CHOICES.find(([value]) => value === remembered(`${key}.choice`))?.[0],
  );
  const choose = (value: (typeof CHOICES)[number][0]): void => {
    setChoice(value);
    remember(`${key}.choice`, value);
  };
  const [output, setOutput] = useState(
    () => remembered(key) ?? visibleJson(came(doubt.result as Json)),
  );
  const field = useId();
  const parsed = parseText(output);
  const decide = useMutation({
    mutationFn: (decision: 'done' | 'again' | 'failed') =>
      client.decide(id, {
        kind: 'decide',
        calls: [
          {
            step: doubt.step,
            item: doubt.item,
            decision,
            output: decision === 'done' ? (parsed.document ?? null) : null,
          },
        ],
      }),
    onSuccess: () => {
      remember(key, null);
      remember(`${key}.choice`, null);
      void queries.invalidateQueries({ queryKey: ['run', id] });
    },
  });
  const args = doubt.args as Json;
  return (
    <form
      className="doubt"
      onSubmit={(event) => {
        event.preventDefault();
        if (choice) decide.mutate(choice);
      }}
    >
      <p>
        <strong>
          <Exact text={doubt.step} most={80} />
          {doubt.item !== null && ` · ${words.item(doubt.item)}`}
        </strong>{' '}
        <code>
          <Exact text={doubt.tool} most={120} />
        </code>
      </p>
      <p>
        <Exact text={doubt.failure.message} />
      </p>
      <p className="muted">{words.doubtIntro}</p>
      {isObject(args) ? (
        <Args args={args} label={words.args} />
      ) : (
        <Exact text={textOf(args)} whole />
      )}
      {!isOpen && <p className="muted">{words.doubtClosed}</p>}
      <fieldset disabled={!isOpen}>
        <legend>{words.decide}</legend>
        {CHOICES.map(([value, name, hint]) => (
          <label key={value} className="radio">
            <input
              type="radio"
              name={`${field}-choice`}
              value={value}
              checked={choice === value}
              onChange={() => choose(value)}
            />
            <span>
              {name} <span className="muted">{hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {choice === 'done' && (
        <label>
          <span className="field-name">{words.resultOfCall}</span>
          <textarea
            className="mono"
            rows={4}
            value={output}
            aria-invalid={parsed.error !== undefined}
            onChange={(event) => {
              setOutput(event.target.value);
              remember(key, event.target.value);
            }}
          />
          {parsed.error !== undefined && <span className="field-error">{parsed.error}</span>}
        </label>
      )}
      {decide.error && <Trouble error={decide.error} />}
      <div>
        <button
          type="submit"
          className="primary"
          disabled={
            !isOpen ||
            choice === undefined ||
            decide.isPending ||
            (choice === 'done' && parsed.error !== undefined)
          }
        >
          {words.decide}
        </button>
      </div>
    </form>
  );
}

/** Return what came back of a call, for the person to correct: its JSON, its text, or null. */
function came(result: Json): Json {
  if (!isObject(result)) return null;
  if (Object.hasOwn(result, 'json')) return result['json'] ?? null;
  return result['text'] ?? null;
}
