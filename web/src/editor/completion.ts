// What may stand at the cursor: keys and words from the plan's JSON Schema, tools and their
// arguments, and steps that can be referred to.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { ToolOut } from '../api/types';
import { plain } from '../parts/exact';
import { at, isObject, parseText, readPlan, type Json } from '../plan/plan';
import { spotAt } from './places';

export interface Known {
  schema: Json;
  tools: ToolOut[];
}

const keysOf = (schema: Json | undefined, type: string): Completion[] => {
  const found = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(found).map(([label, each]) => {
    const says =
      isObject(each) && typeof each['description'] === 'string' ? each['description'] : '';
    return { label, type, ...(says ? { info: plain(says, 300) } : {}) };
  });
};

const wordsOf = (schema: Json | undefined): Completion[] =>
  isObject(schema) && Array.isArray(schema['enum'])
    ? schema['enum']
        .filter((each): each is string => typeof each === 'string')
        .map((label) => ({ label, type: 'enum' }))
    : [];

export function completions(known: () => Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context;
    const { path, isKey, node } = spotAt(state, pos);
    const { schema, tools } = known();
    const before = state.sliceDoc(state.doc.lineAt(pos).from, pos);
    const reference = /\$\{([A-Za-z0-9_-]*)$/.exec(before);
    if (reference) {
      const plan = readPlan(parseText(state.doc.toString()).document);
      const ids = plan.steps.map((step) => step.id);
      const found = [...ids, 'item', 'index'].map((label) => ({ label, type: 'variable' }));
      return { from: pos - (reference[1] ?? '').length, options: found };
    }
    if (path[0] !== 'steps' && path.length > 0) return null;
    const isQuoted = node.name === 'PropertyName' || node.name === 'String';
    if (!isQuoted && !context.explicit) return null;
    const stepSchema = at(schema, '/$defs/step');
    const tool = (): ToolOut | undefined => {
      const name = /"tool"\s*:\s*"([^"]+)"/.exec(textOfStep(state.doc.toString(), pos))?.[1];
      return tools.find((each) => each.name === name);
    };
    let options: Completion[] = [];
    if (isKey && path.length === 0) options = keysOf(schema, 'keyword');
    else if (isKey && path.length === 2) options = keysOf(stepSchema, 'keyword');
    else if (isKey && path.length === 3 && path[2] === 'args')
      options = keysOf(tool()?.input_schema as Json, 'property');
    else if (path.length === 3 && path[2] === 'tool')
      options = tools.map((each) => ({
        label: each.name,
        type: 'function',
        info: plain(each.description, 300),
      }));
    else if (path.length === 4 && path[2] === 'args')
      options = wordsOf(at(tool()?.input_schema as Json, `/properties/${String(path[3])}`));
    else if (path.length === 3) options = wordsOf(at(stepSchema, `/properties/${String(path[2])}`));
    if (options.length === 0) return null;
    if (isQuoted) return { from: Math.min(node.from + 1, pos), options };
    return {
      from: pos,
      options: options.map((each) => ({
        ...each,
        apply: isKey ? `"${each.label}": ` : `"${each.label}"`,
      })),
    };
  };
}

/** Return the text of the innermost object with an `args` or `tool` around `pos`, roughly. */
function textOfStep(text: string, pos: number): string {
  const from = Math.max(text.lastIndexOf('"id"', pos), 0);
  const next = text.indexOf('"id"', pos);
  return text.slice(from, next < 0 ? text.length : next);
}
