// Coins: the JavaScript twin of headstart/coins.py, bit for bit. Knows nothing of pages, traces or verification.
// Keys and counters are pairs of unsigned 32-bit words; seeds above 2**53 are given as such a pair or as a BigInt.

const ROTATIONS = [[13, 15, 26, 6], [17, 29, 16, 24]];
const PARITY = 0x1bd11bda;
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
const LOG2_E = 1.4426950408889634;
const ROUNDER = 6755399441055744; // 1.5 * 2**52: adding and subtracting it rounds to the nearest integer
const ATANH = [3, 5, 7, 9, 11, 13, 15, 17, 19, 21].map((n) => 2 / n);
const EXP = [6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1].map((f) => 1 / f);

export const STREAMS = { propose: 0, accept: 1, recover: 2 };

const float = new Float64Array(1);
const bits = new Uint32Array(float.buffer);
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;

/** Threefry-2x32 with 20 rounds. */
export function words([k0, k1], [c0, c1]) {
  const schedule = [k0, k1, k0 ^ k1 ^ PARITY];
  let x0 = (c0 + k0) | 0;
  let x1 = (c1 + k1) | 0;
  for (let group = 0; group < 5; group++) {
    for (const r of ROTATIONS[group % 2]) {
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << r) | (x1 >>> (32 - r))) ^ x0;
    }
    x0 = (x0 + schedule[(group + 1) % 3]) | 0;
    x1 = (x1 + schedule[(group + 2) % 3] + group + 1) | 0;
  }
  return [x0 >>> 0, x1 >>> 0];
}

/** Two words as a number strictly between 0 and 1: (k + 1/2) / 2**52, k being their upper 52 bits. */
export function uniform([first, second]) {
  return (first * 1048576 + (second >>> 12) + 0.5) * 2 ** -52;
}

/** Natural logarithm of a positive normal number. */
export function log(x) {
  float[0] = x;
  let k = (bits[HIGH] >>> 20) - 1022;
  bits[HIGH] = (bits[HIGH] & 0xfffff) | (1022 << 20);
  let m = float[0];
  if (m < 0.7071067811865476) {
    m += m;
    k -= 1;
  }
  const s = (m - 1) / (m + 1);
  const z = s * s;
  let r = ATANH[ATANH.length - 1];
  for (let i = ATANH.length - 2; i >= 0; i--) r = r * z + ATANH[i];
  return k * LN2_HIGH + (s + s + (s * (r * z) + k * LN2_LOW));
}

/** Exponential function; 0 from -708 down and infinite above 709. */
export function exp(x) {
  if (x <= -708) return 0;
  if (x > 709) return Infinity;
  const k = x * LOG2_E + ROUNDER - ROUNDER;
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  let y = EXP[0];
  for (let i = 1; i < EXP.length; i++) y = y * r + EXP[i];
  float[0] = y;
  bits[HIGH] += k << 20;
  return float[0];
}

/** A seed (number below 2**53, BigInt below 2**64, or pair of words) as a key. */
export function seedKey(seed) {
  if (Array.isArray(seed)) return seed;
  const whole = BigInt(seed);
  return [Number(whole & 0xffffffffn), Number((whole >> 32n) & 0xffffffffn)];
}

/** The coins of one round: uniforms by stream and node (-1 is the root), and the target's noise by position and token. */
export function roundCoins(seed, choice, round) {
  const choiceKey = words(seedKey(seed), [choice, 0]);
  const roundKey = words(choiceKey, [round, 2]);
  return {
    draw: (stream, node) => uniform(words(roundKey, [node + 1, STREAMS[stream]])),
    noise: (position, token) => uniform(words(words(choiceKey, [position, 1]), [token, 0])),
    target: (weights, position) => race(weights, words(choiceKey, [position, 1])),
  };
}

/** Exponential race over weights by token id: the smallest -log(U) / weight, lowest id on ties. */
export function race(weights, positionKey) {
  let best = -1;
  let least = Infinity;
  weights.forEach((weight, token) => {
    if (!(weight > 0)) return;
    const time = -log(uniform(words(positionKey, [token, 0]))) / weight;
    if (best < 0 || time < least) [best, least] = [token, time];
  });
  return best;
}

/** Sample weights by one uniform: the first id whose running sum exceeds u, or the last of positive weight. */
export function pick(weights, u) {
  let running = 0;
  let last = -1;
  for (let token = 0; token < weights.length; token++) {
    running += weights[token];
    if (running > u) return token;
    if (weights[token] > 0) last = token;
  }
  return last;
}
