import * as Tabs from '@radix-ui/react-tabs';
import { useMemo, useState } from 'react';
import type { Json } from '../plan/plan';
import { texts } from '../texts';
import { Chart } from './Chart';
import { DataTable } from './DataTable';
import { JsonTree } from './JsonTree';
import { pictureOf, tableOf } from './data';
import { plain } from './exact';

/** A result: as a table and a picture where it is one, always as JSON. */
export function Result({ value, label }: { value: Json; label: string }) {
  const table = useMemo(() => tableOf(value), [value]);
  const picture = useMemo(() => (table ? pictureOf(table) : undefined), [table]);
  const [wanted, setWanted] = useState('table');
  const kinds = [table && 'table', picture && 'chart', 'tree'].filter((each): each is 'table' | 'chart' | 'tree' => Boolean(each));
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
      {table && (
        <Tabs.Content value="table">
          <DataTable table={table} label={label} />
        </Tabs.Content>
      )}
      {picture && (
        <Tabs.Content value="chart">
          <Chart picture={picture} label={`${plain(picture.y, 60)} / ${plain(picture.x, 60)}`} />
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
