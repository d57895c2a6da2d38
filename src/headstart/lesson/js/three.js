// Knobs of three words.
import { parts } from './state.js';

/** Three hundredths that sum to 100, whatever the link says. */
export function three(knob) {
  const read = parts(knob).map((x) => Math.max(0, Math.min(100, Math.round(x))));
  return read.length === 3 && read[0] + read[1] + read[2] === 100 ? read : [50, 30, 20];
}
