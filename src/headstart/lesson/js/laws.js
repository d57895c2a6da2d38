// The laws that the shared knobs stand for: over two words p and q, over three p3 and q3, in hundredths that sum to 100.
import { clamp } from './dom.js';

/** Hundredths of one law, whatever the link says; `who` is 'p' or 'q'. */
export function hundredths(now, who, size) {
  if (size === 2) { const love = clamp(Math.round(now[who]), 0, 100); return [love, 100 - love]; }
  const read = String(now[`${who}3`]).split(',').map((x) => clamp(Math.round(Number(x) || 0), 0, 100));
  return read.length === 3 && read[0] + read[1] + read[2] === 100 ? read : [50, 30, 20];
}

/** Both laws as probabilities. */
export function laws(now, size) {
  const [p, q] = ['p', 'q'].map((who) => hundredths(now, who, size).map((x) => x / 100));
  return { p, q };
}

/** The change of knobs that makes hundredths one of the laws. */
export const knob = (who, law) => (law.length === 2 ? { [who]: law[0] } : { [`${who}3`]: law.join() });
