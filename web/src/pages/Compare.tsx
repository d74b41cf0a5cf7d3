import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client';
import type { RunLine } from '../api/types';
import { PlanGraph } from '../parts/later';
import { Exact } from '../parts/exact';
import { Changes, DifferenceView, State, Trouble } from '../parts/small';
import { href } from '../router';
import { runQuery } from '../run/useRun';
import { moment, seconds, texts } from '../texts';

export function Compare({ before, after }: { before: string; after: string }) {
  const difference = useQuery({
    queryKey: ['diff', before, after],
    queryFn: () => client.runDiff(before, after),
  });
  return (
    <div className="page compare">
      <h1>{texts.runs.side}</h1>
      {difference.error && <Trouble error={difference.error} />}
      {difference.data && (
        <>
          <div className="two">
            <Side line={difference.data.before} name={texts.diff.before} />
            <Side line={difference.data.after} name={texts.diff.after} />
          </div>
          <section className="pane pad">
            <h2>{texts.runs.results}</h2>
            {difference.data.results.length === 0 ? (
              <p className="notice ok">{texts.runs.sameResults}</p>
            ) : (
              <Changes changes={difference.data.results} />
            )}
          </section>
          <section className="pane pad">
            <h2>{texts.runs.differences}</h2>
            <DifferenceView difference={difference.data.difference} />
          </section>
        </>
      )}
    </div>
  );
}

function Side({ line, name }: { line: RunLine; name: string }) {
  const run = useQuery(runQuery(line.run));
  return (
    <section className="pane" aria-label={name}>
      <div className="pad">
        <h2 className="quiet-head">{name}</h2>
        <p>
          <a href={href(['runs', line.run])}>
            <Exact text={line.question || line.run} most={160} />
          </a>
        </p>
        <p className="row muted small">
          <State state={line.state} /> <Exact text={line.note} />
          <span>{moment(line.created_at)}</span>
          {run.data?.took_s != null && (
            <span>
              {texts.run.took} {seconds(run.data.took_s)}
            </span>
          )}
        </p>
      </div>
      {run.data && (
        <div className="graph-pane short">
          <PlanGraph
            graph={run.data.graph}
            states={run.data.steps}
            label={`${name}: ${texts.run.graph}`}
          />
        </div>
      )}
    </section>
  );
}
