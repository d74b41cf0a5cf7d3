import * as Tabs from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';
import type { CheckedPlan, Forecast, UnderstoodOut } from '../api/types';
import { textOf } from '../parts/data';
import { Exact } from '../parts/exact';
import { Args, Problems } from '../parts/small';
import { at, isObject, readPlan, type Json } from '../plan/plan';
import { setParams } from '../router';
import { seconds, texts } from '../texts';
import type { PlanState } from './Ask';

type Tab = keyof typeof texts.ask.tabs;

interface AskPanelProps {
  checked: CheckedPlan;
  plan: PlanState;
  chosen: string | undefined;
  onChoose: (step: string | undefined) => void;
  tab: string | undefined;
  editor: ReactNode;
}

/** What is known of the plan, beside its graph. */
export function AskPanel({ checked, plan, chosen, onChoose, tab, editor }: AskPanelProps) {
  const problems = checked.diagnostics.length;
  const tabs: Tab[] = ['understood', 'step', 'text', 'problems', 'forecast'];
  const fallback: Tab = !checked.valid ? 'problems' : 'understood';
  const value = tabs.find((each) => each === tab) ?? fallback;
  return (
    <Tabs.Root
      className="tabs fill"
      value={value}
      onValueChange={(next) => setParams({ tab: next })}
    >
      <Tabs.List className="tab-list" aria-label={texts.ask.plan}>
        {tabs.map((each) => (
          <Tabs.Trigger key={each} value={each} className="tab">
            {texts.ask.tabs[each]}
            {each === 'problems' && problems > 0 && (
              <span className={`count ${checked.valid ? '' : 'bad'}`}>{problems}</span>
            )}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="understood" className="tab-body">
        <UnderstoodView
          found={checked.understood}
          plan={checked.plan as Json}
          onChoose={onChoose}
        />
      </Tabs.Content>
      <Tabs.Content value="step" className="tab-body">
        <StepView plan={checked.plan as Json} step={chosen} checked={checked} />
      </Tabs.Content>
      <Tabs.Content value="text" className="tab-body flush">
        {editor}
      </Tabs.Content>
      <Tabs.Content value="problems" className="tab-body">
        {plan.jsonError !== undefined && (
          <p className="notice bad">
            {texts.ask.notJson}: <Exact text={plan.jsonError} />
          </p>
        )}
        <Problems
          found={checked.diagnostics}
          onChoose={(found) => onChoose(found.step ?? undefined)}
        />
      </Tabs.Content>
      <Tabs.Content value="forecast" className="tab-body">
        {checked.forecast ? (
          <ForecastView forecast={checked.forecast} />
        ) : (
          <p className="muted">{texts.ask.forecast.none}</p>
        )}
      </Tabs.Content>
    </Tabs.Root>
  );
}

function UnderstoodView({
  found,
  plan,
  onChoose,
}: {
  found: UnderstoodOut[];
  plan: Json;
  onChoose: (step: string) => void;
}) {
  const noted = at(plan, '/metadata/notes');
  const notes = Array.isArray(noted)
    ? noted.filter((each): each is string => typeof each === 'string')
    : [];
  const words = found.filter((each) => each.text !== null);
  return (
    <>
      {words.length === 0 ? (
        <p className="muted">{texts.ask.understoodNone}</p>
      ) : (
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{texts.ask.words}</th>
              <th scope="col">{texts.ask.becomes}</th>
            </tr>
          </thead>
          <tbody>
            {words.map((each, index) => (
              <tr key={index}>
                <td>
                  <q>
                    <Exact text={each.text ?? ''} most={120} />
                  </q>
                </td>
                <td>
                  {each.step !== null && (
                    <button
                      type="button"
                      className="link"
                      onClick={() => onChoose(each.step ?? '')}
                    >
                      <Exact text={each.step} most={60} />
                    </button>
                  )}{' '}
                  <code>
                    <Exact
                      text={`${each.argument ?? ''} = ${textOf(at(plan, each.pointer))}`}
                      most={160}
                    />
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {notes.length > 0 && (
        <>
          <h3>{texts.ask.notes}</h3>
          <ul>
            {notes.map((each, index) => (
              <li key={index}>
                <Exact text={each} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

export function StepView({
  plan,
  step: id,
  checked,
}: {
  plan: Json;
  step: string | undefined;
  checked?: CheckedPlan;
}) {
  const step = readPlan(plan).steps.find((each) => each.id === id);
  if (step === undefined) return <p className="muted">{texts.ask.stepNone}</p>;
  const node = checked?.graph.nodes.find((each) => each.id === id);
  const found = checked?.diagnostics.filter((each) => each.step === id) ?? [];
  const when = isObject(step.when) ? step.when : undefined;
  return (
    <div className="stack">
      <h3>
        <Exact text={step.id} most={80} />
      </h3>
      <p>
        <code>
          <Exact text={step.tool} most={120} />
        </code>{' '}
        {node && node.effects !== 'read' && (
          <span className="chip warn">{texts.approve.effectKinds[node.effects]}</span>
        )}
      </p>
      {step.thought !== undefined && (
        <p className="muted">
          {texts.ask.thought}: <Exact text={step.thought} />
        </p>
      )}
      <h4>{texts.ask.args}</h4>
      <Args args={step.args} label={texts.ask.args} />
      {step.forEach !== undefined && (
        <p>
          {texts.ask.forEach}{' '}
          <code>
            <Exact text={textOf(step.forEach)} />
          </code>
        </p>
      )}
      {when !== undefined && (
        <p>
          {texts.ask.when}{' '}
          <code>
            <Exact text={node?.when_shown ?? textOf(when)} whole />
          </code>
        </p>
      )}
      {step.needs.length > 0 && (
        <p>
          {texts.ask.needs}: <Exact text={step.needs.join(', ')} />
        </p>
      )}
      {found.length > 0 && <Problems found={found} />}
    </div>
  );
}

function ForecastView({ forecast }: { forecast: Forecast }) {
  const words = texts.ask.forecast;
  const calls =
    forecast.calls_least === forecast.calls_most
      ? `${forecast.calls_most}`
      : `${forecast.calls_least} – ${forecast.calls_most}`;
  const rows: [string, string][] = [
    [words.expected, seconds(forecast.expected_s)],
    [words.p90, seconds(forecast.p90_s)],
    [words.calls, calls],
    [words.effects, String(forecast.effect_calls_most)],
    [words.path, forecast.critical_path.join(' → ')],
  ];
  if (forecast.unknown_tools.length > 0)
    rows.push([words.unknown, forecast.unknown_tools.join(', ')]);
  return (
    <table className="facts">
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Exact text={value} most={300} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
