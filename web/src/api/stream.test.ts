import { expect, it } from 'vitest';
import { takeEvents } from './stream';

it('gives the same events however the bytes are cut', () => {
  const text = 'event: step\r\ndata: {"a":1}\r\n\r\n: ping\n\nevent: plan\ndata: x\ndata: y\n\n';
  const whole = takeEvents(text).events;
  expect(whole).toEqual([
    { event: 'step', data: '{"a":1}' },
    { event: 'plan', data: 'x\ny' },
  ]);
  for (let cut = 0; cut <= text.length; cut += 1) {
    const first = takeEvents(text.slice(0, cut));
    const second = takeEvents(first.rest + text.slice(cut));
    expect([...first.events, ...second.events]).toEqual(whole);
  }
});
