import { texts } from '../texts';
import { parseJson } from './exact-json';
import { readEvents } from './stream';
import type * as api from './types';

/** A request that was refused: the server's sentence, and what to do. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    message: string,
    readonly help: string,
  ) {
    super(message);
  }
}

const BASE = new URL('api/v1/', document.baseURI).pathname;

async function fetched(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(BASE + path, {
      method,
      credentials: 'same-origin',
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    throw lost(error, method);
  }
}

/** Return what a request that broke off is for the page: stopped by a person, or no connection. */
const lost = (error: unknown, method: string): Error =>
  error instanceof DOMException && error.name === 'AbortError'
    ? error
    : new ApiError(
        'offline',
        0,
        method === 'GET' ? texts.common.offline : texts.common.notSent,
        '',
      );

async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await fetched(method, path, body, signal);
  if (response.status === 204) return undefined as T;
  const found = await bodyOf(response, method);
  if (response.ok && found !== null) return found as T;
  throw refusal(
    found,
    response.status,
    response.ok ? texts.common.foreignAnswer : response.statusText,
  );
}

/** Return what came; null where it is no JSON, as from a proxy that answers with a page of its own. */
async function bodyOf(response: Response, method: string): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw lost(error, method);
  }
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function refusal(found: unknown, status: number, otherwise: string): ApiError {
  const problem = (found ?? {}) as { code?: string; detail?: unknown; help?: string | null };
  const detail =
    typeof problem.detail === 'string' && problem.detail
      ? problem.detail
      : otherwise || `HTTP ${status}`;
  return new ApiError(problem.code ?? 'failed', status, detail, problem.help ?? '');
}

/** Plan a question; `onStep` gets each step while the plan is written. */
async function plan(
  given: { question: string; conversation?: string },
  onStep: (step: api.NodeData) => void,
  signal: AbortSignal,
): Promise<api.Proposed> {
  const response = await fetched('POST', 'plans/stream', given, signal);
  if (!response.ok)
    throw refusal(await bodyOf(response, 'POST'), response.status, response.statusText);
  let proposed: api.Proposed | undefined;
  let problem: unknown;
  await readEvents(response, ({ event, data }) => {
    const found: unknown = parseJson(data);
    if (event === 'step') onStep(found as api.NodeData);
    else if (event === 'plan') proposed = found as api.Proposed;
    else if (event === 'problem') problem = found;
  });
  if (proposed) return proposed;
  throw problem ? refusal(problem, 500, '') : new ApiError('offline', 0, texts.common.notSent, '');
}

const enc = encodeURIComponent;

function query(values: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return pairs.length
    ? `?${pairs.map(([key, value]) => `${key}=${enc(String(value))}`).join('&')}`
    : '';
}

export const client = {
  login: (token: string) => send<unknown>('POST', 'session', { token }),
  logout: () => send<unknown>('DELETE', 'session'),
  about: () => send<api.About>('GET', 'about'),
  plan,
  check: (text: string, signal?: AbortSignal) =>
    send<api.CheckedPlan>('POST', 'plans/check', { text }, signal),
  planDiff: (before: string, after: string) =>
    send<api.Difference>('POST', 'plans/diff', { before, after }),
  schema: () => send<unknown>('GET', 'schema'),
  run: (given: api.RunGiven) => send<api.RunLine>('POST', 'runs', given),
  runs: (filter: Record<string, string | number | undefined>) =>
    send<api.RunList>('GET', `runs${query(filter)}`),
  oneRun: (run: string) => send<api.RunOut>('GET', `runs/${enc(run)}`),
  step: (run: string, step: string, offset = 0) =>
    send<api.StepDetail>(
      'GET',
      `runs/${enc(run)}/steps/${enc(step)}${query({ offset: offset || undefined })}`,
    ),
  decide: (run: string, decision: api.DecisionGiven) =>
    send<api.Decided>('POST', `runs/${enc(run)}/decisions`, decision),
  runDiff: (before: string, after: string) =>
    send<api.RunDiff>('GET', `runs/${enc(before)}/diff/${enc(after)}`),
  tools: () => send<api.ToolList>('GET', 'tools'),
  tryTool: (name: string, args: Record<string, unknown>) =>
    send<api.Tried>('POST', `tools/${enc(name)}/try`, { args }),
  eventsOf: (run: string, after: number) =>
    `${BASE}runs/${enc(run)}/events${query({ start: after || undefined })}`,
};
