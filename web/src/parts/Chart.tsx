// uPlot draws on a canvas: 20 kB, no inline styles, thousands of points without work for the page.
// The table beside it holds the same numbers for readers of the screen.
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Picture } from './data';
import { plain } from './exact';

const HEIGHT = 280;

export interface ChartProps {
  picture: Picture;
  label: string;
  /** Called with the position under the pointer; undefined where there is none. */
  onPoint: (at: number | undefined) => void;
}

export function Chart({ picture, label, onPoint }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(options(picture, element, onPoint), [picture.xs, picture.ys], element);
    };
    draw();
    const sized = new ResizeObserver(() =>
      plot?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    sized.observe(element);
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      sized.disconnect();
      themed.disconnect();
      plot?.destroy();
    };
  }, [picture, onPoint]);
  return <div className="chart" ref={box} role="img" aria-label={label} />;
}

function options(
  picture: Picture,
  element: HTMLElement,
  onPoint: ChartProps['onPoint'],
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const font = `12px ${colour('--font')}`;
  const axis = {
    stroke: colour('--muted'),
    font,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  const isBars = picture.kind === 'bars';
  const bars = uPlot.paths.bars?.({ size: [0.7, 64] });
  const count = picture.labels.length;
  const lean = isBars && count > 6;
  const x: uPlot.Axis = isBars
    ? {
        ...axis,
        grid: { show: false },
        splits: () => picture.xs,
        values: (_, splits) => splits.map((at) => plain(picture.labels[at] ?? '', 16)),
        rotate: lean ? -40 : 0,
        size: lean ? 90 : 40,
      }
    : { ...axis, grid: { show: false } };
  return {
    width: element.clientWidth || 600,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? undefined)] },
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    scales: {
      x: isBars ? { time: false, range: [-0.6, count - 0.4] } : { time: true },
      y: {
        range: (_, low, high) => [
          low < 0 ? low * 1.05 : 0,
          high > 0 ? high * 1.05 : low < 0 ? 0 : 1,
        ],
      },
    },
    axes: [x, { ...axis, size: 64, label: plain(picture.y, 40), labelFont: font, labelSize: 20 }],
    series: [
      {},
      {
        stroke: colour('--accent'),
        width: 2,
        fill: isBars
          ? colour('--accent')
          : picture.kind === 'points'
            ? 'transparent'
            : colour('--accent-soft'),
        ...(picture.kind === 'points' ? { paths: () => null } : {}),
        points: {
          show: picture.kind === 'points' || (!isBars && count < 60),
          size: 6,
          fill: colour('--accent'),
        },
        ...(isBars && bars ? { paths: bars } : {}),
      },
    ],
  };
}
