// Where the cursor is in JSON text: keys and indexes from the outside in.
import { ensureSyntaxTree, syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import type { SyntaxNode } from '@lezer/common';

export interface Spot {
  path: (string | number)[];
  /** The cursor is in the name of a key of the object at `path`. */
  isKey: boolean;
  node: SyntaxNode;
}

const VALUES = new Set(['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']);

export function keyOf(state: EditorState, property: SyntaxNode): string {
  const name = property.getChild('PropertyName');
  if (!name) return '';
  try {
    return String(JSON.parse(state.sliceDoc(name.from, name.to)));
  } catch {
    return '';
  }
}

export function spotAt(state: EditorState, pos: number): Spot {
  const node = syntaxTree(state).resolveInner(pos, -1);
  const path: (string | number)[] = [];
  for (let here: SyntaxNode | null = node; here; here = here.parent) {
    const parent: SyntaxNode | null = here.parent;
    if (parent?.name === 'Property' && here.name !== 'PropertyName')
      path.unshift(keyOf(state, parent));
    if (parent?.name === 'Array' && VALUES.has(here.name)) {
      let index = 0;
      for (let before = here.prevSibling; before; before = before.prevSibling)
        if (VALUES.has(before.name)) index += 1;
      path.unshift(index);
    }
  }
  return { path, isKey: node.name === 'PropertyName' || node.name === 'Object', node };
}

/** Return where the step at `index` stands in the text. */
export function rangeOfStep(
  state: EditorState,
  index: number,
): { from: number; to: number } | undefined {
  const tree = ensureSyntaxTree(state, state.doc.length, 300) ?? syntaxTree(state);
  const root = tree.topNode.getChild('Object');
  const steps = root
    ?.getChildren('Property')
    .find((each) => keyOf(state, each) === 'steps')
    ?.getChild('Array');
  const step = steps?.getChildren('Object')[index];
  return step && { from: step.from, to: step.to };
}
