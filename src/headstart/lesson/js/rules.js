// One drafted word under the right rule and under four broken ones; the figures' bug zoo.
import { pick, roundCoins } from './coins.js';
import { inSlices } from './dom.js';
import { residual } from './theory.js';

/** The right rule first; the others break one thing each. */
export const RULES = ['residual', 'p', 'without', 'always', 'threshold'];

/** Whether a drafted word is kept, by one uniform. */
export function keeps(rule, p, q, word, u) {
  if (rule === 'always') return true;
  if (rule === 'threshold') return p[word] >= q[word];
  return u * q[word] < p[word];
}

/** The law that a rejected word is replaced from. */
export function repair(rule, p, q, word) {
  if (rule === 'p') return p;
  if (rule !== 'without') return residual(p, q).law;
  const rest = p.map((x, i) => (i === word ? 0 : x));
  const total = rest.reduce((a, b) => a + b, 0);
  return total > 0 ? rest.map((x) => x / total) : p;
}

/**
 * Samples in slices. `run({p, q, rule, seed, n}, paint)` starts, or goes on where the same run stood; paint gets
 * {total, words: counts by word, done}.
 */
export function sampler() {
  let stop = () => {};
  let key = '';
  let seen = null;
  function run(now, paint) {
    const next = JSON.stringify([now.p, now.q, now.rule, now.seed]);
    stop();
    if (next !== key || now.n < seen.total) {
      key = next;
      seen = { total: 0, words: now.p.map(() => 0), done: false };
    }
    seen.done = seen.total === now.n;
    paint(seen);
    if (seen.done) return;
    stop = inSlices(steps(now, paint), () => { seen.done = true; paint(seen); });
  }
  function* steps({ p, q, rule, seed, n }, paint) {
    const coins = roundCoins(seed, 0, 0);
    const repairs = p.map((_, word) => repair(rule, p, q, word));
    let painted = performance.now();
    for (let i = seen.total; i < n; i += 1) {
      const word = pick(q, coins.draw('propose', i));
      const kept = keeps(rule, p, q, word, coins.draw('accept', i));
      const out = kept ? word : pick(repairs[word], coins.draw('recover', i));
      seen.total += 1;
      seen.words[out] += 1;
      if (i % 64 === 63) yield;
      if (i % 64 === 63 && performance.now() - painted > 60) { painted = performance.now(); paint(seen); }
    }
  }
  return { run, stop: () => stop() };
}
