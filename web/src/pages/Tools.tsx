import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useId, useState, type FormEvent } from 'react';
import { client } from '../api/client';
import type { ToolOut } from '../api/types';
import { remember, remembered } from '../drafts';
import { bare } from '../parts/bare';
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
  const shown = all.filter((each) =>
    `${each.name} ${each.description} ${each.source}`.toLowerCase().includes(wanted),
  );
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
              <input
                type="search"
                value={params.get('text') ?? ''}
                placeholder={words.search}
                onChange={(event) => setParams({ text: event.target.value })}
              />
            </label>
            {shown.length === 0 && <p className="empty">{words.none}</p>}
            <nav aria-label={words.title}>
              <ul className="tool-list">
                {shown.map((each) => (
                  <li key={each.name}>
                    <a
                      href={href(['tools', each.name], { text: params.get('text') ?? undefined })}
                      aria-current={each === tool ? 'true' : undefined}
                    >
                      <span>
                        <Exact text={each.name} most={80} />
                      </span>
                      {each.unusable !== null && (
                        <span className="chip bad">
                          {each.changes.length > 0 ? words.isChanged : words.isRefused}
                        </span>
                      )}
                      <span
                        className={`chip ${each.effects === 'read' ? '' : each.effects === 'write' ? 'warn' : 'bad'}`}
                      >
                        {texts.tools.effects[each.effects]}
                      </span>
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
        {words.source}: <Exact text={tool.source} most={200} /> ·{' '}
        {texts.approve.effectKinds[tool.effects]}
      </p>
      {tool.pin !== null && (
        <p className="muted small">
          {words.pin}{' '}
          <code className="digest">
            <Exact text={tool.pin} whole />
          </code>
        </p>
      )}
      <Refused tool={tool} />
      <h3>{words.input}</h3>
      <Properties schema={tool.input_schema as Json} />
      <h3>{words.output}</h3>
      {tool.output_schema === null ? (
        <p className="muted">{words.notSaid}</p>
      ) : (
        <div className="json" tabIndex={0} role="region" aria-label={words.output}>
          <JsonTree value={tool.output_schema as Json} depth={1} />
        </div>
      )}
      {tool.lints.length > 0 && (
        <>
          <h3>{words.lints}</h3>
          <ul className="problems">
            {tool.lints.map((each, at) => (
              <li key={at} className="warning">
                <code>
                  <Exact text={each.code} most={80} />
                </code>{' '}
                <Exact text={each.message} />
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

/** Why a tool cannot be used; where it has changed since it was accepted, each change whole and exact. */
function Refused({ tool }: { tool: ToolOut }) {
  if (tool.unusable === null) return null;
  if (tool.changes.length === 0) {
    return (
      <p className="notice bad">
        {words.refused}: <Exact text={tool.unusable} />
      </p>
    );
  }
  return (
    <section className="notice bad stack">
      <h3>{words.changes}</h3>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={words.changes}>
        <table className="facts">
          <thead>
            <tr>
              <th scope="col">{words.place}</th>
              <th scope="col">{words.before}</th>
              <th scope="col">{words.after}</th>
            </tr>
          </thead>
          <tbody>
            {tool.changes.map((each) => (
              <tr key={each.place}>
                <th scope="row">
                  <Exact text={each.place} whole />
                </th>
                <td className="exact-value">
                  {each.before === null ? (
                    <span className="muted">–</span>
                  ) : (
                    <Exact text={each.before} whole />
                  )}
                </td>
                <td className="exact-value">
                  {each.after === null ? (
                    <span className="muted">–</span>
                  ) : (
                    <Exact text={each.after} whole />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {tool.warnings.map((each) => (
        <p key={each}>
          <Exact text={each} whole />
        </p>
      ))}
      <p>
        {words.accept}{' '}
        <code>{`toolplan tools ${plain(tool.name, 200)} --tools FILE --accept`}</code>
      </p>
    </section>
  );
}

const propertiesOf = (schema: Json): [string, Record<string, Json>][] => {
  const found = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(found).map(([name, each]) => [name, isObject(each) ? each : {}]);
};

const requiredOf = (schema: Json): Set<Json> =>
  new Set(isObject(schema) && Array.isArray(schema['required']) ? schema['required'] : []);

function typeOf(schema: Record<string, Json>): string {
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((each) => JSON.stringify(each)).join(' | ');
  if (typeof schema['type'] === 'string')
    return typeof schema['format'] === 'string'
      ? `${schema['type']} (${schema['format']})`
      : schema['type'];
  if (Array.isArray(schema['type']))
    return schema['type'].filter((each) => typeof each === 'string').join(' | ');
  const any = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(any))
    return [...new Set(any.map((each) => (isObject(each) ? typeOf(each) : 'any')))].join(' | ');
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
                <Exact text={name} most={80} />{' '}
                {required.has(name) && <span className="chip">{words.required}</span>}
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
  const [values, setValues] = useState(() => heldValues(key));
  useEffect(
    () => remember(key, values.size > 0 ? JSON.stringify([...values]) : null),
    [key, values],
  );
  const tried = useMutation({
    mutationFn: (args: Record<string, Json>) => client.tryTool(tool.name, args),
  });
  const [wrong, setWrong] = useState<ReadonlyMap<string, string>>(new Map());
  const properties = propertiesOf(tool.input_schema as Json);
  const required = requiredOf(tool.input_schema as Json);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const args: Record<string, Json> = bare({});
    const found = new Map<string, string>();
    for (const [name, schema] of properties) {
      const text = values.get(name) ?? '';
      if (text === '') continue;
      const read = valueOf(text, schema);
      if (read.error === undefined) args[name] = read.document ?? null;
      else found.set(name, read.error);
    }
    setWrong(found);
    if (found.size === 0) tried.mutate(args);
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
            value={values.get(name) ?? ''}
            error={wrong.get(name)}
            onChange={(text) => {
              const changed = new Map(values);
              if (text === '') changed.delete(name);
              else changed.set(name, text);
              setValues(changed);
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

/** Return what was typed before, by argument; an argument may be named `__proto__`, so it is no key of an object. */
function heldValues(key: string): ReadonlyMap<string, string> {
  const held = parseText(remembered(key) ?? '[]').document;
  if (!Array.isArray(held)) return new Map();
  return new Map(
    held.filter(
      (each): each is [string, string] =>
        Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string'),
    ),
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
  const listed = Array.isArray(schema['enum'])
    ? schema['enum']
    : schema['type'] === 'boolean'
      ? [true, false]
      : undefined;
  const isText = schema['type'] === 'string';
  const kind =
    isText && schema['format'] === 'date'
      ? 'date'
      : schema['type'] === 'number' || schema['type'] === 'integer'
        ? 'number'
        : 'text';
  return (
    <div>
      <label htmlFor={id} className="field-name">
        <Exact text={name} most={80} />{' '}
        {isRequired ? <span className="chip">{words.required}</span> : ''}
        {!isText && kind === 'text' && listed === undefined && (
          <span className="muted"> {words.jsonHint}</span>
        )}
      </label>
      {listed ? (
        <select
          id={id}
          value={value}
          required={isRequired}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="">–</option>
          {listed.map((each) => (
            <option
              key={JSON.stringify(each)}
              value={typeof each === 'string' ? each : JSON.stringify(each)}
            >
              {plain(typeof each === 'string' ? each : JSON.stringify(each), 80)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={kind}
          step="any"
          value={value}
          required={isRequired}
          aria-invalid={error !== undefined}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {error !== undefined && <span className="field-error">{error}</span>}
    </div>
  );
}

/** Read what was typed by its schema: text as it is where only text fits, otherwise JSON or text. */
function valueOf(text: string, schema: Record<string, Json>): { document?: Json; error?: string } {
  const choice = Array.isArray(schema['enum'])
    ? schema['enum'].find(
        (each) => (typeof each === 'string' ? each : JSON.stringify(each)) === text,
      )
    : undefined;
  if (choice !== undefined) return { document: choice };
  if (schema['type'] === 'string') return { document: text };
  const parsed = parseText(text);
  if (parsed.error === undefined) return parsed;
  return typeOf(schema).includes('string') ? { document: text } : parsed;
}
