import { useState } from 'react';
import type { Json } from '../plan/plan';
import { texts } from '../texts';
import { plain } from './exact';
import { csvOf, type NamedTable } from './data';

/** What takes a result away: copied or as a file, always whole. */
export function Take({
  value,
  tables,
  label,
}: {
  value: Json;
  tables: NamedTable[];
  label: string;
}) {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    const done =
      navigator.clipboard?.writeText(JSON.stringify(value, null, 2)) ?? Promise.reject(new Error());
    done.then(
      () => setSaid(texts.run.copied),
      () => setSaid(texts.run.notCopied),
    );
  };
  return (
    <div className="row" role="group" aria-label={texts.run.take(label)}>
      <button type="button" className="quiet" onClick={copy}>
        {texts.run.copy}
      </button>
      <button
        type="button"
        className="quiet"
        onClick={() => save(JSON.stringify(value, null, 2), 'json')}
      >
        JSON
      </button>
      {tables.map((each) => (
        <button
          key={each.path}
          type="button"
          className="quiet"
          onClick={() => save(csvOf(each), 'csv')}
        >
          {tables.length > 1 ? `CSV: ${plain(each.path, 60)}` : 'CSV'}
        </button>
      ))}
      <span role="status" className="muted">
        {said}
      </span>
    </div>
  );
}

function save(text: string, kind: 'csv' | 'json'): void {
  const address = URL.createObjectURL(
    new Blob([text], { type: kind === 'csv' ? 'text/csv;charset=utf-8' : 'application/json' }),
  );
  const link = document.createElement('a');
  link.href = address;
  link.download = `result.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
