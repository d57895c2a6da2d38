// Chapter 2: why there is a free lunch. A pass reads every weight, for one token or for k.
import { able, decimal, h, percent } from '../dom.js';
import { button, figure, gauge, dial } from '../figure.js';
import * as live from '../live.js';
import { bet } from '../player.js';
import { plot } from '../plot.js';
import { prose, question } from '../prose.js';
import { loadJson } from '../trace.js';
import { say } from '../words.js';

/** Pass time, idealised: flat while memory is the bottleneck, then proportional to the arithmetic. */
export function roofline(points) {
  const first = points[0].seconds;
  const last = points[points.length - 1];
  const each = last.seconds / last.rows;
  return { floor: first, each, bend: first / each };
}

/** Two pipes: the weights that stream in, and the arithmetic that waits. */
function pipes() {
  const memory = gauge('lunch.memory', 'ink');
  const sums = gauge('lunch.sums', 'plain');
  const update = ({ floor, each }, k) => {
    const arithmetic = each * k;
    const pass = Math.max(floor, arithmetic);
    memory.update(floor / pass, percent(floor / pass));
    sums.update(arithmetic / pass, percent(arithmetic / pass));
    return { idle: 1 - arithmetic / pass, pass };
  };
  return { root: h('div', {}, memory.root, sums.root), update };
}

export default {
  id: 'lunch',
  knobs: { k: 1, guess: -1 },
  mount(root, ctx) {
    const first = figure(root, 'lunch.fig');
    const picture = pipes();
    const k = dial(ctx, 'k', 'lunch.k', { min: 1, max: 16 });
    first.stage.append(k.root, picture.root);
    let data = null;
    const rows = (count) => data.points.find((point) => point.rows === count) || data.points[data.points.length - 1];
    const answer = () => { const ratio = data ? rows(4).seconds / rows(1).seconds : 1; return ratio > 3 ? 0 : ratio > 1.5 ? 1 : 2; };
    const { reveal, update } = bet(root, ctx, 'lunch', { options: ['lunch.four', 'lunch.twice', 'lunch.same'], answer });
    const second = figure(reveal, 'lunch.curve', 'trace');
    const curve = plot({ x: { min: 1, max: 16, ticks: [1, 2, 4, 8, 12, 16], word: 'lunch.x' }, y: { min: 0, word: 'lunch.y' }, word: 'lunch.alt' });
    const facts = h('p', { class: 'note' });
    second.stage.append(curve.root, h('ul', { class: 'legend' }, h('li', { class: 'key ink', w: 'lunch.measured' }), h('li', { class: 'key dash p', w: 'lunch.ideal' })), facts);
    if (live.available) second.controls.append(measure());
    prose(reveal, 'lunch.after');
    question(reveal, 'lunch', 'cost');

    /** Measures on the reader's machine; points appear as they come. */
    function measure() {
      const node = button('lunch.measure', () => {
        if (node.ariaDisabled === 'true') return;
        able(node, false);
        const stop = live.start('measure', {}, (event, seen) => {
          if (event === 'points') take(seen, 'live');
          if (event === 'error') say(second.narration, `live.${seen.code}`, { message: seen.message || '' });
          if (event === 'done' || event === 'error') able(node, true);
        });
        ctx.leave(stop);
      }, { primary: true });
      return node;
    }
    function take(seen, badge) {
      data = seen;
      second.badge(badge);
      draw(ctx.state);
    }
    function draw(now) {
      const shape = roofline(data.points);
      const most = Math.max(...data.points.map((point) => point.seconds)) * 1000;
      const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => most / size <= 6) || 1000;
      const ticks = Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
      const ideal = [1, shape.bend, data.points[data.points.length - 1].rows].map((x) => [x, 1000 * Math.max(shape.floor, shape.each * x)]);
      curve.update({
        y: { max: ticks[ticks.length - 1], ticks },
        lines: [{ points: ideal, kind: 'dashed p' }, { points: data.points.map((point) => [point.rows, 1000 * point.seconds]), kind: 'ink thin' }],
        points: data.points.map((point) => ({ x: point.rows, y: 1000 * point.seconds, kind: '' })),
        bands: [{ from: shape.bend, to: data.points[data.points.length - 1].rows, kind: '' }],
        marks: [{ x: Math.min(now.k, 16), kind: '', text: `k = ${now.k}` }],
      });
      say(facts, 'lunch.facts', { one: decimal(1000 * rows(1).seconds, 1), four: decimal(rows(4).seconds / rows(1).seconds, 2), eight: decimal(rows(8).seconds / rows(1).seconds, 2), machine: data.machine || '' });
      const { idle, pass } = picture.update(shape, now.k);
      say(first.narration, 'lunch.told', { k: now.k, idle: percent(idle), times: decimal(pass / shape.floor, 2) });
    }
    loadJson('passes').then((seen) => take(seen, 'trace'));
    return (now) => {
      k.update(now.k);
      update();
      if (data) draw(now);
    };
  },
};
