import { useMemo, useSyncExternalStore } from 'react';

/** The place in the page: it stands in the fragment, so that a reload or a link opens the same. */
export interface Place {
  path: string[];
  params: URLSearchParams;
}

function subscribe(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}

export function parsePlace(hash: string): Place {
  const [path = '', params = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    params: new URLSearchParams(params),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return useMemo(() => parsePlace(hash), [hash]);
}

export function href(path: string[], params: Record<string, string | undefined> = {}): string {
  const kept = Object.entries(params).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = kept.length ? `?${new URLSearchParams(kept).toString()}` : '';
  return `#/${path.map(encodeURIComponent).join('/')}${search}`;
}

export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') window.location.hash = to;
  else {
    window.history.replaceState(null, '', to);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** Set some parameters of this place; no entry in the history. */
export function setParams(changes: Record<string, string | undefined>): void {
  const { path, params } = parsePlace(window.location.hash);
  const all: Record<string, string | undefined> = Object.fromEntries(params);
  go(href(path, { ...all, ...changes }), 'replace');
}
