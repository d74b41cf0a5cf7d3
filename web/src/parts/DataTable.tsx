import { useMemo, useState } from 'react';
import { isNumber } from '../api/exact-json';
import { texts } from '../texts';
import { compare, textOf, type Table } from './data';
import { Exact, plain } from './exact';

/** Cells that are shown at once: a table with many columns shows fewer rows. */
const MOST_CELLS = 6_000;
const LONG = 48;

/** Records as a table that sorts by any column; long ones show more on demand. */
export function DataTable({ table, label }: { table: Table; label: string }) {
  const [order, setOrder] = useState<{ column: number; down: boolean }>();
  const page = Math.min(
    100,
    Math.max(5, Math.floor(MOST_CELLS / Math.max(1, table.columns.length))),
  );
  const [most, setMost] = useState(page);
  const [wanted, setWanted] = useState('');
  const rows = useMemo(() => {
    const needle = wanted.trim().toLowerCase();
    const found = needle
      ? table.rows.filter((row) => row.some((cell) => textOf(cell).toLowerCase().includes(needle)))
      : [...table.rows];
    if (order)
      found.sort(
        (one, other) =>
          compare(one[order.column] ?? null, other[order.column] ?? null) * (order.down ? -1 : 1),
      );
    return found;
  }, [table, order, wanted]);
  const numeric = table.columns.map((_, at) =>
    table.rows.every((row) => row[at] === null || isNumber(row[at])),
  );
  return (
    <div className="data-table">
      <div className="row between">
        <span className="muted">{texts.common.rows(rows.length)}</span>
        {table.rows.length > 10 && (
          <label className="inline-field">
            <span className="visually-hidden">{texts.run.filter}</span>
            <input
              type="search"
              value={wanted}
              placeholder={texts.run.filter}
              onChange={(event) => setWanted(event.target.value)}
            />
          </label>
        )}
      </div>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
        <table className="as-cards">
          <thead>
            <tr>
              {table.columns.map((name, column) => {
                const isOrder = order?.column === column;
                return (
                  <th
                    key={name}
                    scope="col"
                    className={numeric[column] ? 'number' : ''}
                    aria-sort={isOrder ? (order.down ? 'descending' : 'ascending') : 'none'}
                  >
                    <button
                      type="button"
                      className="sort"
                      onClick={() => setOrder({ column, down: isOrder && !order.down })}
                    >
                      <Exact text={name} most={60} />
                      <span aria-hidden="true">{isOrder ? (order.down ? ' ↓' : ' ↑') : ''}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td
                    key={column}
                    data-name={plain(table.columns[column] ?? '', 60)}
                    className={
                      numeric[column] ? 'number' : textOf(cell).length > LONG ? 'long' : ''
                    }
                  >
                    {cell === null ? (
                      <span className="muted">–</span>
                    ) : (
                      <Exact text={textOf(cell)} most={160} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > most && (
        <button type="button" className="quiet" onClick={() => setMost(most + 5 * page)}>
          {texts.run.more(Math.min(rows.length - most, 5 * page))}
        </button>
      )}
    </div>
  );
}
