import '@xyflow/react/dist/base.css';
import '../styles/graph.css';
import {
  Background,
  Controls,
  Handle,
  MarkerType,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Edge,
  type Node,
  type NodeHandle,
  type NodeProps,
} from '@xyflow/react';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import type { GraphData, NodeData, StepOut } from '../api/types';
import { Icon } from '../parts/Icon';
import { plain } from '../parts/exact';
import { texts } from '../texts';
import { NODE_HEIGHT, NODE_WIDTH } from './layers';
import { prepareLayout, useLayout } from './useLayout';

prepareLayout();

const ARROW = { type: MarkerType.ArrowClosed, width: 16, height: 16 };

interface StepData extends Record<string, unknown> {
  step: NodeData;
  run: StepOut | undefined;
  isCritical: boolean;
  isChosen: boolean;
  direction: 'LR' | 'TB';
}
type StepNode = Node<StepData, 'step'>;

/** From how many steps on only those in view are drawn, and the first ones are shown instead of all. */
const MANY = 150;
const BEGINNING = { x: 16, y: 16, zoom: 0.5 };

/** Where lines end at a card. The graph knows it so, and does not draw each card once to measure it. */
const HANDLES: Record<'LR' | 'TB', NodeHandle[]> = {
  LR: [
    { type: 'target', position: Position.Left, x: 0, y: NODE_HEIGHT / 2, width: 1, height: 1 },
    {
      type: 'source',
      position: Position.Right,
      x: NODE_WIDTH - 1,
      y: NODE_HEIGHT / 2,
      width: 1,
      height: 1,
    },
  ],
  TB: [
    { type: 'target', position: Position.Top, x: NODE_WIDTH / 2, y: 0, width: 1, height: 1 },
    {
      type: 'source',
      position: Position.Bottom,
      x: NODE_WIDTH / 2,
      y: NODE_HEIGHT - 1,
      width: 1,
      height: 1,
    },
  ],
};

const countOf = (step: NodeData, run: StepOut | undefined): string =>
  run?.items != null ? `${run.items_done}/${run.items}` : step.for_each ? '× n' : '';

/** What the colours and signs of a card say, for readers of the screen. */
function spoken({ step, run, isCritical }: StepData): string {
  const parts: string[] = [];
  if (run) parts.push(texts.states[run.state] ?? run.state);
  if (step.effects !== 'read') parts.push(texts.approve.effectKinds[step.effects] ?? step.effects);
  if (step.problems) parts.push(texts.ask.invalid(step.problems));
  if (isCritical) parts.push(texts.run.critical);
  return parts.join(', ');
}

const StepCard = memo(function StepCard({ data }: NodeProps<StepNode>) {
  const { step, run, direction, isCritical, isChosen } = data;
  const state = run?.state ?? 'planned';
  const classes = ['step-card', `state-${state}`];
  if (step.problems) classes.push('has-problem');
  if (isCritical) classes.push('is-critical');
  if (isChosen) classes.push('is-chosen');
  return (
    <div className={classes.join(' ')}>
      <Handle
        type="target"
        position={direction === 'LR' ? Position.Left : Position.Top}
        isConnectable={false}
      />
      <div className="step-card-head">
        <span className="step-card-id">{plain(step.id, 40)}</span>
        {step.problems > 0 ? (
          <Icon name="problem" />
        ) : run ? (
          <Icon name={run.state} />
        ) : (
          step.effects !== 'read' && <Icon name="effect" />
        )}
      </div>
      <div className="step-card-foot">
        <span className="step-card-tool">{plain(step.tool, 40)}</span>
        {countOf(step, run) && <span className="step-card-count">{countOf(step, run)}</span>}
        {run && step.effects !== 'read' && <Icon name="effect" />}
      </div>
      {run?.items != null && run.items > 0 && (
        <progress
          className="step-card-bar"
          max={run.items}
          value={run.items_done}
          aria-hidden="true"
        />
      )}
      <span className="visually-hidden">{spoken(data)}</span>
      <Handle
        type="source"
        position={direction === 'LR' ? Position.Right : Position.Bottom}
        isConnectable={false}
      />
    </div>
  );
});

/** What was drawn last: what is equal to it stays the same object, and is not drawn again. */
class Held<T extends { id: string }> {
  private last = new Map<string, T>();

  of(made: T[], isEqual: (one: T, two: T) => boolean): T[] {
    const found = made.map((each) => {
      const held = this.last.get(each.id);
      return held !== undefined && isEqual(held, each) ? held : each;
    });
    this.last = new Map(found.map((each) => [each.id, each]));
    return found;
  }
}

const nodeTypes = { step: StepCard };

export interface PlanGraphProps {
  graph: GraphData;
  label: string;
  states?: Record<string, StepOut> | undefined;
  critical?: string[] | undefined;
  chosen?: string | undefined;
  onChoose?: (step: string) => void;
}

export function PlanGraph(props: PlanGraphProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ graph, label, states, critical, chosen, onChoose }: PlanGraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const [direction, setDirection] = useState<'LR' | 'TB'>('LR');
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const seen = new ResizeObserver(() => setDirection(element.clientWidth < 560 ? 'TB' : 'LR'));
    seen.observe(element);
    return () => seen.disconnect();
  }, []);
  const names = useMemo(() => graph.nodes.map((each) => each.id), [graph]);
  const pairs = useMemo(
    () => graph.edges.map((each): [string, string] => [each.source, each.target]),
    [graph],
  );
  const layout = useLayout(names, pairs, direction);
  const onPath = useMemo(() => new Set(critical), [critical]);
  const cards = useMemo(() => new Held<StepNode>(), []);
  const nodes = useMemo<StepNode[]>(() => {
    if (layout === undefined) return [];
    const made = graph.nodes.flatMap((step) => {
      const position = layout.places[step.id];
      if (position === undefined) return [];
      const data: StepData = {
        step,
        run: states?.[step.id],
        isCritical: onPath.has(step.id),
        isChosen: chosen === step.id,
        direction,
      };
      return [nodeOf(data, position)];
    });
    return cards.of(
      made,
      (one, two) => one.position === two.position && isSame(one.data, two.data),
    );
  }, [cards, graph, layout, states, onPath, chosen, direction]);
  const lines = useMemo(() => new Held<Edge>(), []);
  const edges = useMemo<Edge[]>(() => {
    const made = graph.edges.map((each): Edge => {
      const marked = onPath.has(each.source) && onPath.has(each.target);
      return {
        id: `${each.kind}:${each.source}→${each.target}`,
        source: each.source,
        target: each.target,
        className: `edge-${each.kind}${marked ? ' is-critical' : ''}`,
        markerEnd: ARROW,
        animated: states?.[each.target]?.state === 'running',
        focusable: false,
        ariaLabel: texts.ask.edge(plain(each.source, 80), plain(each.target, 80)),
      };
    });
    return lines.of(
      made,
      (one, two) => one.className === two.className && one.animated === two.animated,
    );
  }, [lines, graph, states, onPath]);
  return (
    <div className="graph" ref={box} role="group" aria-label={label}>
      {layout !== undefined && (
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          onNodeClick={(_, node) => onChoose?.(node.id)}
          onNodesChange={(changes) => {
            const picked = changes.find((each) => each.type === 'select' && each.selected);
            if (picked && 'id' in picked) onChoose?.(picked.id);
          }}
          nodesDraggable={false}
          nodesConnectable={false}
          edgesFocusable={false}
          elementsSelectable
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          onlyRenderVisibleElements={names.length > MANY}
          defaultViewport={BEGINNING}
          minZoom={0.05}
          maxZoom={1.6}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={22} size={1} />
          <Controls showInteractive={false} />
          <Fit shape={`${names.length} ${direction} ${layout.id}`} count={names.length} />
        </ReactFlow>
      )}
    </div>
  );
}

/** What has not changed stays the same object: the graph then leaves its card alone. */
const isSame = (one: StepData, other: StepData): boolean =>
  one.step === other.step &&
  one.run === other.run &&
  one.isCritical === other.isCritical &&
  one.isChosen === other.isChosen &&
  one.direction === other.direction;

const nodeOf = (data: StepData, position: { x: number; y: number }): StepNode => ({
  id: data.step.id,
  type: 'step',
  position,
  data,
  width: NODE_WIDTH,
  height: NODE_HEIGHT,
  handles: HANDLES[data.direction],
  selected: data.isChosen,
  ariaRole: 'button',
  domAttributes: { 'aria-pressed': data.isChosen },
});

/** Show the whole plan when its shape changes; of a large one the beginning, at a size to read. */
function Fit({ shape, count }: { shape: string; count: number }) {
  const flow = useReactFlow();
  useEffect(() => {
    if (count > MANY) void flow.setViewport(BEGINNING);
    else void flow.fitView({ padding: 0.12, maxZoom: 1 });
  }, [flow, shape, count]);
  return null;
}
