// A plot with axes, drawn at its true size so that letters stay legible at every width.
import { decimal, h, s } from './dom.js';

let clips = 0;

const CIRCLE = 'm-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0';
const SHAPES = { best: 'm0-8l8 8l-8 8l-8-8', square: 'm-5-5h10v10h-10', cross: 'm-3-6l3 3l3-3l3 3l-3 3l3 3l-3 3l-3-3l-3 3l-3-3l3-3l-3-3' };

/**
 * Axes with lines, points, bands and marks.
 *
 * `x` and `y` are {min, max, ticks: [numbers], word: id}. Returns {root, update(content)} with content
 * {lines: [{points: [[x, y]...], kind}], points: [{x, y, kind, text}], bands: [{from, to, kind}],
 *  marks: [{x, kind, text}]}; kinds are CSS classes; 'best', 'square' and 'cross' also give a point its shape.
 */
export function plot({ x, y, height = 300, word }) {
  const svg = s('svg', { class: 'plot', role: 'img', l: word, height });
  const root = h('div', { class: 'plotbox' }, h('p', { class: 'axis', w: y.word }), svg, h('p', { class: 'axis x', w: x.word }));
  const clipId = `plot-${clips += 1}`;
  let content = {};
  let width = 0;
  const edge = { left: 44, right: 14, top: 10, bottom: 26 };
  const axes = { x, y };
  const px = (v) => edge.left + ((v - axes.x.min) / (axes.x.max - axes.x.min)) * (width - edge.left - edge.right);
  const py = (v) => height - edge.bottom - ((v - axes.y.min) / (axes.y.max - axes.y.min)) * (height - edge.top - edge.bottom);
  const path = (points) => points.map(([a, b], i) => `${i ? 'L' : 'M'}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join('');

  function grid() {
    const xs = axes.x.ticks.map((v) => s('g', { class: 'grid' },
      s('path', { d: `M${px(v)} ${edge.top}V${height - edge.bottom}` }), put(decimal(v), px(v), height - 8, 'middle')));
    const ys = axes.y.ticks.map((v) => s('g', { class: 'grid' },
      s('path', { d: `M${edge.left} ${py(v)}H${width - edge.right}` }), put(decimal(v), edge.left - 6, py(v) + 4, 'end')));
    return [...xs, ...ys];
  }
  function put(words, a, b, anchor, kind = '') {
    const node = s('text', { x: a, y: b, 'text-anchor': anchor, class: kind });
    node.textContent = words;
    return node;
  }
  function point({ x: a, y: b, kind, text }) {
    const left = px(a) > width * 0.2;
    const shape = SHAPES[Object.keys(SHAPES).find((name) => kind.includes(name))] || CIRCLE;
    return s('g', { class: `point ${kind}` }, s('path', { d: `M${px(a)} ${py(b)}${shape}z` }), text ? put(text, px(a) + (left ? -11 : 11), py(b) - 7, left ? 'end' : 'start') : null);
  }
  function mark({ x: a, kind, text }) {
    const left = px(a) > width * 0.7;
    return s('g', { class: `markline ${kind}` }, s('path', { d: `M${px(a)} ${edge.top}V${height - edge.bottom}` }),
      text ? put(text, px(a) + (left ? -6 : 6), edge.top + 12, left ? 'end' : 'start') : null);
  }
  function draw() {
    width = root.clientWidth;
    if (!width || !content.lines) return;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const { bands = [], lines, points = [], marks = [] } = content;
    const clip = s('clipPath', { id: clipId }, s('rect', { x: edge.left, y: edge.top, width: width - edge.left - edge.right, height: height - edge.top - edge.bottom }));
    const inner = s('g', { 'clip-path': `url(#${clipId})` },
      ...lines.map((l) => s('path', { d: path(l.points), class: `line ${l.kind}` })));
    svg.replaceChildren(clip,
      ...bands.map((b) => s('rect', { x: px(b.from), y: edge.top, width: Math.max(0, px(b.to) - px(b.from)), height: height - edge.top - edge.bottom, class: `bandarea ${b.kind}` })),
      ...grid(), inner, ...marks.map(mark), ...points.map(point));
  }
  new ResizeObserver(draw).observe(root);
  return { root, update: (next) => { content = next; Object.assign(axes.x, next.x); Object.assign(axes.y, next.y); draw(); } };
}
