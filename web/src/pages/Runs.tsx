import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client';
import type { RunLine } from '../api/types';
import { Exact, plain } from '../parts/exact';
import { State, Trouble } from '../parts/small';
import { href, setParams } from '../router';
import { moment, texts } from '../texts';

const words = texts.runs;
// by the status in the journal, which counts are of
const STATES = {
  waiting: ['waiting'],
  in_doubt: ['in_doubt'],
  running: ['running', 'interrupted', 'no_worker', 'parked'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  cancelled: ['cancelled', 'refused'],
};

export function Runs({ params }: { params: URLSearchParams }) {
  const filter = {
    state: params.get('state') ?? '',
    tool: params.get('tool') ?? '',
    day: params.get('day') ?? '',
    text: params.get('text') ?? '',
  };
  const after = params.get('after') ?? '';
  const picked = (params.get('picked') ?? '').split(' ').filter(Boolean);
  const found = useQuery({
    queryKey: ['runs', filter, after],
    queryFn: () => client.runs({ ...filter, after }),
    refetchInterval: 3_000,
    placeholderData: (before) => before,
  });
  const tools = useQuery({ queryKey: ['tools'], queryFn: client.tools, staleTime: 60_000 });
  const choose = (changes: Record<string, string | undefined>): void =>
    setParams({ ...changes, after: undefined });
  const page = (cursor: string | undefined): string =>
    href(['runs'], { ...filter, picked: picked.join(' '), after: cursor });
  const isFiltered = Object.values(filter).some(Boolean);
  const pick = (run: string): void => {
    const now = picked.includes(run)
      ? picked.filter((each) => each !== run)
      : [...picked, run].slice(-2);
    setParams({ picked: now.join(' ') });
  };
  // side by side: the older one is before
  const pair = (found.data?.runs ?? [])
    .map((each) => each.run)
    .filter((each) => picked.includes(each))
    .reverse();
  return (
    <div className="page runs">
      <div className="row between">
        <h1>{words.title}</h1>
        {pair.length === 2 ? (
          <a className="button primary" href={href(['compare', ...pair])}>
            {words.compare}
          </a>
        ) : (
          <span className="muted small">{words.compareHint}</span>
        )}
      </div>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span className="field-name">{words.state}</span>
          <select value={filter.state} onChange={(event) => choose({ state: event.target.value })}>
            <option value="">{words.any}</option>
            {Object.entries(STATES).map(([status, states]) => (
              <optgroup key={status} label={found.data && words.counted(found.data.counts[status])}>
                {states.map((each) => (
                  <option key={each} value={each}>
                    {texts.states[each]}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
        <label>
          <span className="field-name">{words.tool}</span>
          <input
            value={filter.tool}
            list="tools-of-runs"
            onChange={(event) => choose({ tool: event.target.value })}
          />
          <datalist id="tools-of-runs">
            {tools.data?.tools.map((each) => (
              <option key={each.name} value={each.name} />
            ))}
          </datalist>
        </label>
        <label>
          <span className="field-name">{words.day}</span>
          <input
            type="date"
            value={filter.day}
            onChange={(event) => choose({ day: event.target.value })}
          />
        </label>
        <label>
          <span className="field-name">{words.text}</span>
          <input
            type="search"
            value={filter.text}
            placeholder={words.textHint}
            onChange={(event) => choose({ text: event.target.value })}
          />
        </label>
        {isFiltered && (
          <button
            type="button"
            className="quiet"
            onClick={() =>
              choose({ state: undefined, tool: undefined, day: undefined, text: undefined })
            }
          >
            {words.clear}
          </button>
        )}
      </form>
      {found.error && <Trouble error={found.error} />}
      {found.data?.stranded.map((each) => (
        <div key={each.text} className="notice warn" role="status">
          <p>
            <Exact text={each.text} whole />
          </p>
          <p className="muted">
            <Exact text={each.help} whole />
          </p>
        </div>
      ))}
      {found.data && (
        <List
          runs={found.data.runs}
          picked={picked}
          onPick={pick}
          none={
            !isFiltered ? words.none : found.data.next === null ? words.noneFound : words.noneYet
          }
        />
      )}
      {!found.data && !found.error && <p className="muted">{texts.common.loading}</p>}
      <p className="row">
        {after !== '' && (
          <a className="button" href={page(undefined)}>
            {words.newest}
          </a>
        )}
        {found.data?.next && (
          <a className="button" href={page(found.data.next)}>
            {words.more}
          </a>
        )}
        {isFiltered && found.data?.next && found.data.until !== null && (
          <span className="muted">{words.until(moment(found.data.until))}</span>
        )}
      </p>
    </div>
  );
}

function List({
  runs,
  picked,
  onPick,
  none,
}: {
  runs: RunLine[];
  picked: string[];
  onPick: (run: string) => void;
  none: string;
}) {
  if (runs.length === 0) return <p className="empty">{none}</p>;
  return (
    <ul className="run-list">
      {runs.map((each) => (
        <li key={each.run} className="run-line">
          <input
            type="checkbox"
            checked={picked.includes(each.run)}
            aria-label={words.select(plain(each.question || each.run, 80))}
            onChange={() => onPick(each.run)}
          />
          <div className="grow">
            <a href={href([each.status === 'waiting' ? 'approve' : 'runs', each.run])}>
              <Exact text={each.question || each.run} most={160} />
            </a>
            <div className="muted small">
              <time dateTime={new Date(each.created_at * 1000).toISOString()}>
                {moment(each.created_at)}
              </time>{' '}
              · <Exact text={each.tools} most={120} /> ·{' '}
              <code>
                <Exact text={each.run.slice(0, 8)} whole />
              </code>
            </div>
          </div>
          <span title={plain(each.note)}>
            <State state={each.state} />
          </span>
        </li>
      ))}
    </ul>
  );
}
