// The few formulas that the figures show, twins of headstart.theory.

/** Chance that a draft is kept: the overlap of two laws, summed left to right. */
export function overlap(p, q) {
  let sum = 0;
  for (let i = 0; i < p.length; i += 1) sum += Math.min(p[i], q[i]);
  return sum;
}

/** Total variation: half the sum of the differences. */
export function variation(p, q) {
  let sum = 0;
  for (let i = 0; i < p.length; i += 1) sum += Math.abs(p[i] - q[i]);
  return sum / 2;
}

/** Expected tokens per pass with acceptance alpha and draft length gamma. */
export function tokensPerPass(alpha, gamma) {
  let sum = 0;
  let power = 1;
  for (let i = 0; i <= gamma; i += 1) { sum += power; power *= alpha; }
  return sum;
}

/** Chances of 1, 2, ... gamma + 1 tokens in a pass. */
export function tokenCounts(alpha, gamma) {
  const counts = [];
  let survival = 1;
  for (let i = 0; i < gamma; i += 1) { counts.push(survival * (1 - alpha)); survival *= alpha; }
  return [...counts, survival];
}

/** Chance that target and draft pick the same word by one shared noise. */
export function coupled(p, q) {
  let sum = 0;
  p.forEach((_, x) => {
    let wide = 0;
    p.forEach((__, v) => { wide += Math.max(p[v] / p[x], q[v] / q[x]); });
    if (p[x] > 0 && q[x] > 0) sum += 1 / wide;
  });
  return sum;
}

/** Speed-up when a drafted token costs c passes and a pass over gamma + 1 rows costs `wide(gamma + 1)`. */
export const speedup = (alpha, gamma, c, wide = () => 1) => tokensPerPass(alpha, gamma) / (gamma * c + wide(gamma + 1));

/** The draft length 0..most with the greatest speed-up; the shortest of equals. */
export function bestLength(alpha, c, most = 32, wide = undefined) {
  let best = 0;
  for (let gamma = 1; gamma <= most; gamma += 1) if (speedup(alpha, gamma, c, wide) > speedup(alpha, best, c, wide)) best = gamma;
  return best;
}

/** The leftover of p above q: max(p - q, 0), its mass and its law (p itself where nothing is left). */
export function residual(p, q) {
  const left = p.map((x, i) => Math.max(x - q[i], 0));
  let mass = 0;
  for (const x of left) mass += x;
  return { left, mass, law: mass > 0 ? left.map((x) => x / mass) : p.slice() };
}

/** Accept probability of each word, 1 where the draft never proposes it. */
export const keep = (p, q) => p.map((x, i) => (q[i] > 0 ? Math.min(1, x / q[i]) : 1));
