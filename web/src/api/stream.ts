// Server-sent events of a POST, which EventSource cannot make.
import { ApiError } from './client';

export interface Sent {
  event: string;
  data: string;
}

/** Split what has arrived into events and the rest. */
export function takeEvents(buffer: string): { events: Sent[]; rest: string } {
  const events: Sent[] = [];
  const blocks = buffer.replaceAll('\r\n', '\n').split('\n\n');
  const rest = blocks.pop() ?? '';
  for (const block of blocks) {
    let event = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      if (line.startsWith('event:')) event = line.slice(6).trim();
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    }
    if (data.length) events.push({ event, data: data.join('\n') });
  }
  return { events, rest };
}

export async function readEvents(response: Response, each: (sent: Sent) => void): Promise<void> {
  const reader = response.body?.getReader();
  if (!reader) throw new ApiError('failed', response.status, response.statusText, '');
  const decoder = new TextDecoder();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    buffer += decoder.decode(value, { stream: !done });
    const { events, rest } = takeEvents(done ? `${buffer}\n\n` : buffer);
    buffer = rest;
    events.forEach(each);
    if (done) return;
  }
}
