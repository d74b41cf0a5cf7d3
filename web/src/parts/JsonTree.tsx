import { useState } from 'react';
import { isObject, type Json } from '../plan/plan';
import { isNumber } from '../api/exact-json';
import { texts } from '../texts';
import { Exact } from './exact';

const MOST = 100;

/** JSON as nested lists that open and close; large ones show more on demand. */
export function JsonTree({
  value,
  name,
  depth = 0,
}: {
  value: Json;
  name?: string;
  depth?: number;
}) {
  const [isOpen, setOpen] = useState(depth < 2);
  const [most, setMost] = useState(MOST);
  const key =
    name === undefined ? null : (
      <span className="json-key">
        <Exact text={name} most={120} />:{' '}
      </span>
    );
  if (!Array.isArray(value) && !isObject(value)) {
    return (
      <div className="json-line">
        {key}
        <span
          className={`json-${value === null ? 'null' : isNumber(value) ? 'number' : typeof value}`}
        >
          <Exact text={typeof value === 'string' ? JSON.stringify(value) : String(value)} />
        </span>
      </div>
    );
  }
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((each, at) => [String(at), each])
    : Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div className="json-line">
        {key}
        {Array.isArray(value) ? '[]' : '{}'}
      </div>
    );
  }
  return (
    <details
      className="json-node"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {key}
        <span className="muted">{size}</span>
      </summary>
      {isOpen && (
        <div className="json-inner">
          {entries.slice(0, most).map(([inner, each]) => (
            <JsonTree key={inner} name={inner} value={each} depth={depth + 1} />
          ))}
          {entries.length > most && (
            <button type="button" className="quiet" onClick={() => setMost(most + 5 * MOST)}>
              {texts.run.more(Math.min(entries.length - most, 5 * MOST))}
            </button>
          )}
        </div>
      )}
    </details>
  );
}
