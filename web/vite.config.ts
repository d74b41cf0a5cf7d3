import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The page is served by `toolplan studio` under a policy that allows this origin only, without
// inline scripts and styles: nothing is inlined, not even small files.
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: '../packages/studio/src/toolplan_studio/static',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false, // a style sheet that did not come would not be asked for again
    modulePreload: { polyfill: false },
    target: 'es2022',
    chunkSizeWarningLimit: 1200,
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': 'http://127.0.0.1:8321' } },
  test: { environment: 'happy-dom', include: ['src/**/*.test.{ts,tsx}'] },
});
