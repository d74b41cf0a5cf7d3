import type { Decided, RunOut } from '../api/types';
import { emptyDraft, loadDraft, remember, remembered, saveDraft } from '../drafts';
import { Exact } from '../parts/exact';
import { DifferenceView } from '../parts/small';
import { href } from '../router';
import { texts } from '../texts';

const keyOf = (run: string): string => `replanned.${run}`;

/** Keep the plan that came of a decision, as a draft: a reload does not lose it. */
export function keepReplanned(run: RunOut, decided: Decided): void {
  if (!decided.replanned) return;
  const found = { proposed: decided.replanned, difference: decided.difference ?? null };
  const draft = { ...emptyDraft(), question: run.line.question, ...found };
  saveDraft(draft);
  remember(keyOf(run.line.run), draft.id);
}

/** The plan that came of a decision about a run, if there is one. */
export function Replanned({ run }: { run: RunOut }) {
  const id = remembered(keyOf(run.line.run));
  const draft = id === null ? null : loadDraft(id);
  if (!draft?.proposed) return null;
  const { proposed, difference } = draft;
  return (
    <section className="notice info">
      <h2>{texts.run.replanned}</h2>
      {proposed.reason && (
        <p>
          <Exact text={proposed.reason} />
        </p>
      )}
      {difference && <DifferenceView difference={difference} />}
      {proposed.checked && (
        <p>
          <a className="button" href={href(['ask', draft.id])}>
            {texts.run.editPlan}
          </a>
        </p>
      )}
    </section>
  );
}
