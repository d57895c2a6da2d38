// Chapter 9: how long to guess. Acceptance, draft length and draft cost, against tokens per pass and speed.
import { roundCoins } from '../coins.js';
import { clamp, decimal, grouped, h, percent, shown } from '../dom.js';
import { button, choose, dial, figure, editors, legend, strip, upright } from '../figure.js';
import { laws } from '../laws.js';
import { bet } from '../player.js';
import { plot } from '../plot.js';
import { prose, question } from '../prose.js';
import { bestLength, overlap, speedup, tokenCounts, tokensPerPass } from '../theory.js';
import { loadJson } from '../trace.js';
import { say } from '../words.js';

const MOST = 2000;
const LONGEST = 10;
const ENDLESS = 64;
const GRID = Array.from({ length: 101 }, (_, i) => i / 100);
const TOPS = [3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40];
const SHAPES = { script: '', lookup: 'square', model: 'cross' };

const lengths = (ctx) => dial(ctx, 'gamma', 'guess.gamma', { min: 1, max: LONGEST, kind: 'q' });

/** Passes by coins: how many kept 0, 1, ... guesses, and the guesses of the last one. */
function throwCoins(alpha, gamma, seed, n) {
  const counts = Array(gamma + 1).fill(0);
  let kept = 0;
  for (let i = 0; i < n; i += 1) {
    const coins = roundCoins(seed, 0, i);
    for (kept = 0; kept < gamma && coins.draw('accept', kept) < alpha;) kept += 1;
    counts[kept] += 1;
  }
  const kinds = [...Array(kept).fill('accepted'), ...(kept < gamma ? ['rejected', ...Array(gamma - kept - 1).fill('draft')] : [])];
  const last = kinds.map((kind, k) => ({ text: String(k + 1), kind, gone: k > kept }));
  return { counts, last: n ? [...last, { text: '+1', kind: kept < gamma ? 'recovered' : 'bonus' }] : [] };
}

/** The first figure: what one pass yields, as a distribution and a mean. */
function yields(root, ctx) {
  const fig = figure(root, 'guess.fig');
  const laws2 = editors(ctx, 2);
  const alpha = h('p', { class: 'result' });
  const gamma = lengths(ctx);
  const row = strip();
  const chart = upright();
  const thrown = h('p', { class: 'note' });
  fig.stage.append(laws2.root, alpha, gamma.root, h('p', { class: 'note', w: 'guess.hist' }), chart.root, row.root, legend('accepted', 'rejected', 'recovered', 'bonus'), thrown);
  const more = (count) => () => ctx.set({ n: Math.min(MOST, ctx.state.n + count) });
  const clear = button('coin.clear', () => ctx.set({ n: 0, seed: ctx.state.seed + 1 }));
  fig.controls.append(button('guess.one', more(1), { primary: true }), button('guess.many', more(100)), clear);
  return (now, a, g) => {
    const n = clamp(Math.round(now.n), 0, MOST);
    const { counts, last } = throwCoins(a, g, now.seed, n);
    laws2.update(now);
    gamma.update(g);
    say(alpha, 'guess.alpha', { alpha: decimal(a) });
    chart.update(tokenCounts(a, g).map((x, i) => ({ name: String(i + 1), value: n ? counts[i] / n : 0, tick: x, text: percent(x) })));
    row.update(last);
    for (const node of [clear, thrown]) shown(node, n > 0);
    say(thrown, 'guess.thrown', { n: grouped(n), seen: decimal(counts.reduce((sum, count, i) => sum + count * (i + 1), 0) / n) });
    ctx.tell(fig.narration, a === 1 ? 'guess.full' : 'guess.mean', { mean: decimal(tokensPerPass(a, g), 3), a: decimal(a), g: g + 1 });
  };
}

/** The second figure: the curves, the best length, and the engine's own points. */
function curves(root, ctx) {
  const fig = figure(root, 'guess.curve');
  const c = dial(ctx, 'c', 'guess.c', { min: 0, max: 50 });
  const gamma = lengths(ctx);
  const cost = choose(ctx, 'cost', 'guess.cost', ['flat', 'cpu']);
  const view = choose(ctx, 'view', 'guess.view', ['speed', 'tokens']);
  const graph = plot({ x: { min: 0, max: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], word: 'guess.x' }, y: { min: 0, word: 'guess.speed' }, word: 'guess.curve' });
  const key = (kind, word) => h('li', { class: `key ${kind}`, w: word });
  const keys = [key('ink', 'guess.best'), key('box rejected', 'guess.lose')];
  const sum = h('p', { class: 'result' });
  const facts = h('p', { class: 'note' });
  fig.stage.append(gamma.root, c.root, h('div', { class: 'controls' }, cost.root, view.root), graph.root, h('ul', { class: 'legend' }, key('q dash', 'guess.mine'), ...keys), facts, sum);
  return (now, a, g, { points, model, machine }, costs) => {
    const speed = now.view !== 'tokens';
    const top = costs.best(a);
    const high = speed ? costs.speed : tokensPerPass;
    const dots = points.map((point) => ({ x: point.alpha, y: speed ? point.speedup : point.tokens, kind: `${SHAPES[point.drafter]} ${point.length === g ? 'ink' : 'faint'}` }));
    const tallest = Math.max(high(1, g), high(a, speed ? top : g), ...dots.map(({ y, kind }) => (kind.endsWith('ink') ? y : 0)));
    const most = TOPS.find((size) => size >= tallest) || 70;
    const step = [0.5, 1, 2, 5, 10].find((size) => most / size <= 6);
    const losing = GRID.filter((x) => costs.speed(x, g) < 1).length / 100;
    graph.update({
      y: { max: most, ticks: Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step) },
      lines: [{ points: [[0, 1], [1, 1]], kind: 'thin' },
        ...(speed ? [{ points: GRID.map((x) => [x, costs.speed(x, costs.best(x))]), kind: 'ink' }] : []),
        { points: GRID.map((x) => [x, high(x, g)]), kind: 'dashed q' }],
      bands: speed ? [{ from: 0, to: Math.min(1, losing), kind: '' }] : [],
      points: [...dots.filter(({ y }) => y <= most), { x: a, y: high(a, g), kind: 'q' }, ...(speed ? [{ x: a, y: high(a, top), kind: 'best', text: `γ = ${top}` }] : [])],
      marks: [{ x: a, text: `α = ${decimal(a)}` }],
    });
    say(graph.root.firstChild, speed ? 'guess.speed' : 'guess.tokens');
    gamma.update(g);
    c.update(now.c, `${now.c}%`);
    cost.update(now.cost);
    view.update(now.view);
    for (const node of keys) shown(node, speed);
    const wide = decimal(costs.wide(g + 1));
    say(sum, 'guess.sum', { mean: decimal(tokensPerPass(a, g)), g, c: costs.c, wide, time: decimal(g * costs.c + costs.wide(g + 1)), speed: decimal(costs.speed(a, g)) });
    say(facts, 'guess.facts', { model, machine });
    ctx.tell(fig.narration, top === 0 ? 'guess.never' : top === ENDLESS ? 'guess.endless' : 'guess.top', { best: top, top: decimal(costs.speed(a, top)) });
  };
}

/** The third figure: what one more guess is worth, and what its time is worth. */
function worths(root) {
  const fig = figure(root, 'guess.worth');
  const chart = upright();
  fig.stage.append(chart.root, h('p', { class: 'note', w: 'guess.k' }));
  return (a, { c, wide, speed }) => chart.update(Array.from({ length: LONGEST }, (_, i) => {
    const value = a ** (i + 1);
    const tick = Math.max(0, (c + wide(i + 2) - wide(i + 1)) * speed(a, i));
    return { name: String(i + 1), value, tick, text: percent(value), kind: value > tick ? 'accepted' : 'rejected' };
  }));
}

export default {
  id: 'guess',
  knobs: { gamma: 4, c: 10, n: 0, view: 'speed', cost: 'flat', guess: -1 },
  mount(root, ctx) {
    const first = yields(root, ctx);
    const { reveal, update } = bet(root, ctx, 'guess', { answer: ({ c, cost }) => (c === 0 && cost === 'flat' ? 1 : 2), open: () => false,
      values: ({ c, p, q }) => ({ c, alpha: decimal(1 - Math.abs(p - q) / 100) }) });
    const second = curves(reveal, ctx);
    prose(reveal, 'guess.after');
    const third = worths(reveal);
    question(reveal, 'guess', 'longer');
    let data = null;
    loadJson('points').then((seen) => { data = seen; draw(ctx.state); });

    function draw(now) {
      const { p, q } = laws(now, 2);
      const a = Number(overlap(p, q).toFixed(9));
      const g = clamp(Math.round(now.gamma), 1, LONGEST);
      const c = clamp(now.c, 0, 50) / 100;
      update();
      first(now, a, g);
      if (!data) return;
      const measured = now.cost === 'cpu';
      const wide = measured ? (rows) => data.passes[rows - 1] : () => 1;
      const costs = { c, wide, speed: (x, length) => speedup(x, length, c, wide), best: (x) => bestLength(x, c, measured ? LONGEST : ENDLESS, wide) };
      second(now, a, g, data, costs);
      third(a, costs);
    }
    return draw;
  },
};
