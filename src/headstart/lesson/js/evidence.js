// Betting against exactness: the twin of headstart.theory's evidence for one word a round.
// A bet multiplies its money by r(y) / p(y), a fair game exactly as long as the words follow p.
import { residual } from './theory.js';

const ASIDE = 0.1; // money kept aside where one word could lose all of it

const leak = (size) => (p, q, { out }) => 1 - size + (size * q[out]) / p[out];

const antiLeak = (size) => (p, q, { out }) => {
  const { mass } = residual(p, q);
  return mass > 0 ? 1 - size + (size * Math.max(1 - q[out] / p[out], 0)) / mass : 1;
};

const sharpen = (power) => (p, q, { out }) => {
  let total = 0;
  for (const x of p) if (x > 0) total += x ** (1 + power);
  return p[out] ** power / total;
};

const nucleus = (mass) => (p, q, { out }) => {
  const order = p.map((_, i) => i).sort((a, b) => p[b] - p[a] || a - b);
  let running = 0;
  let inside = false;
  for (const i of order) {
    running += p[i];
    inside ||= i === out;
    if (running >= mass) break;
  }
  return ASIDE + (inside ? (1 - ASIDE) / running : 0);
};

const redraw = (law) => (p, q, { word, kept, out }) => {
  if (kept) return 1;
  const due = residual(p, q).law[out];
  return due > 0 ? ASIDE + ((1 - ASIDE) * law(p, word, out)) / due : Infinity;
};

const withoutWord = (p, word, out) => {
  let rest = 0;
  p.forEach((x, i) => { if (i !== word) rest += x; });
  return out === word || !(rest > 0) ? 0 : p[out] / rest;
};

/** The bets that headstart.theory lays side by side, in its order. */
export const BETS = [
  ...[0.01, 0.03, 0.1, 0.3].map(leak), ...[0.03, 0.1].map(antiLeak), ...[0.1, -0.1].map(sharpen), nucleus(0.95),
  redraw((p, word, out) => p[out]), redraw(withoutWord), redraw((p, word, out) => (p.indexOf(Math.max(...p)) === out ? 1 : 0)),
];

/**
 * The decimal logarithm of what the bets together have made of 1.
 *
 * @param {{kinds: Map<string, number>}} seen how often each (drafted, kept, emitted) came up
 */
export function money(seen, p, q) {
  const logs = BETS.map(() => 0);
  for (const [kind, count] of seen.kinds) {
    const [word, kept, out] = [...kind].map(Number);
    if (!(p[out] > 0)) return Infinity;
    BETS.forEach((bet, i) => { logs[i] += count * Math.log(bet(p, q, { word, kept: kept === 1, out })); });
  }
  const top = Math.max(...logs);
  if (!Number.isFinite(top)) return top;
  let sum = 0;
  for (const log of logs) sum += Math.exp(log - top);
  return (top + Math.log(sum / logs.length)) / Math.LN10;
}
