// The few drawings of the page, in the bundle. They repeat what text says, so readers skip them.
const PATHS: Record<string, string> = {
  pending: 'M12 3a9 9 0 1 0 .01 0M12 7.5V12l3 2',
  running: 'M12 3a9 9 0 1 1-9 9',
  succeeded: 'm5 12.5 4.5 4.5L19 7.5',
  failed: 'M6 6l12 12M18 6 6 18',
  skipped: 'M5 6l7 6-7 6zM17 6v12',
  cancelled: 'M6 12h12',
  interrupted: 'M13 3 5 14h6M11 10l8 0-6 9',
  no_worker: 'M6 6l12 12M18 6 6 18',
  parked: 'M9 6v12M15 6v12',
  refused: 'M6 12h12',
  not_run: 'M6 12h12',
  waiting: 'M9 6v12M15 6v12',
  in_doubt: 'M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17.5v.3',
  problem: 'M12 4 2.8 20h18.4zM12 10v4M12 17v.3',
  effect: 'M13 3 5 14h6l-1 7 8-11h-6z',
  ask: 'M4 5h16v11H9l-5 4z',
  runs: 'M4 6h16M4 12h16M4 18h10',
  tools: 'M14.5 6.5a4 4 0 0 0 5 5L11 20l-5-5 8.5-8.5zM4 4l5 5',
  theme: 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z',
};

export function Icon({ name }: { name: string }) {
  const path = PATHS[name];
  if (path === undefined) return null;
  return (
    <svg className={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={path} />
    </svg>
  );
}
