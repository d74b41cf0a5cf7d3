import { Graph, layout } from '@dagrejs/dagre';

export interface LayoutRequest {
  id: number;
  nodes: string[];
  edges: [string, string][];
  direction: 'LR' | 'TB';
}
export interface LayoutAnswer {
  id: number;
  places: Record<string, { x: number; y: number }>;
  width: number;
  height: number;
}

export const NODE_WIDTH = 220;
export const NODE_HEIGHT = 68;
const MOST_DAGRE = 150;

/** Place the steps in layers, each after all that it needs. */
export function place({ id, nodes, edges, direction }: LayoutRequest): LayoutAnswer {
  const { places, width, height } =
    nodes.length > MOST_DAGRE ? grid(nodes, edges, direction) : layered(nodes, edges, direction);
  return { id, places, width, height };
}

type Placed = Omit<LayoutAnswer, 'id'>;

function layered(nodes: string[], edges: [string, string][], direction: 'LR' | 'TB'): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: 28, ranksep: 64, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  // dagre keeps its nodes in plain objects: positions are names that no object inherits
  const index = new Map(nodes.map((name, at) => [name, `n${at}`]));
  for (const key of index.values()) graph.setNode(key, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [from, to] of edges) {
    const [source, target] = [index.get(from), index.get(to)];
    if (source !== undefined && target !== undefined) graph.setEdge(source, target);
  }
  layout(graph);
  const places: Placed['places'] = Object.create(null) as Placed['places'];
  for (const [name, key] of index) {
    const { x, y } = graph.node(key) as { x: number; y: number };
    places[name] = { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
  }
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { places, width, height };
}

/**
 * Place a large plan: the longest chain before a step is its layer, and within a layer steps stand
 * by the mean place of what they need. dagre takes many seconds for what this does in milliseconds.
 */
function grid(nodes: string[], edges: [string, string][], direction: 'LR' | 'TB'): Placed {
  const before = new Map<string, string[]>(nodes.map((name) => [name, []]));
  const after = new Map<string, string[]>(nodes.map((name) => [name, []]));
  for (const [from, to] of edges) {
    before.get(to)?.push(from);
    after.get(from)?.push(to);
  }
  const layer = new Map<string, number>();
  const open = new Map(nodes.map((name) => [name, before.get(name)?.length ?? 0]));
  const ready = nodes.filter((name) => open.get(name) === 0);
  for (let at = 0; at < ready.length; at += 1) {
    const name = ready[at] as string;
    layer.set(
      name,
      Math.max(-1, ...(before.get(name) ?? []).map((each) => layer.get(each) ?? 0)) + 1,
    );
    for (const next of after.get(name) ?? []) {
      const left = (open.get(next) ?? 0) - 1;
      open.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  const layers: string[][] = [];
  for (const name of nodes) (layers[layer.get(name) ?? 0] ??= []).push(name);
  const along = (direction === 'LR' ? NODE_WIDTH : NODE_HEIGHT) + 64;
  const across = (direction === 'LR' ? NODE_HEIGHT : NODE_WIDTH) + 28;
  const rank = new Map<string, number>();
  const places: Placed['places'] = Object.create(null) as Placed['places'];
  const widest = Math.max(1, ...layers.map((each) => each?.length ?? 0));
  const rows = Math.max(24, Math.ceil(Math.sqrt(nodes.length)));
  let column = 0;
  for (const each of layers) {
    if (!each) continue;
    const wanted = new Map(
      each.map((name, at) => [
        name,
        mean(
          (before.get(name) ?? []).map((b) => rank.get(b) ?? 0),
          at,
        ),
      ]),
    );
    each.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
    const height = Math.min(rows, each.length);
    each.forEach((name, at) => {
      rank.set(name, at);
      const x = (column + Math.floor(at / rows)) * along;
      const y = ((at % rows) + (Math.min(rows, widest) - height) / 2) * across;
      places[name] = direction === 'LR' ? { x, y } : { x: y, y: x };
    });
    column += Math.ceil(each.length / rows);
  }
  const size = [column * along, Math.min(rows, widest) * across] as const;
  return direction === 'LR'
    ? { places, width: size[0], height: size[1] }
    : { places, width: size[1], height: size[0] };
}

const mean = (numbers: number[], otherwise: number): number =>
  numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : otherwise;
