import { beforeEach, expect, it } from 'vitest';
import { emptyDraft, loadDraft, saveDraft } from './drafts';

beforeEach(() => localStorage.clear());

it('a draft that was saved is there again', () => {
  const draft = { ...emptyDraft(), question: 'What?', text: '{"steps": [' };
  saveDraft(draft);
  expect(loadDraft(draft.id)).toMatchObject({ question: 'What?', text: '{"steps": [' });
});

it('a draft that cannot be read is an empty one', () => {
  localStorage.setItem('toolplan.draft.broken', '{"id":');
  expect(loadDraft('broken').question).toBe('');
});

it('the oldest drafts go, the newest stay', () => {
  const ids = Array.from({ length: 40 }, () => emptyDraft());
  ids.forEach((each) => saveDraft({ ...each, question: 'q' }));
  expect(localStorage.length).toBeLessThanOrEqual(31);
});
