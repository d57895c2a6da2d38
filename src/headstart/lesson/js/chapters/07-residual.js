// Chapter 7: rule two, the residual; then break a rule and watch the evidence.
import { columns } from '../columns.js';
import { able, decimal, grouped, h, percent, shown } from '../dom.js';
import { money } from '../evidence.js';
import { bars, button, choose, editors, figure, legend } from '../figure.js';
import { laws } from '../laws.js';
import { bet, player } from '../player.js';
import { prose, question } from '../prose.js';
import { RULES, sampler } from '../rules.js';
import { residual, variation } from '../theory.js';
import { say } from '../words.js';

const MOST = 200000;
const CHANCE = 3.59; // z that the three words' shares all stay below, 999 times in a thousand
const CAUGHT = 3; // evidence of a thousand to one

const PRESETS = { start: ['50,30,20', '30,20,50'], bare: ['10,40,50', '50,40,10'], two: ['60,40,0', '20,80,0'] };

/** The first figure: where the leftover is and what it becomes. */
function leftover(root, ctx) {
  const fig = figure(root, 'residual.fig');
  const knobs = editors(ctx, 3);
  const picture = columns(3);
  const law = bars({ size: 3, kind: 'recovered' });
  const norm = h('p', { class: 'note' });
  const controls = player(ctx, { pace: () => 3000 });
  fig.stage.append(knobs.root, picture.root, legend('p', 'q', 'accepted', 'rejected', 'recovered'),
    h('div', { class: 'after' }, h('p', { class: 'who', w: 'residual.law' }), law.root, norm));
  fig.controls.append(controls.root);
  return (now, p, q) => {
    const t = Math.min(now.t, 3);
    const rest = residual(p, q);
    knobs.update(now);
    controls.update(t, 3);
    picture.update({ p, q, judged: t >= 1, gaps: t === 2, moved: t >= 3 });
    law.update(t >= 2 && rest.mass > 0 ? rest.law : [0, 0, 0], { texts: rest.left.map((x, i) => (t >= 2 && rest.mass > 0 ? percent(rest.law[i], 1) : '–')) });
    say(norm, 'residual.norm', { mass: decimal(rest.mass, 3), a: decimal(rest.left[0], 3), b: decimal(rest.left[1], 3), c: decimal(rest.left[2], 3) });
    say(fig.narration, `residual.s${t}`, {});
  };
}

/** The second figure: sample under a rule; bars, variation and evidence. */
function laboratory(root, ctx) {
  const fig = figure(root, 'residual.lab');
  const rule = choose(ctx, 'rule', 'residual.rule', RULES, 'rule');
  const out = bars({ size: 3 });
  const gap = h('p', { class: 'tv' });
  const meter = h('div', { class: 'meter' }, h('i', { class: 'needle' }), h('i', { class: 'limit' }));
  const verdict = h('p', { class: 'evidence' });
  fig.stage.append(rule.root, out.root, gap, h('p', { class: 'who', w: 'residual.meter' }), meter, verdict);
  const more = (count) => () => ctx.set({ n: Math.min(MOST, ctx.state.n + count) });
  const samples = [1, 10, 1000, 100000].map((count) => button('residual.sample', more(count), { primary: count === 1000, values: { n: grouped(count) } }));
  const clear = button('residual.clear', () => ctx.set({ n: 0, seed: ctx.state.seed + 1 }));
  const preset = (name) => button(`residual.${name}`, () => ctx.set({ p3: PRESETS[name][0], q3: PRESETS[name][1], n: 0 }));
  fig.controls.append(...samples, clear, preset('start'), preset('two'), preset('bare'));
  const bench = sampler();
  ctx.leave(bench.stop);

  function paint(now, p, q, seen) {
    const n = seen.total;
    const shares = seen.words.map((count) => (n ? count / n : 0));
    const bands = p.map((x) => (n ? CHANCE * Math.sqrt((x * (1 - x)) / n) : 0));
    out.root.classList.toggle('off', n > 0 && shares.some((x, i) => Math.abs(x - p[i]) > bands[i] + 1e-12));
    out.update(shares, { ticks: p, bands: n ? bands : null, texts: shares.map((x) => (n ? percent(x, 2) : '–')) });
    say(gap, 'residual.tv', { n: grouped(n), tv: n ? decimal(variation(shares, p), 4) : '–', band: n ? decimal(Math.min(1, Math.max(...bands)), 4) : '–' });
    const power = money(seen.words, p, q);
    meter.style.setProperty('--v', Math.max(0, Math.min(1, power / 6)));
    meter.classList.toggle('red', power >= CAUGHT);
    const words = power === Infinity ? 'residual.never' : power >= CAUGHT ? 'residual.caught' : 'residual.fair';
    const odds = power > 12 ? `10^${Math.floor(power)}` : grouped(Math.max(1, Math.round(10 ** power)));
    if (seen.done && n) ctx.tell(verdict, words, { odds }); else say(verdict, words, { odds });
  }
  return (now, p, q) => {
    const name = RULES.includes(now.rule) ? now.rule : 'residual';
    rule.update(name);
    const n = Math.max(0, Math.min(MOST, Math.round(now.n)));
    for (const node of samples) able(node, n < MOST);
    shown(clear, n > 0);
    bench.run({ p, q, rule: name, seed: now.seed, n }, (seen) => paint(now, p, q, seen));
  };
}

export default {
  id: 'residual',
  knobs: { n: 0, rule: 'residual', guess: -1, guess2: -1 },
  mount(root, ctx) {
    const first = leftover(root, ctx);
    prose(root, 'residual.mid');
    const { reveal, update } = bet(root, ctx, 'residual', { answer: 1, open: ({ n }) => n > 0 });
    const second = laboratory(reveal, ctx);
    prose(reveal, 'residual.break');
    const hidden = bet(reveal, ctx, 'residual', { knob: 'guess2', options: RULES.slice(1).map((rule) => `rule.${rule}`), answer: 1, open: () => false });
    prose(hidden.reveal, 'residual.hidden');
    question(hidden.reveal, 'residual', 'resample');
    return (now) => {
      const { p, q } = laws(now, 3);
      update();
      hidden.update();
      first(now, p, q);
      second(now, p, q);
    };
  },
};
