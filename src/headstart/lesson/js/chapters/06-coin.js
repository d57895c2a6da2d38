// Chapter 6: rule one, the accept coin; throw it and watch the kept fraction.
import { roundCoins } from '../coins.js';
import { able, css, decimal, grouped, h, percent, shown } from '../dom.js';
import { bars, button, figure, legend, slider } from '../figure.js';
import { bet } from '../player.js';
import { prose } from '../prose.js';
import { label, say } from '../words.js';

const SHOWN = 240;
const MOST = 10000;
const CHANCE = 3.29; // standard deviations that chance exceeds once in a thousand times

/** Where coins land on the draft's bar: left of the gold tick they keep the word. */
function target() {
  const bar = h('div', { class: 'coinbar' });
  const dots = h('div', { class: 'dots', 'aria-hidden': true });
  const tick = h('div', { class: 'cointick' });
  const root = h('div', { class: 'coinbox', role: 'img' }, bar, dots, tick);
  const update = (p, q, throws) => {
    css(bar, { width: percent(q, 2) });
    css(tick, { left: percent(p, 2) });
    dots.replaceChildren(...throws.map(({ at, height, kept }) => {
      const dot = h('i', { class: kept ? 'kept' : 'lost' });
      css(dot, { left: percent(at, 2), bottom: percent(0.06 + 0.84 * height, 1) });
      return dot;
    }));
    label(root, 'coin.picture', { p: decimal(p), q: decimal(q) });
  };
  return { root, update };
}

export default {
  id: 'coin',
  knobs: { n: 0, guess: -1 },
  mount(root, ctx) {
    const { reveal, update } = bet(root, ctx, 'coin', {
      values: ({ p, q }) => ({ p: 100 - p, q: 100 - q, ratio: Math.min(100, Math.round((100 * (100 - p)) / Math.max(1, 100 - q))) }), answer: 1 });
    const fig = figure(reveal, 'coin.fig');
    const dial = target();
    const share = bars({ size: 1, kind: 'accepted', names: [{ id: 'kept', face: '●' }] });
    const p = slider('coin.p', { min: 0, max: 100, kind: 'p' }, (v) => ctx.set({ p: 100 - v }));
    const q = slider('coin.q', { min: 1, max: 100, kind: 'q' }, (v) => ctx.set({ q: 100 - v }));
    fig.stage.append(p.root, q.root, dial.root, share.root, legend('p', 'q', 'accepted', 'rejected'));
    const more = (count) => () => ctx.set({ n: Math.min(MOST, ctx.state.n + count) });
    const throws = [button('coin.one', more(1), { primary: true }), button('coin.ten', more(10)), button('coin.hundred', more(100)), button('coin.thousand', more(1000))];
    const clear = button('coin.clear', () => ctx.set({ n: 0, seed: ctx.state.seed + 1 }));
    fig.controls.append(...throws, clear);
    prose(reveal, 'coin.after');

    return (now) => {
      const a = (100 - now.p) / 100;
      const b = (100 - now.q) / 100;
      p.update(100 - now.p, `${100 - now.p}%`);
      q.update(100 - now.q, `${100 - now.q}%`);
      update();
      const coins = roundCoins(now.seed, 0, 0);
      const n = Math.min(MOST, Math.max(0, Math.round(now.n)));
      let kept = 0;
      const last = [];
      for (let i = 0; i < n; i += 1) {
        const u = coins.draw('accept', i);
        const keep = u * b < a;
        kept += keep ? 1 : 0;
        if (i >= n - SHOWN) last.push({ at: u * b, height: coins.draw('propose', i), kept: keep });
      }
      dial.update(a, b, last);
      const ratio = b > 0 ? Math.min(1, a / b) : 1;
      share.update([n ? kept / n : 0], { ticks: [ratio], bands: n ? [CHANCE * Math.sqrt((ratio * (1 - ratio)) / n)] : null, texts: [n ? percent(kept / n, 1) : '–'] });
      shown(clear, n > 0);
      for (const node of throws) able(node, n < MOST);
      const values = { n: grouped(n), kept: grouped(kept), share: n ? percent(kept / n, 1) : '', ratio: percent(ratio, 1), p: decimal(a), q: decimal(b) };
      const word = n === 0 ? 'coin.none' : 'coin.told';
      if (n) ctx.tell(fig.narration, word, values); else say(fig.narration, word, values);
    };
  },
};
