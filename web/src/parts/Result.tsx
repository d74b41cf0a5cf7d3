import * as Tabs from '@radix-ui/react-tabs';
import { useMemo, useState } from 'react';
import type { Json } from '../plan/plan';
import { texts } from '../texts';
import { Chart } from './later';
import { DataTable } from './DataTable';
import { JsonTree } from './JsonTree';
import { Take } from './Take';
import { axesOf, partsOf, pictureOf, saidOf, textOf, type Fact, type Table } from './data';
import { Exact, plain } from './exact';

const MOST_FACTS = 200;

/** A result: as a table and a picture where it is one, always as JSON. */
export function Result({ value, label }: { value: Json; label: string }) {
  const { tables, facts } = useMemo(() => partsOf(value), [value]);
  const table = tables[0];
  const picture = useMemo(() => (table ? pictureOf(table) : undefined), [table]);
  const [wanted, setWanted] = useState('table');
  const kinds = [table && 'table', picture && 'chart', 'tree'].filter(
    (each): each is 'table' | 'chart' | 'tree' => Boolean(each),
  );
  const kind = kinds.find((each) => each === wanted) ?? kinds[0] ?? 'tree';
  return (
    <Tabs.Root className="tabs" value={kind} onValueChange={setWanted}>
      <Tabs.List className="tab-list small" aria-label={label}>
        {kinds.map((each) => (
          <Tabs.Trigger key={each} value={each} className="tab">
            {texts.run[each]}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Take value={value} tables={tables} label={label} />
      {table && (
        <Tabs.Content value="table" className="stack">
          <Facts facts={facts} />
          {tables.map((each) => (
            <section key={each.path}>
              {(tables.length > 1 || facts.length > 0) && (
                <p className="muted">
                  <Exact text={each.path} />
                </p>
              )}
              <DataTable table={each} label={each.path || label} />
            </section>
          ))}
        </Tabs.Content>
      )}
      {table && picture && (
        <Tabs.Content value="chart">
          <Drawn table={table} />
        </Tabs.Content>
      )}
      <Tabs.Content value="tree">
        <div className="json" tabIndex={0} role="region" aria-label={label}>
          <JsonTree value={value} />
        </div>
      </Tabs.Content>
    </Tabs.Root>
  );
}

/** The chart of a table, its columns to choose from, and the row under the pointer in words. */
function Drawn({ table }: { table: Table }) {
  const [chosen, setChosen] = useState<{ x?: string; y?: string }>({});
  const [at, setAt] = useState<number>();
  const axes = useMemo(() => axesOf(table), [table]);
  const picture = useMemo(() => pictureOf(table, chosen.x, chosen.y), [table, chosen]);
  if (!picture) return null;
  const choose = (axis: 'x' | 'y', names: string[]) =>
    names.length > 1 && (
      <label className="inline-field">
        {axis === 'x' ? texts.run.along : texts.run.drawn}{' '}
        <select
          value={picture[axis]}
          onChange={(event) => setChosen({ ...chosen, [axis]: event.target.value })}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {plain(name, 60)}
            </option>
          ))}
        </select>
      </label>
    );
  const names = (columns: { name: string }[]): string[] => columns.map((each) => each.name);
  const pointed = at === undefined ? undefined : picture.labels[at];
  return (
    <>
      <p className="row">
        {choose('y', names(axes.numbers))}
        {choose('x', names(axes.numbers.length ? [...axes.times, ...axes.groups] : axes.times))}
      </p>
      <Chart picture={picture} label={plain(saidOf(picture), 400)} onPoint={setAt} />
      <p className="muted">
        <Exact
          text={
            at === undefined || pointed === undefined
              ? saidOf(picture)
              : `${picture.x} ${pointed}: ${picture.y} ${picture.values[at] || 'null'}`
          }
        />
      </p>
    </>
  );
}

/** The values beside the tables: a warning or an error there may say more than all rows. */
function Facts({ facts }: { facts: Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <>
      <dl className="facts">
        {facts.slice(0, MOST_FACTS).map((each) => (
          <div key={each.path} className="row">
            <dt className="muted">
              <Exact text={each.path} />
            </dt>
            <dd>
              <Exact text={each.value === null ? 'null' : textOf(each.value)} most={400} />
            </dd>
          </div>
        ))}
      </dl>
      {facts.length > MOST_FACTS && (
        <p className="muted">{texts.run.moreFacts(facts.length - MOST_FACTS)}</p>
      )}
    </>
  );
}
