import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useId, useState, type FormEvent } from 'react';
import { client } from '../api/client';
import type { ToolOut } from '../api/types';
import { remember, remembered } from '../drafts';
import { Exact, plain } from '../parts/exact';
import { JsonTree } from '../parts/JsonTree';
import { Result } from '../parts/Result';
import { FailureNote, Trouble } from '../parts/small';
import { isObject, parseText, type Json } from '../plan/plan';
import { href, setParams } from '../router';
import { seconds, texts } from '../texts';

const words = texts.tools;

export function Tools({ name, params }: { name: string | undefined; params: URLSearchParams }) {
  const found = useQuery({ queryKey: ['tools'], queryFn: client.tools, staleTime: 60_000 });
  const wanted = (params.get('text') ?? '').toLowerCase();
  const all = found.data?.tools ?? [];
  const shown = all.filter((each) => `${each.name} ${each.description} ${each.source}`.toLowerCase().includes(wanted));
  const tool = all.find((each) => each.name === name) ?? shown[0];
  return (
    <div className="page tools">
      <h1>{words.title}</h1>
      {found.error && <Trouble error={found.error} />}
      {!found.data && !found.error && <p className="muted">{texts.common.loading}</p>}
      {found.data && (
        <div className="tool-split">
          <div>
            <label>
              <span className="visually-hidden">{words.search}</span>
              <input type="search" value={params.get('text') ?? ''} placeholder={words.search} onChange={(event) => setParams({ text: event.target.value })} />
            </label>
            {shown.length === 0 && <p className="empty">{words.none}</p>}
            <nav aria-label={words.title}>
              <ul className="tool-list">
                {shown.map((each) => (
                  <li key={each.name}>
                    <a href={href(['tools', each.name], { text: params.get('text') ?? undefined })} aria-current={each === tool ? 'true' : undefined}>
                      <span>
                        <Exact text={each.name} most={80} />
                      </span>
                      <span className={`chip ${each.effects === 'read' ? '' : each.effects === 'write' ? 'warn' : 'bad'}`}>{texts.tools.effects[each.effects]}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
          </div>
          {tool && <ToolView key={tool.name} tool={tool} />}
        </div>
      )}
    </div>
  );
}

function ToolView({ tool }: { tool: ToolOut }) {
  return (
    <article className="pane pad stack" aria-label={plain(tool.name)}>
      <h2>
        <Exact text={tool.name} most={120} />
      </h2>
      <p>
        <Exact text={tool.description} />
      </p>
      <p className="muted small">
        {words.source}: <Exact text={tool.source} most={200} /> · {texts.approve.effectKinds[tool.effects]}
      </p>
      {tool.unusable !== null && (
        <p className="notice bad">
          {words.pins}: <Exact text={tool.unusable} />
        </p>
      )}
      <h3>{words.input}</h3>
      <Properties schema={tool.input_schema as Json} />
      <h3>{words.output}</h3>
      {tool.output_schema === null ? <p className="muted">{words.notSaid}</p> : <div className="json" tabIndex={0} role="region" aria-label={words.output}><JsonTree value={tool.output_schema as Json} depth={1} /></div>}
      {tool.lints.length > 0 && (
        <>
          <h3>{words.lints}</h3>
          <ul className="problems">
            {tool.lints.map((each, at) => (
              <li key={at} className="warning">
                <code>{each.code}</code> <Exact text={each.message} />
                <p className="muted">
                  <Exact text={each.help} />
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>{words.tryIt}</h3>
      {tool.can_try ? <TryForm tool={tool} /> : <p className="muted">{words.onlyRead}</p>}
    </article>
  );
}

const propertiesOf = (schema: Json): [string, Record<string, Json>][] => {
  const found = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(found).map(([name, each]) => [name, isObject(each) ? each : {}]);
};

const requiredOf = (schema: Json): Set<Json> => new Set(isObject(schema) && Array.isArray(schema['required']) ? schema['required'] : []);

function typeOf(schema: Record<string, Json>): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((each) => JSON.stringify(each)).join(' | ');
  if (typeof schema['type'] === 'string') return typeof schema['format'] === 'string' ? `${schema['type']} (${schema['format']})` : schema['type'];
  if (Array.isArray(schema['type'])) return schema['type'].join(' | ');
  const any = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(any)) return [...new Set(any.map((each) => (isObject(each) ? typeOf(each) : 'any')))].join(' | ');
  return 'any';
}

function Properties({ schema }: { schema: Json }) {
  const all = propertiesOf(schema);
  const required = requiredOf(schema);
  if (all.length === 0) return <p className="muted">{texts.common.none}</p>;
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={words.input}>
      <table className="plain">
        <tbody>
          {all.map(([name, each]) => (
            <tr key={name}>
              <th scope="row">
                <Exact text={name} most={80} /> {required.has(name) && <span className="chip">{words.required}</span>}
              </th>
              <td>
                <code>
                  <Exact text={typeOf(each)} most={120} />
                </code>
                {typeof each['description'] === 'string' && (
                  <div className="muted">
                    <Exact text={each['description']} most={300} />
                  </div>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A form made from the tool's schema; what has no simple field is written as JSON. */
function TryForm({ tool }: { tool: ToolOut }) {
  const key = `try.${tool.name}`;
  const [values, setValues] = useState<Record<string, string>>(() => {
    const held = parseText(remembered(key) ?? '{}').document;
    return isObject(held ?? null) ? (held as Record<string, string>) : {};
  });
  useEffect(() => remember(key, Object.keys(values).length ? JSON.stringify(values) : null), [key, values]);
  const tried = useMutation({ mutationFn: (args: Record<string, Json>) => client.tryTool(tool.name, args) });
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const properties = propertiesOf(tool.input_schema as Json);
  const required = requiredOf(tool.input_schema as Json);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const args: Record<string, Json> = {};
    const found: Record<string, string> = {};
    for (const [name, schema] of properties) {
      const text = values[name] ?? '';
      if (text === '') continue;
      const read = valueOf(text, schema);
      if (read.error === undefined) args[name] = read.document ?? null;
      else found[name] = read.error;
    }
    setWrong(found);
    if (Object.keys(found).length === 0) tried.mutate(args);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="fields">
        {properties.map(([name, schema]) => (
          <Field
            key={name}
            name={name}
            schema={schema}
            isRequired={required.has(name)}
            value={values[name] ?? ''}
            error={wrong[name]}
            onChange={(text) => {
              const { [name]: _, ...others } = values;
              setValues(text === '' ? others : { ...values, [name]: text });
            }}
          />
        ))}
      </div>
      <div>
        <button type="submit" className="primary" disabled={tried.isPending}>
          {words.call}
        </button>
      </div>
      {tried.error && <Trouble error={tried.error} />}
      {tried.data && (
        <div className="stack" role="status">
          {tried.data.error ? (
            <FailureNote failure={tried.data.error} />
          ) : (
            <>
              {tried.data.took_s !== null && (
                <p className="muted small">
                  {texts.run.took} {seconds(tried.data.took_s)}
                </p>
              )}
              <Result value={tried.data.output as Json} label={texts.run.result} />
            </>
          )}
        </div>
      )}
    </form>
  );
}

interface FieldProps {
  name: string;
  schema: Record<string, Json>;
  isRequired: boolean;
  value: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

function Field({ name, schema, isRequired, value, error, onChange }: FieldProps) {
  const id = useId();
  const listed = Array.isArray(schema['enum']) ? schema['enum'] : schema['type'] === 'boolean' ? [true, false] : undefined;
  const isText = schema['type'] === 'string';
  const kind = isText && schema['format'] === 'date' ? 'date' : schema['type'] === 'number' || schema['type'] === 'integer' ? 'number' : 'text';
  return (
    <div>
      <label htmlFor={id} className="field-name">
        <Exact text={name} most={80} /> {isRequired ? <span className="chip">{words.required}</span> : ''}
        {!isText && kind === 'text' && listed === undefined && <span className="muted"> {words.jsonHint}</span>}
      </label>
      {listed ? (
        <select id={id} value={value} required={isRequired} onChange={(event) => onChange(event.target.value)}>
          <option value="">–</option>
          {listed.map((each) => (
            <option key={JSON.stringify(each)} value={typeof each === 'string' ? each : JSON.stringify(each)}>
              {plain(typeof each === 'string' ? each : JSON.stringify(each), 80)}
            </option>
          ))}
        </select>
      ) : (
        <input id={id} type={kind} step="any" value={value} required={isRequired} aria-invalid={error !== undefined} onChange={(event) => onChange(event.target.value)} />
      )}
      {error !== undefined && <span className="field-error">{error}</span>}
    </div>
  );
}

/** Read what was typed by its schema: text as it is where only text fits, otherwise JSON or text. */
function valueOf(text: string, schema: Record<string, Json>): { document?: Json; error?: string } {
  const choice = Array.isArray(schema['enum']) ? schema['enum'].find((each) => (typeof each === 'string' ? each : JSON.stringify(each)) === text) : undefined;
  if (choice !== undefined) return { document: choice };
  if (schema['type'] === 'string') return { document: text };
  const parsed = parseText(text);
  if (parsed.error === undefined) return parsed;
  return typeOf(schema).includes('string') ? { document: text } : parsed;
}
