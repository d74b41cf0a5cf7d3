import { expect, it } from 'vitest';
import { place } from './layers';

it.each([20, 1000])(
  '%i steps: each stands after all that it needs, and none on another',
  (count) => {
    const nodes = Array.from({ length: count }, (_, at) => `s${at}`);
    const edges = nodes.flatMap((name, at): [string, string][] =>
      at < 3
        ? []
        : [
            [`s${Math.floor(at / 3)}`, name],
            [`s${Math.floor(at / 2)}`, name],
          ],
    );
    const { places } = place({ id: 1, nodes, edges, direction: 'LR' });
    expect(edges.filter(([from, to]) => (places[from]?.x ?? 0) >= (places[to]?.x ?? 0))).toEqual(
      [],
    );
    expect(new Set(Object.values(places).map(({ x, y }) => `${x} ${y}`)).size).toBe(count);
  },
);

it('steps are placed whatever their names are', () => {
  const nodes = ['__proto__', 'constructor', 'toString'];
  const { places } = place({
    id: 1,
    nodes,
    edges: [['__proto__', 'constructor']],
    direction: 'TB',
  });
  expect(Object.keys(places).sort()).toEqual([...nodes].sort());
});
