import { Component, type ReactNode } from 'react';
import { Trouble } from './parts/small';
import { texts } from './texts';

/** A fault of the page is a sentence, and drafts are kept. */
export class Guarded extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <main className="page">
        <h1>{texts.product}</h1>
        <Trouble error={this.state.error}>
          <p>{texts.common.fault}</p>
          <button type="button" onClick={() => window.location.reload()}>
            {texts.common.reload}
          </button>
        </Trouble>
      </main>
    );
  }
}
