import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { App } from './App';
import { ApiError } from './api/client';
import { Guarded } from './Guarded';
import { applyTheme } from './theme';

applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // a server that is being started again answers soon; a refusal stays one
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 60,
      retryDelay: (count) => Math.min(300 * 2 ** count, 3_000),
      networkMode: 'always',
      // to share parts with the answer before copies objects, and loses keys named `__proto__`
      structuralSharing: false,
    },
    mutations: { networkMode: 'always' },
  },
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <Guarded>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </Guarded>,
  );
}
