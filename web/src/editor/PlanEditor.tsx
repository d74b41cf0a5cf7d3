import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic as Mark } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import type { Diagnostic } from '../api/types';
import { HIDDEN, plain } from '../parts/exact';
import { texts } from '../texts';
import { completions, type Known } from './completion';
import { rangeOfStep, spotAt } from './places';

const look = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: '13px',
    height: '100%',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--raised)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent', boxShadow: 'inset 2px 0 var(--accent)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { background: 'var(--accent-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '8px',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--accent-text)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--warn)',
  },
  '.cm-lint-marker': {
    content: '""',
    width: '8px',
    height: '8px',
    borderRadius: '4px',
    margin: '5px 2px',
  },
  '.cm-lint-marker-error': { content: '""', background: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: '""', background: 'var(--warn)' },
  '.cm-specialChar': { color: 'var(--bad)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--run)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

/** Return a position in characters, as the server counts them, in the units of this language. */
export function units(text: string, characters: number): number {
  if (!/[\ud800-\udbff]/.test(text)) return characters;
  let at = 0;
  for (let left = characters; left > 0 && at < text.length; left -= 1)
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

export interface PlanEditorProps {
  text: string;
  found: Diagnostic[];
  known: Known;
  onChange: (text: string) => void;
  onStep?: (index: number) => void;
  /** The step to show, by its index in the plan. */
  chosen: number | undefined;
}

/**
 * The plan as text. The editor stands in a shadow root: there its rules are a sheet made by
 * script, which needs no exception in the policy of the page, as a `style` element would.
 */
export function PlanEditor({ text, found, known, onChange, onStep, chosen }: PlanEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef({ onChange, onStep, known, chosen });
  useEffect(() => {
    latest.current = { onChange, onStep, known, chosen };
  });
  const first = useRef(text);

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightSpecialChars({ addSpecialChars: HIDDEN }),
          bracketMatching(),
          closeBrackets(),
          json(),
          syntaxHighlighting(colours),
          autocompletion({ override: [completions(() => latest.current.known)] }),
          lintGutter(),
          keymap.of([
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': texts.ask.editor }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((each) => each.isUserEvent('set'))) {
              latest.current.onChange(update.state.doc.toString());
            }
            if (update.selectionSet && update.view.hasFocus) {
              const index = spotAt(update.state, update.state.selection.main.head).path;
              if (
                index[0] === 'steps' &&
                typeof index[1] === 'number' &&
                index[1] !== latest.current.chosen
              )
                latest.current.onStep?.(index[1]);
            }
          }),
          look,
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = undefined;
    };
    // the editor is made once; later texts come through the effect below
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === text) return;
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert: text },
      userEvent: 'set',
    });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const length = editor.state.doc.length;
    const marks: Mark[] = found
      .filter((each) => each.place !== null)
      .map((each) => ({
        from: Math.min(units(text, each.place?.start ?? 0), length),
        to: Math.min(units(text, Math.max(each.place?.end ?? 0, each.place?.start ?? 0)), length),
        severity: each.severity === 'error' && !each.fixed ? 'error' : 'warning',
        source: each.code,
        message: [each.message, each.help ?? '']
          .map((part) => plain(part, 500))
          .join('\n')
          .trim(),
      }));
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [found, text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || chosen === undefined || editor.hasFocus) return;
    const range = rangeOfStep(editor.state, chosen);
    if (range)
      editor.dispatch({
        selection: { anchor: range.from },
        effects: EditorView.scrollIntoView(range.from, { y: 'center' }),
      });
  }, [chosen]);

  return <div className="editor" ref={host} />;
}
