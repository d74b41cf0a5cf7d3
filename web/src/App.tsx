import { useEffect, useRef, useState } from 'react';
import { client } from './api/client';
import { keepsNumbers } from './api/exact-json';
import { Icon } from './parts/Icon';
import { Trouble } from './parts/small';
import { Approve } from './pages/Approve';
import { Ask } from './pages/Ask';
import { Compare } from './pages/Compare';
import { Run } from './pages/Run';
import { Runs } from './pages/Runs';
import { Tools } from './pages/Tools';
import { go, href, usePlace, type Place } from './router';
import { texts } from './texts';
import { chosenTheme, setTheme, type Theme } from './theme';
import { emptyDraft, remembered } from './drafts';

const NAV = ['ask', 'runs', 'tools'] as const;

export function App() {
  const place = usePlace();
  const isReady = useSession();
  const main = useRef<HTMLElement>(null);
  const here = place.path.join('/');
  const first = useRef(true);
  useEffect(() => {
    // a reader of the screen hears the new page; the first one is read from its top
    if (first.current) first.current = false;
    else {
      window.scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
  }, [here]);
  useEffect(() => {
    if (place.path.length === 0 && isReady === true) go(askPlace(), 'replace');
  }, [place, isReady]);
  const page = place.path[0] ?? 'ask';
  const isIn = (name: string): boolean =>
    name === (['approve', 'compare'].includes(page) ? 'runs' : page);
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {texts.skip}
      </a>
      <header className="top">
        <span className="brand">
          <img src="./favicon.svg" alt="" width="24" height="24" />
          {texts.product}
        </span>
        <nav aria-label={texts.nav.label}>
          {NAV.map((name) => (
            <a
              key={name}
              href={name === 'ask' ? askPlace() : href([name])}
              aria-current={isIn(name) ? 'page' : undefined}
            >
              <Icon name={name} />
              <span>{texts.nav[name]}</span>
            </a>
          ))}
        </nav>
        <ThemeChoice />
        <button
          type="button"
          className="quiet"
          onClick={() => void client.logout().finally(() => window.location.reload())}
        >
          {texts.common.leave}
        </button>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {!keepsNumbers() ? (
          <div className="page">
            <Trouble error={texts.common.oldBrowser} />
          </div>
        ) : isReady === true ? (
          <Page place={place} />
        ) : isReady === false ? (
          <p className="page muted">{texts.common.loading}</p>
        ) : (
          <div className="page">
            <Trouble error={isReady} />
          </div>
        )}
      </main>
    </>
  );
}

const askPlace = (): string => href(['ask', remembered('draft') ?? emptyDraft().id]);

function Page({ place }: { place: Place }) {
  const [page, one, two] = place.path;
  if (page === 'approve' && one) return <Approve key={one} id={one} />;
  if (page === 'compare' && one && two) return <Compare before={one} after={two} />;
  if (page === 'runs' && one) return <Run key={one} id={one} params={place.params} />;
  if (page === 'runs') return <Runs params={place.params} />;
  if (page === 'tools') return <Tools name={one} params={place.params} />;
  return <Ask key={one ?? 'new'} id={one} params={place.params} />;
}

/** Exchange the one-time token of the address for a cookie; then the address has no token. */
function useSession(): boolean | Error {
  const [token] = useState(() => /^#token=(.+)$/.exec(window.location.hash)?.[1]);
  const isSpent = useRef(false);
  const [isDone, setDone] = useState<boolean | Error>(token === undefined);
  useEffect(() => {
    // an address with a token that is pasted into an open page is only a change of its fragment
    const pasted = (): void => {
      if (window.location.hash.startsWith('#token=')) window.location.reload();
    };
    window.addEventListener('hashchange', pasted);
    return () => window.removeEventListener('hashchange', pasted);
  }, []);
  useEffect(() => {
    if (token === undefined || isSpent.current) return;
    const given = decodeURIComponent(token);
    isSpent.current = true;
    go('#/', 'replace');
    client.login(given).then(
      () => setDone(true),
      // a page that was loaded again has its cookie and a token that was used
      (error: unknown) =>
        client.about().then(
          () => setDone(true),
          () => setDone(error instanceof Error ? error : new Error(String(error))),
        ),
    );
  }, [token]);
  return isDone;
}

function ThemeChoice() {
  const [theme, set] = useState<Theme>(chosenTheme);
  const change = (wanted: Theme): void => {
    setTheme(wanted);
    set(wanted);
  };
  return (
    <label className="theme">
      <span className="visually-hidden">{texts.theme.label}</span>
      <Icon name="theme" />
      <select value={theme} onChange={(event) => change(event.target.value as Theme)}>
        {(['system', 'light', 'dark'] as const).map((each) => (
          <option key={each} value={each}>
            {texts.theme[each]}
          </option>
        ))}
      </select>
    </label>
  );
}
