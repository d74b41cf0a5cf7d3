import { remember, remembered } from './drafts';

export type Theme = 'light' | 'dark' | 'system';
const dark = window.matchMedia('(prefers-color-scheme: dark)');

export const chosenTheme = (): Theme => {
  const held = remembered('theme');
  return held === 'light' || held === 'dark' ? held : 'system';
};

export function applyTheme(): void {
  const wanted = chosenTheme();
  document.documentElement.dataset['theme'] =
    wanted === 'system' ? (dark.matches ? 'dark' : 'light') : wanted;
}

export function setTheme(theme: Theme): void {
  remember('theme', theme === 'system' ? null : theme);
  applyTheme();
}

dark.addEventListener('change', applyTheme);
