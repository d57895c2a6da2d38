// Betting against exactness: the twin of headstart.theory's evidence, for someone who sees the words and nothing else.
// A bet multiplies its money by r(y) / p(y), a fair game exactly as long as the words follow p.
import { residual } from './theory.js';

const ASIDE = 0.1; // money kept aside where one word could lose all of it
const BLIND = 3; // bets on corrections, which nobody sees here: their money stays as it is

const leak = (size) => (p, q, y) => 1 - size + (size * q[y]) / p[y];

const antiLeak = (size) => (p, q, y) => {
  const { mass } = residual(p, q);
  return mass > 0 ? 1 - size + (size * Math.max(1 - q[y] / p[y], 0)) / mass : 1;
};

const sharpen = (power) => (p, q, y) => {
  let total = 0;
  for (const x of p) if (x > 0) total += x ** (1 + power);
  return p[y] ** power / total;
};

const nucleus = (mass) => (p, q, y) => {
  const order = p.map((_, i) => i).sort((a, b) => p[b] - p[a] || a - b);
  let running = 0;
  let inside = false;
  for (const i of order) {
    running += p[i];
    inside ||= i === y;
    if (running >= mass) break;
  }
  return ASIDE + (inside ? (1 - ASIDE) / running : 0);
};

const BETS = [...[0.01, 0.03, 0.1, 0.3].map(leak), ...[0.03, 0.1].map(antiLeak), ...[0.1, -0.1].map(sharpen), nucleus(0.95)];

/** The decimal logarithm of what all bets together have made of 1, from how often each word came out. */
export function money(counts, p, q) {
  if (counts.some((count, y) => count > 0 && !(p[y] > 0))) return Infinity;
  const logs = [...BETS.map((bet) => counts.reduce((sum, count, y) => (count ? sum + count * Math.log(bet(p, q, y)) : sum), 0)), ...Array(BLIND).fill(0)];
  const top = Math.max(...logs);
  let sum = 0;
  for (const log of logs) sum += Math.exp(log - top);
  return (top + Math.log(sum / logs.length)) / Math.LN10;
}
